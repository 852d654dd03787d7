import { int64, isNumber, isObject, member, members, numberText } from "../../changes/json.js";

/**
 * What only grows: of two numbers the greater one, the newer where they are equal. What is no
 * number counts as not there; undefined where neither is one.
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
 * The greater number under each name that either object has. Under a name that has none on either
 * side the newer's value stays. undefined where neither is an object.
 */
export function greaterNumbers(newer, older) {
  if (!isObject(newer) && !isObject(older)) return undefined;
  const result = new Map(members(older));
  for (const [name, value] of members(newer)) {
    result.set(name, greaterNumber(value, member(older, name)) ?? value);
  }
  return Object.fromEntries(result);
}
