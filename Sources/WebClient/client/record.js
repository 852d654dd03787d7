import { equal, serialize } from "../changes/json.js";
import { WireError } from "./wireError.js";

/**
 * A record as in the relay's messages. `fields` is null in a tombstone.
 *
 * @typedef {{zone: string, name: string, type: string, fields: object | null, modifiedAt: number,
 *   device: string, tag: number, deleted: boolean, chunks?: string[]}} Record
 */

/** Unique text for zone and name, which have no control characters. */
export const keyOf = ({ zone, name }) => `${zone}\n${name}`;

/**
 * Checks a record of the relay's message before it is stored. A page or answer with a malformed
 * record is refused as a whole.
 *
 * @returns {Record}
 */
export function readRecord(value) {
  const isRecord = value !== null && typeof value === "object"
    && [value.zone, value.name, value.type, value.device].every((it) => typeof it === "string")
    && Number.isSafeInteger(value.tag) && value.tag >= 0 && Number.isSafeInteger(value.modifiedAt)
    && (value.deleted === true || (typeof value.fields === "object" && value.fields !== null));
  if (!isRecord) throw new WireError("what should be a record is none");
  const record = {
    zone: value.zone, name: value.name, type: value.type,
    fields: value.deleted === true ? null : value.fields, modifiedAt: value.modifiedAt,
    device: value.device, tag: value.tag, deleted: value.deleted === true,
  };
  if (Array.isArray(value.chunks) && value.chunks.length > 0) record.chunks = value.chunks;
  return record;
}

/** Placeholder for a record that the relay does not have, not even as a tombstone. */
export function nothingAt({ zone, name }, type) {
  return { zone, name, type, fields: null, modifiedAt: 0, device: "", tag: 0, deleted: true };
}

/** Placeholder for a version that the relay had, and has lost. */
export function lostVersion(version) {
  return { ...nothingAt(version, version.type), modifiedAt: version.modifiedAt };
}

/** True if it is a placeholder for a version that the relay has lost. */
export const standsForLost = (record) => record.tag === 0 && record.modifiedAt > 0;

/** Text of stamp, type and a hash of the content: enough to recognise a version that another device
 * saves again, under its own name and another tag. */
export function fingerprint({ modifiedAt, type, fields }) {
  let hash = 0x811c9dc5;
  for (const unit of fields === null ? "" : serialize(fields)) {
    hash = Math.imul(hash ^ unit.codePointAt(0), 0x01000193);
  }
  return `${modifiedAt} ${hash >>> 0} ${type}`;
}

/** True if content and stamp are the same; device and tag may differ. */
export function isSameVersion(left, right) {
  return left.modifiedAt === right.modifiedAt && left.type === right.type
    && equal(left.fields, right.fields);
}
