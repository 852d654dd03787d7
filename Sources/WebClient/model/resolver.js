/**
 * Types of conflicts and their resolution.
 *
 * Version of a record for a resolver: `fields` is null in a delete, `modifiedAt` is relay time in
 * milliseconds since the Unix epoch.
 *
 * @typedef {object} Version
 * @property {string} name
 * @property {object | null} fields
 * @property {number | import("../json/jsonValue.js").ExactNumber} modifiedAt
 * @property {string} device
 *
 * Conflict: two devices changed one record, and neither had seen the other's change. `base` is the
 * version on which the local change was made; null if the record was created on both sides, or if
 * the device no longer knows the base.
 *
 * @typedef {{type?: string, base: Version | null, local: Version, server: Version}} Conflict
 *
 * Resolution of a conflict: either the record is now `merged` (null: deleted) and the records in
 * `copies` are saved with it, or a person decides.
 *
 * @typedef {{merged: object | null, copies: {name: string, fields: object}[]}
 *   | {ask: true}} Resolution
 *
 * Rule of one record type: a pure function that returns the same bytes on every device, the same if
 * applied twice, and the same with local and server swapped.
 *
 * `takesNewestStamp`: true if the newer version becomes the record, whatever its fields are. The
 * stamp then matters even if another device has already made the same change: for example, both
 * deleted an item. A third version, made in between, must not win over the later of the two, so the
 * record takes the later stamp. Otherwise a record that is equal on both sides stays as the relay
 * has it.
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
