import { canonicalNumber, integer64, isNumberText } from "./jsonDecimal.js";
import { limits } from "./limits.js";
import { compareText, hasLoneSurrogate } from "./utf8.js";

/**
 * JSON values as the apps read and write them: null, booleans, strings, arrays and plain objects
 * are JavaScript's own. So is a number that JavaScript holds as it was written; every other is an
 * `ExactNumber`, so that what another program wrote passes through here without a digit lost.
 * `undefined` stands for what is not there.
 *
 * Members are read by `member`, never by a name of somebody else's in brackets: `constructor` and
 * `__proto__` are names like any other.
 */

/**
 * A number of which JavaScript's own numbers would lose a digit, in its one form: 2⁵³ + 1, a long
 * fraction, `1e400`.
 *
 * The BigInt marks it: no JSON holds one, so this is never taken for an object, not even behind a
 * structured clone (IndexedDB, another tab), and `JSON.stringify` refuses it aloud. `serialize`
 * writes it.
 *
 * @typedef {{readonly text: string, readonly exact: bigint}} ExactNumber
 */

/**
 * The value of a JSON number's text (RFC 8259 section 6).
 *
 * @param {string} text
 * @returns {number | ExactNumber}
 */
export function numberOf(text) {
  if (!isNumberText(text)) throw new TypeError("that is no JSON number");
  const value = Number(text);
  // The usual case.
  if (Number.isSafeInteger(value) && String(value) === text) return value;
  const canonical = canonicalNumber(text);
  const isHeld = Number.isFinite(value) && canonicalNumber(String(value)) === canonical;
  // Adding 0 makes 0 of -0: they are the same number.
  if (isHeld) return value + 0;
  return Object.freeze({ text: canonical, exact: 1n });
}

const isExact = (value) =>
  typeof value === "object" && value !== null && typeof value.exact === "bigint";

/** A whole number of any size as a value for fields. @param {bigint} value */
export const integer = (value) => numberOf(String(value));

/** Whether a value is a number, of either kind. */
export const isNumber = (value) => typeof value === "number" || isExact(value);

/** A number's text, in its one form; undefined for what is no number. */
export function numberText(value) {
  if (isExact(value)) return value.text;
  if (typeof value !== "number") return undefined;
  if (Number.isSafeInteger(value)) return String(value);
  if (!Number.isFinite(value)) throw new TypeError(`${value} is no JSON`);
  return canonicalNumber(String(value));
}

/** The number where it is whole and fits into 64 bits; undefined otherwise. @returns {bigint=} */
export function int64(value) {
  if (Number.isSafeInteger(value)) return BigInt(value);
  const text = isNumber(value) ? numberText(value) : undefined;
  return text === undefined ? undefined : integer64(text);
}

/** Whether a value is a JSON object. */
export function isObject(value) {
  return Object.prototype.toString.call(value) === "[object Object]" && !isExact(value);
}

/** The member of that name; undefined where there is none, and in everything but an object. */
export function member(value, name) {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Names and values of an object, in their order; none for anything else. */
export const members = (value) => (isObject(value) ? Object.entries(value) : []);

/** The string that stands under a name; undefined where something else does. */
export function text(value, name) {
  const found = member(value, name);
  return typeof found === "string" ? found : undefined;
}

/** The truth that stands under a name; undefined where something else does. */
export function bool(value, name) {
  const found = member(value, name);
  return typeof found === "boolean" ? found : undefined;
}

/**
 * An object with the changes set, a new one. What is undefined among them is left out; what is no
 * object counts as an empty one.
 */
export function setting(value, changes) {
  const names = new Map(members(value));
  for (const [name, change] of members(changes)) {
    if (change === undefined) names.delete(name);
    else names.set(name, change);
  }
  return Object.fromEntries(names);
}

/** Whether two values are the same JSON: numbers by value, objects in whatever order. */
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
 * The canonical form: members in the order of their names' bytes, no white space, no escape that
 * is not needed, each number in its one form. Equal values give the same text.
 *
 * Throws a TypeError for what is no JSON, half a surrogate pair included: who holds such a value
 * has made it himself.
 */
export function serialize(value) {
  return textOf(value, 0);
}

function textOf(value, depth) {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return quoted(value);
  if (isNumber(value)) return numberText(value);
  if (depth >= limits.messageDepth) {
    throw new TypeError(`arrays and objects are nested more than ${limits.messageDepth} deep`);
  }
  if (Array.isArray(value)) {
    return `[${value.map((element) => textOf(element, depth + 1)).join(",")}]`;
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
