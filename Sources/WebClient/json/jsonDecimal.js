/**
 * Exact value of a JSON number: `digits` as a whole number, times ten to the `exponent`. Zeros at
 * both ends of the digits are removed, so that each value has one form.
 *
 * An exponent has no limit either: a few characters can name a number of any size. An exponent of
 * up to fifteen digits is a number, a longer one is its sign and digits.
 *
 * @typedef {{isNegative: boolean, digits: string, exponent: number | LargeExponent}} Decimal
 * @typedef {{isNegative: boolean, digits: string}} LargeExponent
 */

const smallDigits = 15;
const form = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?)(\d+))?$/;

/** True if the whole text is a JSON number (RFC 8259 section 6). */
export const isNumberText = (text) => form.test(text);

/** @returns {Decimal} */
function decimal(text) {
  const [, sign, whole, fraction = "", exponentSign, exponentDigits = ""] = form.exec(text);
  const all = whole + fraction;
  let start = 0;
  let end = all.length;
  while (start < end && all[start] === "0") start += 1;
  while (end > start && all[end - 1] === "0") end -= 1;
  if (start === end) return { isNegative: false, digits: "", exponent: 0 };
  const written = exponentOf(exponentSign === "-", exponentDigits);
  const exponent = added(written, all.length - end - fraction.length);
  return { isNegative: sign === "-", digits: all.slice(start, end), exponent };
}

function exponentOf(isNegative, text) {
  let start = 0;
  while (start < text.length && text[start] === "0") start += 1;
  const digits = text.slice(start);
  if (digits.length > smallDigits) return { isNegative, digits };
  return isNegative ? 0 - Number(digits) : Number(digits);
}

/** Adds `change`, which is at most the number of a text's digits. */
function added(exponent, change) {
  if (typeof exponent === "number") return exponent + change;
  const digits = Array.from(exponent.digits, Number);
  // The magnitude stays positive, so only a carry (or a borrow, a negative carry) can occur.
  let carry = exponent.isNegative ? -change : change;
  for (let index = digits.length - 1; index >= 0 && carry !== 0; index -= 1) {
    const sum = digits[index] + carry;
    digits[index] = ((sum % 10) + 10) % 10;
    carry = (sum - digits[index]) / 10;
  }
  return exponentOf(exponent.isNegative, (carry === 0 ? "" : String(carry)) + digits.join(""));
}

/** Returns the one text that all equal numbers have: `12`, `0.5`, `1e400`. */
export function canonicalNumber(text) {
  const { isNegative, digits, exponent } = decimal(text);
  if (digits === "") return "0";
  const sign = isNegative ? "-" : "";
  const isPlain =
    typeof exponent === "number" && exponent <= 20 && digits.length + exponent > -6;
  if (isPlain) return sign + plain(digits, exponent);
  const fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
  return `${sign}${digits[0]}${fraction}e${exponentText(added(exponent, digits.length - 1))}`;
}

function plain(digits, exponent) {
  if (exponent >= 0) return digits + "0".repeat(exponent);
  const point = digits.length + exponent;
  if (point > 0) return `${digits.slice(0, point)}.${digits.slice(point)}`;
  return `0.${"0".repeat(-point)}${digits}`;
}

function exponentText(exponent) {
  if (typeof exponent === "number") return String(exponent);
  return (exponent.isNegative ? "-" : "") + exponent.digits;
}

const [least, greatest] = [-(2n ** 63n), 2n ** 63n - 1n];

/** Returns the number as a BigInt if it is whole and fits into 64 bits; undefined otherwise. */
export function integer64(text) {
  const { isNegative, digits, exponent } = decimal(text);
  const isShort =
    typeof exponent === "number" && exponent >= 0 && digits.length + exponent <= 19;
  if (digits === "") return 0n;
  if (!isShort) return undefined;
  const value = BigInt((isNegative ? "-" : "") + plain(digits, exponent));
  return value < least || value > greatest ? undefined : value;
}
