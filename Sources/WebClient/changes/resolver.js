/**
 * The words in which a conflict is told and answered.
 *
 * One version of a record, as a resolver sees it: `fields` is null in a delete, `modifiedAt` is
 * relay time in milliseconds since the Unix epoch.
 *
 * @typedef {object} Version
 * @property {string} name
 * @property {object | null} fields
 * @property {number | import("./json.js").ExactNumber} modifiedAt
 * @property {string} device
 *
 * Two devices changed one record, neither having seen the other's change. `base` is the version
 * that the local change was made on; null where the record was made on both sides or the device no
 * longer knows.
 *
 * @typedef {{type?: string, base: Version | null, local: Version, server: Version}} Conflict
 *
 * What becomes of it: the record is now `merged` (null: deleted), and `copies` are further records
 * to save with it; or nothing is chosen and a person decides.
 *
 * @typedef {{merged: object | null, copies: {name: string, fields: object}[]}
 *   | {ask: true}} Resolution
 *
 * The rule of one record type: a pure function that gives the same bytes on every device, the same
 * when run twice, and the same with local and server exchanged.
 *
 * `takesNewestStamp`: whether the newer version is the record, whatever stands in it. Then it also
 * matters when something was done that another device had done before: both deleted an item, say.
 * A third version, made in between, must not stand over the later of the two, so the record takes
 * its stamp. Otherwise what is the same on both sides is left as the relay has it.
 *
 * @typedef {object} Resolver
 * @property {(conflict: Conflict) => Resolution} resolve
 * @property {boolean} [takesNewestStamp]
 */

/** @returns {Resolution} */
export const merged = (fields, copies = []) => ({ merged: fields ?? null, copies });

/** @type {Resolution} */
export const ask = Object.freeze({ ask: true });

export const isDeleted = (version) => version.fields === null || version.fields === undefined;
