import { int64, isNumber, isObject, member, members, numberText } from "../../changes/json.js";

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
