/**
 * Texts by the bytes of their UTF-8, without making them: names and devices are ordered and
 * measured by those on every device.
 */

/**
 * Which of two texts stands first by the bytes of their UTF-8: below, above or equal to 0.
 *
 * That is the order of code points. UTF-16, in which JavaScript compares, has another: it puts the
 * halves of a pair, which stand for the highest code points, below U+E000 to U+FFFF.
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

/** Bytes that one code point takes. */
export function width(codePoint) {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}

/** Bytes that a text takes. */
export function byteCount(text) {
  let count = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    // Each half of a pair is two of its four bytes.
    count += unit >= 0xd800 && unit < 0xe000 ? 2 : width(unit);
  }
  return count;
}

/** Whether a text has half of a surrogate pair, which stands for no character. */
export const hasLoneSurrogate = (text) => /\p{Surrogate}/u.test(text);

/** A text as every encoder of UTF-8 would write it: for half of a pair stands U+FFFD. */
export const wellFormed = (text) => text.replace(/\p{Surrogate}/gu, "\ufffd");

/** The first Unicode scalars of a text, at most so many. */
export function prefix(text, count) {
  let end = 0;
  for (let left = count; left > 0 && end < text.length; left -= 1) {
    end += text.codePointAt(end) > 0xffff ? 2 : 1;
  }
  return text.slice(0, end);
}

/** Unicode scalars of a text, counted to `most` and no further. */
export function scalarCount(text, most = Infinity) {
  let count = 0;
  for (let end = 0; end < text.length && count < most; count += 1) {
    end += text.codePointAt(end) > 0xffff ? 2 : 1;
  }
  return count;
}
