import { int64, isNumber, isObject, member, members, numberText, serialize }
  from "../json/jsonValue.js";
import { byteCount, compareText, prefix, width } from "../json/utf8.js";
import { limits } from "./limits.js";
import { isDeleted, merged } from "./resolver.js";

/**
 * Order of two versions by age. True if `version` is newer: it has the greater
 * `(modifiedAt, device)`. Devices are compared by their UTF-8 bytes.
 *
 * One device never gives two versions of a record the same timestamp, so this order decides between
 * any two changes by Lockstep devices. If other programs created two equal stamps, the bytes of the
 * content decide: the result must be the same on every device, also with local and server swapped.
 */
export function isNewer(version, other) {
  const [stamp, otherStamp] = [instant(version), instant(other)];
  if (stamp !== otherStamp) return stamp > otherStamp;
  const order = compareText(version.device, other.device);
  if (order !== 0) return order > 0;
  return compareText(content(version), content(other)) > 0;
}

/** Returns the time at which a version was made. @returns {bigint} */
export function instant(version) {
  const stamp = int64(version.modifiedAt);
  if (stamp === undefined) throw new TypeError("modifiedAt is a whole number of milliseconds");
  return stamp;
}

/** Text of the content. A delete has none and sorts below any other version. */
function content(version) {
  return isDeleted(version) ? "" : serialize(version.fields);
}

/** Both sides, ordered by age. A rule that uses only these names is symmetric. */
export function sides({ local, server }) {
  return isNewer(local, server)
    ? { newer: local, older: server }
    : { newer: server, older: local };
}

/**
 * "A change outlives a delete": if one version is deleted, the live one is kept whole, whatever the
 * base is and whichever version is newer. Losing written content is worse than restoring removed
 * content.
 *
 * @returns {import("./resolver.js").Resolution | undefined} undefined if both versions
 *   are live; then the record type's own rule decides
 */
export function changeOutlivesDelete({ local, server }) {
  if (isDeleted(local)) return merged(server.fields);
  if (isDeleted(server)) return merged(local.fields);
  return undefined;
}

/**
 * Three-way merge of lists, whose elements are compared by an identity, a text. Keeps the elements
 * that both sides have, and those that one side has and the base lacks. The newer side's elements
 * come first, each side in its own order, each identity once. If both sides have an element, the
 * newer version of it is kept.
 */
export function setMerge(base, newer, older, identity) {
  const inBase = new Set(base.map(identity));
  const inNewer = new Set(newer.map(identity));
  const inOlder = new Set(older.map(identity));
  return union(newer, older, identity).filter((element) => {
    const name = identity(element);
    return (inNewer.has(name) && inOlder.has(name)) || !inBase.has(name);
  });
}

/** Returns all elements of both sides, the newer side's first, each identity once. */
export function union(newer, older, identity) {
  const found = new Map();
  for (const element of [...newer, ...older]) {
    const name = identity(element);
    if (!found.has(name)) found.set(name, element);
  }
  return Array.from(found.values());
}

/**
 * Merges a number that only grows: returns the greater one, or the newer one if they are equal. A
 * value that is not a number counts as absent; returns undefined if neither is a number.
 */
export function greaterNumber(newer, older) {
  if (!isNumber(newer)) return isNumber(older) ? older : undefined;
  if (!isNumber(older)) return newer;
  return isGreater(older, newer) ? older : newer;
}

function isGreater(number, other) {
  const [whole, otherWhole] = [int64(number), int64(other)];
  if (whole !== undefined && otherWhole !== undefined) return whole > otherWhole;
  return Number(numberText(number)) > Number(numberText(other));
}

/**
 * Returns the greater number for each name that either object has. If neither side has a number
 * under a name, the newer value stays. Returns undefined if neither is an object.
 */
export function greaterNumbers(newer, older) {
  if (!isObject(newer) && !isObject(older)) return undefined;
  const result = new Map(members(older));
  for (const [name, value] of members(newer)) {
    result.set(name, greaterNumber(value, member(older, name)) ?? value);
  }
  return Object.fromEntries(result);
}

const bound = 2n ** 60n;

/**
 * Returns the number rounded down and limited to ±2⁶⁰, so that it is the same on devices that count
 * in 64 bits; undefined if the value is not a number.
 *
 * Versions may come from third-party programs, which may write 1.5e3, 0.5 or more digits than a
 * JavaScript number holds. So comparisons and sums use BigInt.
 *
 * @returns {bigint | undefined}
 */
export function wholeNumber(value) {
  const exact = int64(value);
  if (exact !== undefined) return within(exact);
  if (!isNumber(value)) return undefined;
  const near = Number(numberText(value));
  if (Math.abs(near) >= Number(bound)) return near > 0 ? bound : -bound;
  return BigInt(Math.floor(near));
}

/** Limits a whole number to ±2⁶⁰. */
export function within(number) {
  if (number > bound) return bound;
  return number < -bound ? -bound : number;
}

/**
 * Returns a name for a copy left by a conflict, or for a record that belongs to another one: `stem`
 * followed by `suffix`. Cuts the stem if the name would exceed `nameBytes`.
 */
export function copyName(stem, suffix) {
  const room = limits.nameBytes - byteCount(suffix);
  let bytes = 0;
  let count = 0;
  for (const scalar of prefix(stem, limits.nameBytes)) {
    bytes += width(scalar.codePointAt(0));
    if (bytes > room) break;
    count += 1;
  }
  return prefix(stem, count) + suffix;
}
