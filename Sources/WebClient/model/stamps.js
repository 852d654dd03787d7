import { integer, isObject, member, serialize, setting } from "../json/jsonValue.js";
import { compareText } from "../json/utf8.js";
import { instant, wholeNumber, within } from "./mergeParts.js";

/**
 * Stamps of the fields of a record, and the reserved member `"~"` that holds them:
 *
 * | entry | rule of the field | content |
 * | --- | --- | --- |
 * | `""`: `[t,d]` | all | stamp of every present field, element and member without an own entry |
 * | `field`: `[t,d]` | one value | its stamp, also after it was removed |
 * | `field`: `[[t,d,value],…]` | least, greatest, or, and | concurrent edits, oldest first |
 * | `field`: `{key: [t,d]}` | set, map | stamp of an element or a member; `[t,d,0]`: taken out |
 *
 * Time and author of an edit. `time` is relay time, milliseconds since the Unix epoch. Stamps are
 * ordered by time, then by the device's UTF-8 bytes.
 *
 * @typedef {{time: bigint, device: string}} Stamp
 *
 * A value with the stamp of the edit that set it; `undefined` if the edit removed it.
 *
 * @typedef {{stamp: Stamp, value: any}} StampedValue
 */

/** Name of the reserved member. */
export const stampsMember = "~";

/** Name of the entry that holds the commonest stamp. */
export const commonEntry = "";

/** Reads `[time, device]`, with or without further elements; undefined for anything else. */
export function stampOf(value) {
  if (!Array.isArray(value) || value.length < 2 || typeof value[1] !== "string") return undefined;
  const time = wholeNumber(value[0]);
  return time === undefined ? undefined : { time, device: value[1] };
}

/** The version's own stamp. @returns {Stamp} */
export const ownStamp = (version) => ({ time: instant(version), device: version.device });

export const stampElements = ({ time, device }) => [integer(time), device];

/** Returns a number below, above or equal to 0. */
export function compareStamps(left, right) {
  if (left.time !== right.time) return left.time < right.time ? -1 : 1;
  return compareText(left.device, right.device);
}

export const isSameStamp = (left, right) =>
  left !== undefined && right !== undefined
  && left.time === right.time && left.device === right.device;

/** Returns the stamp, or one a millisecond after `other` if the stamp is not later: a change is
 * newer than the value it changed, however wrong its device's clock was. */
export const stampAfter = (stamp, other) =>
  (stamp.time > other.time ? stamp : { time: within(other.time + 1n), device: stamp.device });

/** Returns the value with the greater stamp. At one stamp a value comes before a removal, and the
 * greater JSON text before the lesser. */
export function newestOf(left, right) {
  const order = compareStamps(left.stamp, right.stamp);
  if (order !== 0) return order < 0 ? right : left;
  if (left.value === undefined) return right;
  if (right.value === undefined) return left;
  return compareText(serialize(left.value), serialize(right.value)) < 0 ? right : left;
}

/** True if the fields hold stamps. */
export const hasStamps = (fields) => isObject(member(fields, stampsMember));

/** Fields never change after they are stored, so they are rewritten once. */
const unstamped = new WeakMap();

/** Returns the fields without their stamps: the same object if they have none. */
export function withoutStamps(fields) {
  if (!isObject(fields) || !Object.hasOwn(fields, stampsMember)) return fields;
  let found = unstamped.get(fields);
  if (!found) {
    found = setting(fields, { [stampsMember]: undefined });
    unstamped.set(fields, found);
  }
  return found;
}

/** Returns a record or version as people and apps see it: without stamps of its fields. */
export function shown(record) {
  const fields = withoutStamps(record?.fields);
  return record && fields !== record.fields ? { ...record, fields } : record;
}
