import { int64, isNumber, member, serialize } from "../json/jsonValue.js";
import { byteCount, wellFormed } from "../json/utf8.js";
import { limits } from "../model/limits.js";
import { isDeleted } from "../model/resolver.js";
import { dayOf } from "./universalTime.js";

/** Error of an app for an action that is not valid in the present state; nothing is changed. */
export class EditRefusal extends Error {
  name = "EditRefusal";

  /** @param {string} reason one sentence for the person, with the next step */
  constructor(reason) {
    super(reason);
  }
}

/**
 * Input of an app for a person's action: all records of the app that the device holds. It does not
 * depend on the network.
 *
 * A record is `{zone, name, type, fields, modifiedAt, device}`; `fields` is null in a tombstone.
 * For a conflict that no rule decides and the person has not decided yet, `asking` has the relay's
 * version and `records` the local one. `deviceNames`: display names of the account's devices.
 *
 * @typedef {object} AppState
 * @property {readonly object[]} records
 * @property {readonly object[]} [asking]
 * @property {string} device this device's id
 * @property {Readonly<Record<string, string>>} [deviceNames]
 * @property {(zone: string, name: string) => number} [stamp] returns the next stamp of a record; if
 *   absent, the stamp follows from `now` and `records`, which must then include tombstones
 *
 * Change of one record, as a function of the record's state when the change is made. `make` returns
 * the new fields, or null to delete the record. `current` is the live record, or undefined; `stamp`
 * is the edit's own: relay time in milliseconds, newer than every known version of this record.
 *
 * @typedef {object} Edit
 * @property {string} zone
 * @property {string} name
 * @property {string} type
 * @property {string[]} [chunks] chunks of files that the record names beside the references in its
 *   fields; the record's own if it is missing
 * @property {(context: {current?: object, stamp: number, device: string}) => object | null} make
 *
 * Result of a person's action. Either all edits are made or none. A decision is the person's answer
 * to a conflict in `asking`.
 *
 * @typedef {object} Outcome
 * @property {Edit[]} edits
 * @property {{zone: string, name: string, keepLocal: boolean}[]} [decisions]
 */

/**
 * Returns the records that an action changes, in their new state:
 * `{zone, name, type, fields, stamp, chunks?}`. `fields` is null for a delete; `stamp` is the
 * record's `modifiedAt`.
 *
 * @param {{outcome: Function}} app
 * @param {AppState} state
 * @param {object} action in the app's own format
 * @param {number} now relay time, whole milliseconds
 * @param {(count: number) => Uint8Array} random returns `count` random bytes, for names of new
 *   records
 * @returns {{changes: object[], decisions: object[]}}
 * @throws {EditRefusal}
 */
export function act(app, state, action, now, random) {
  const { edits, decisions = [] } = app.outcome(state, action, random);
  // Looked up in a map, because an action may change as many records as there are.
  const held = new Map(
    state.records.map((record) => [keyOf(record.zone ?? app.zone, record), record]));
  const changes = edits.map((edit) => changed(edit, held.get(keyOf(edit.zone, edit)), state, now));
  return { changes, decisions };
}

/** Unique, because a zone name has no line feed. */
const keyOf = (zone, { name }) => `${zone}\n${name}`;

function changed({ zone, name, type, chunks, make }, held, state, now) {
  const current = held && !isDeleted(held) ? held : undefined;
  const stamp = state.stamp?.(zone, name) ?? stampAfter(held, now);
  const fields = make({ current, stamp, device: state.device });
  if (fields === null && !current) {
    throw new EditRefusal("there is no record of that name to delete");
  }
  checkSize(fields);
  return { zone, name, type: fields === null ? held.type : type, fields, stamp,
    ...chunks && fields !== null && { chunks } };
}

/** Returns a stamp later than every known version of the record, however wrong the clock is. */
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

/** Returns the live record that an action names. @throws {EditRefusal} */
export function findEntry(entries, name, noun) {
  const found = entries.find((entry) => entry.name === name);
  if (!found) throw new EditRefusal(`this ${noun} is not there any more`);
  return found;
}

/** Returns the live records of a type. */
export const recordsOf = (state, type) =>
  state.records.filter((record) => record.type === type && !isDeleted(record));

/** Returns the display name of a device, or its id if the name is unknown. */
export function deviceName(state, device) {
  const names = state.deviceNames ?? {};
  return Object.hasOwn(names, device) ? names[device] : device;
}

// Readers of an action's members. Actions come from programs, so the error names the wrong member.

/** @throws {EditRefusal} */
export function textMember(action, name) {
  const value = member(action, name);
  if (typeof value !== "string") throw new EditRefusal(`${name} must be a text`);
  // A text field may hold half a surrogate pair, which no other device could read.
  return wellFormed(value);
}

/** @returns {bigint} @throws {EditRefusal} */
export function wholeMember(action, name) {
  const value = member(action, name);
  const isFinite = typeof value !== "number" || Number.isFinite(value);
  const number = isNumber(value) && isFinite ? int64(value) : undefined;
  if (number === undefined) throw new EditRefusal(`${name} must be a whole number`);
  return number;
}

/** Returns the day number of a date such as 2026-03-01. @throws {EditRefusal} */
export function dayNumber(date) {
  const day = dayOf(date);
  if (day === undefined) throw new EditRefusal("that is no day; write it as 2026-03-01");
  return day;
}

/** True if a text is empty or only white space. */
export const isBlank = (text) => /^\p{White_Space}*$/u.test(text);
