/**
 * Operations on a text's UTF-8 bytes that do not create the bytes. Every device orders and measures
 * names and devices by these bytes.
 */

/**
 * Compares two texts by their UTF-8 bytes; returns a number below, above or equal to 0.
 *
 * That is the order of code points. JavaScript compares by UTF-16, which has a different order: it
 * puts surrogates, which encode the highest code points, below U+E000 to U+FFFF.
 */
export function compareText(left, right) {
  const count = Math.min(left.length, right.length);
  for (let index = 0; index < count; index += 1) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a !== b) return rank(a) - rank(b);
  }
  return left.length - right.length;
}

function rank(unit) {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/** Number of bytes of a code point. */
export function width(codePoint) {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}

/** Number of bytes of a text. */
export function byteCount(text) {
  let count = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    // Each half of a surrogate pair counts as two of its four bytes.
    count += unit >= 0xd800 && unit < 0xe000 ? 2 : width(unit);
  }
  return count;
}

/** True if a text has a lone surrogate, which encodes no character. */
export const hasLoneSurrogate = (text) => /\p{Surrogate}/u.test(text);

/** Replaces each lone surrogate by U+FFFD, as every UTF-8 encoder does. */
export const wellFormed = (text) => text.replace(/\p{Surrogate}/gu, "\ufffd");

/** Returns at most the first `count` Unicode scalars of a text. */
export function prefix(text, count) {
  let end = 0;
  for (let left = count; left > 0 && end < text.length; left -= 1) {
    end += text.codePointAt(end) > 0xffff ? 2 : 1;
  }
  return text.slice(0, end);
}

/** Number of Unicode scalars of a text, counted up to `most`. */
export function scalarCount(text, most = Infinity) {
  let count = 0;
  for (let end = 0; end < text.length && count < most; count += 1) {
    end += text.codePointAt(end) > 0xffff ? 2 : 1;
  }
  return count;
}
