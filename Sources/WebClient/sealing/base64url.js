// Base64 for URLs, without padding (RFC 4648 section 5).

const digits = new TextEncoder()
  .encode("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
const values = new Int8Array(128).fill(-1);
digits.forEach((digit, value) => { values[digit] = value; });

/** Number of digits of `count` bytes. */
export const base64urlLength = (count) => Math.ceil((4 * count) / 3);

/** @param {Uint8Array} bytes */
export function base64url(bytes) {
  const text = new Uint8Array(base64urlLength(bytes.length));
  let length = 0;
  for (let at = 0; at < bytes.length; at += 3) {
    // Bytes beyond the end count as 0; their digits are not written.
    const group = (bytes[at] << 16) | (bytes[at + 1] << 8) | bytes[at + 2];
    for (let shift = 18; shift >= 0 && length < text.length; shift -= 6) {
      text[length] = digits[(group >> shift) & 63];
      length += 1;
    }
  }
  return new TextDecoder().decode(text);
}

/**
 * Returns the bytes; null if it is not the one text of them: with a sign that is none of the 64
 * digits, with padding, with a digit too many, or with unused bits that are not 0.
 *
 * @param {string} text
 */
export function base64urlBytes(text) {
  const bytes = new Uint8Array(Math.floor((3 * text.length) / 4));
  if (base64urlLength(bytes.length) !== text.length) return null;
  let length = 0;
  let bits = 0;
  let count = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    const value = unit < 128 ? values[unit] : -1;
    if (value < 0) return null;
    bits = ((bits << 6) | value) & 0xfff;
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes[length] = bits >> count;
      length += 1;
    }
  }
  return (bits & ((1 << count) - 1)) === 0 ? bytes : null;
}

/** Returns the bytes of a text in Base64 with padding; null if it is not the one text of bytes.
 * @param {any} text */
export function base64Bytes(text) {
  if (typeof text !== "string" || text.length % 4 !== 0 || /[-_]|=.*[^=]|={3}/u.test(text)) {
    return null;
  }
  return base64urlBytes(text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", ""));
}
