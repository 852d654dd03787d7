import { equal, serialize } from "../json/jsonValue.js";
import { withoutStamps } from "../model/stamps.js";
import { limits } from "./limits.js";
import { WireError } from "./wireError.js";

/**
 * A record as in the relay's messages. `fields` is null in a tombstone. `includes`: fingerprints of
 * versions on which it was made, and which the relay has lost.
 *
 * @typedef {{zone: string, name: string, type: string, fields: object | null, modifiedAt: number,
 *   device: string, tag: number, deleted: boolean, chunks?: string[], includes?: string[]}} Record
 */

/** Device of edits that are made before the device has joined an account, as in Swift; at the join
 * they become those of the device. */
export const unjoinedDevice = "0000000000000000";

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
  if (!isRecord) throw new WireError("invalid record");
  const record = {
    zone: value.zone, name: value.name, type: value.type,
    fields: value.deleted === true ? null : value.fields, modifiedAt: value.modifiedAt,
    device: value.device, tag: value.tag, deleted: value.deleted === true,
  };
  if (Array.isArray(value.chunks) && value.chunks.length > 0) record.chunks = value.chunks;
  const includes = Array.isArray(value.includes) ? value.includes.filter(isFingerprint) : [];
  if (includes.length > 0) record.includes = includes.slice(0, limits.includes);
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

/**
 * Returns the hash of a version: of its stamp, type and content, as sixteen hexadecimal digits.
 * Recognises a version that a device saves again after the relay has lost it, under another tag and
 * by another device. Every client computes it alike: two 32-bit FNV-1a hashes, of different first
 * values, over the decimal stamp, a line feed, the type, a line feed, and the canonical JSON of the
 * fields without `"~"`, which a device may add to another program's version; nothing for a
 * tombstone.
 */
export function fingerprint({ modifiedAt, type, fields }) {
  const text = `${modifiedAt}\n${type}\n${fields === null ? "" : contentOf(withoutStamps(fields))}`;
  let [first, second] = [0x811c9dc5, 0x050c5d1f];
  for (const byte of new TextEncoder().encode(text)) {
    first = Math.imul(first ^ byte, 0x01000193);
    second = Math.imul(second ^ byte, 0x01000193);
  }
  return [first, second].map((hash) => (hash >>> 0).toString(16).padStart(8, "0")).join("");
}

/** Canonical JSON of the fields, or "?" if fields written by another program have none. */
function contentOf(fields) {
  try {
    return serialize(fields);
  } catch {
    return "?";
  }
}

/** Returns the record without `includes`, as devices store it. */
export function plain({ includes, ...record }) { return record; }

export const isFingerprint = (text) => typeof text === "string" && /^[0-9a-f]{16}$/.test(text);

/** True if content and stamp are the same; device and tag may differ. */
export function isSameVersion(left, right) {
  return left.modifiedAt === right.modifiedAt && left.type === right.type
    && equal(left.fields, right.fields);
}
