import { canonicalNumber, integer64, isNumberText } from "./jsonDecimal.js";
import { compareText, hasLoneSurrogate } from "./utf8.js";

/**
 * JSON values as the apps read and write them: null, booleans, strings, arrays and plain objects
 * are JavaScript's own. So is a number that JavaScript holds exactly; any other number is an
 * `ExactNumber`, so that no digit written by another program is lost. `undefined` means absent.
 *
 * Read members with `member`, never with an outside name in brackets: `constructor` and `__proto__`
 * are names like any other.
 */

/** Nesting depth of JSON: deeper input is refused before it can exhaust a stack. */
export const depthMax = 64;

/** Nesting depth of a message, which wraps records' fields of the maximum depth. */
export const messageDepthMax = 72;

/**
 * Number in canonical form of which JavaScript's own numbers would lose a digit: 2⁵³ + 1, a long
 * fraction, `1e400`.
 *
 * The BigInt marks it. JSON has no BigInt, so the value is never mistaken for an object, not even
 * after a structured clone (IndexedDB, another tab), and `JSON.stringify` throws an error for it.
 * `serialize` writes it.
 *
 * @typedef {{readonly text: string, readonly exact: bigint}} ExactNumber
 */

/**
 * Returns the value of a JSON number's text (RFC 8259 section 6).
 *
 * @param {string} text
 * @returns {number | ExactNumber}
 */
export function numberOf(text) {
  if (!isNumberText(text)) throw new TypeError("that is no JSON number");
  const value = Number(text);
  // Fast path for the usual case.
  if (Number.isSafeInteger(value) && String(value) === text) return value;
  const canonical = canonicalNumber(text);
  const isHeld = Number.isFinite(value) && canonicalNumber(String(value)) === canonical;
  // Adding 0 turns -0 into 0: they are the same number.
  if (isHeld) return value + 0;
  return Object.freeze({ text: canonical, exact: 1n });
}

const isExact = (value) =>
  typeof value === "object" && value !== null && typeof value.exact === "bigint";

/** Converts a whole number of any size to a value for fields. @param {bigint} value */
export const integer = (value) => numberOf(String(value));

/** True if a value is a number, of either kind. */
export const isNumber = (value) => typeof value === "number" || isExact(value);

/** Returns a number's text in canonical form; undefined if the value is not a number. */
export function numberText(value) {
  if (isExact(value)) return value.text;
  if (typeof value !== "number") return undefined;
  if (Number.isSafeInteger(value)) return String(value);
  if (!Number.isFinite(value)) throw new TypeError(`${value} is no JSON`);
  return canonicalNumber(String(value));
}

/** Returns the number if it is whole and fits into 64 bits; undefined otherwise. @returns
 * {bigint=} */
export function int64(value) {
  if (Number.isSafeInteger(value)) return BigInt(value);
  const text = isNumber(value) ? numberText(value) : undefined;
  return text === undefined ? undefined : integer64(text);
}

export function isObject(value) {
  return Object.prototype.toString.call(value) === "[object Object]" && !isExact(value);
}

/** Returns the member of that name; undefined if it is absent, or if the value is not an object. */
export function member(value, name) {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Returns names and values of an object, in their order; an empty list for anything else. */
export const members = (value) => (isObject(value) ? Object.entries(value) : []);

/** Returns the string under a name; undefined if it is absent or not a string. */
export function text(value, name) {
  const found = member(value, name);
  return typeof found === "string" ? found : undefined;
}

/** Returns the Boolean under a name; undefined if it is absent or not a Boolean. */
export function bool(value, name) {
  const found = member(value, name);
  return typeof found === "boolean" ? found : undefined;
}

/**
 * Returns a new object with the changes applied. A change to undefined removes the member. A value
 * that is not an object counts as an empty one.
 */
export function setting(value, changes) {
  const names = new Map(members(value));
  for (const [name, change] of members(changes)) {
    if (change === undefined) names.delete(name);
    else names.set(name, change);
  }
  return Object.fromEntries(names);
}

/** Freezes a value with all that it holds, and returns it. A frozen part counts as done. */
export function frozen(value) {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}

/** True if two values are the same JSON: numbers by value, members in any order. */
export function equal(left, right) {
  if (left === right) return true;
  if (isNumber(left) && isNumber(right)) return numberText(left) === numberText(right);
  if (Array.isArray(left) || Array.isArray(right)) {
    return (
      Array.isArray(left) && Array.isArray(right) && left.length === right.length &&
      left.every((element, index) => equal(element, right[index]))
    );
  }
  if (!isObject(left) || !isObject(right)) return false;
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && equal(left[name], right[name]))
  );
}

/**
 * Returns the canonical form: members in the order of their names' bytes, no white space, no
 * unnecessary escape, each number in canonical form. Equal values have the same text.
 *
 * Throws a TypeError if the value is not JSON, or contains a lone surrogate: such a value can only
 * come from a bug of the caller.
 */
export function serialize(value) {
  return textOf(value, 0);
}

function textOf(value, depth) {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return quoted(value);
  if (isNumber(value)) return numberText(value);
  if (depth >= messageDepthMax) {
    throw new TypeError(`arrays and objects are nested more than ${messageDepthMax} deep`);
  }
  if (Array.isArray(value)) {
    // Unlike `map`, this reads a hole as undefined, which is no JSON.
    return `[${Array.from(value, (element) => textOf(element, depth + 1)).join(",")}]`;
  }
  if (!isObject(value)) throw new TypeError(`${typeof value} is no JSON`);
  const written = Object.keys(value).sort(compareText)
    .map((name) => `${quoted(name)}:${textOf(value[name], depth + 1)}`);
  return `{${written.join(",")}}`;
}

function quoted(value) {
  if (hasLoneSurrogate(value)) throw new TypeError("half a surrogate pair is no character");
  return JSON.stringify(value);
}
