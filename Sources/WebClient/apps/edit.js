import { serialize } from "../changes/json.js";
import { limits } from "../changes/limits.js";
import { isDeleted } from "../changes/resolver.js";
import { byteCount } from "../changes/utf8.js";
import { EditRefusal } from "./editRefusal.js";

/**
 * What an app has before it when a person acts: all that the device holds of its records. The
 * network has no part in it.
 *
 * A record is `{zone, name, type, fields, modifiedAt, device}`, `fields` null in a tombstone. Where
 * no rule decides and the person has not yet, the relay's versions stand in `asking`, and the local
 * ones in `records`. `deviceNames`: what the person calls the account's devices.
 *
 * @typedef {object} AppState
 * @property {readonly object[]} records
 * @property {readonly object[]} [asking]
 * @property {string} device this device's id
 * @property {Readonly<Record<string, string>>} [deviceNames]
 * @property {(zone: string, name: string) => number} [stamp] the next stamp of a record; where it
 *   is not given, it follows from `now` and `records`, which hold the tombstones as well then
 *
 * A change of one record, as a function of what stands there when its turn comes: its new fields,
 * null to delete it. `current` is the live record, or undefined; `stamp` is the edit's own, relay
 * time in milliseconds, newer than all that was seen of this record.
 *
 * @typedef {object} Edit
 * @property {string} zone
 * @property {string} name
 * @property {string} type
 * @property {(context: {current?: object, stamp: number, device: string}) => object | null} make
 *
 * What a person's action comes to. The edits are made together, or none of them; a decision is the
 * person's answer to a conflict that waits in `asking`.
 *
 * @typedef {object} Outcome
 * @property {Edit[]} edits
 * @property {{zone: string, name: string, keepLocal: boolean}[]} [decisions]
 */

/**
 * The records that an action changes, as they stand then: `{zone, name, type, fields, stamp}`, the
 * fields null in a delete, the stamp its `modifiedAt`.
 *
 * @param {{outcome: Function}} app
 * @param {AppState} state
 * @param {object} action in the app's own words
 * @param {number} now relay time, whole milliseconds
 * @param {(count: number) => Uint8Array} random so many random bytes, for names of new records
 * @returns {{changes: object[], decisions: object[]}}
 * @throws {EditRefusal}
 */
export function act(app, state, action, now, random) {
  const { edits, decisions = [] } = app.outcome(state, action, random);
  // An action may change as many records as there are.
  const held = new Map(
    state.records.map((record) => [keyOf(record.zone ?? app.zone, record), record]));
  const changes = edits.map((edit) => changed(edit, held.get(keyOf(edit.zone, edit)), state, now));
  return { changes, decisions };
}

/** No zone has a line feed. */
const keyOf = (zone, { name }) => `${zone}\n${name}`;

function changed({ zone, name, type, make }, held, state, now) {
  const current = held && !isDeleted(held) ? held : undefined;
  const stamp = state.stamp?.(zone, name) ?? stampAfter(held, now);
  const fields = make({ current, stamp, device: state.device });
  if (fields === null && !current) {
    throw new EditRefusal("there is no record of that name to delete");
  }
  checkSize(fields);
  return { zone, name, type: fields === null ? held.type : type, fields, stamp };
}

/** Later than all that was seen of the record, however wrong the clock. */
function stampAfter(held, now) {
  if (!Number.isSafeInteger(now)) throw new TypeError("relay time is whole milliseconds");
  return held ? Math.max(now, held.modifiedAt + 1) : now;
}

function checkSize(fields) {
  if (fields === null) return;
  const bytes = byteCount(serialize(fields));
  if (bytes > limits.recordBytes) {
    throw new EditRefusal(
      `this takes ${bytes} bytes and a record has room for ${limits.recordBytes}; shorten it`);
  }
}

/** The record that an action names, among those that live. @throws {EditRefusal} */
export function chosen(entries, name, noun) {
  const found = entries.find((entry) => entry.name === name);
  if (!found) throw new EditRefusal(`this ${noun} is not there any more`);
  return found;
}

/** The live records of a type. */
export const recordsOf = (state, type) =>
  state.records.filter((record) => record.type === type && !isDeleted(record));

/** What a person calls a device: its id, where nobody knows its name. */
export function deviceName(state, device) {
  const names = state.deviceNames ?? {};
  return Object.hasOwn(names, device) ? names[device] : device;
}
