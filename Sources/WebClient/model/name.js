import { byteCount, hasLoneSurrogate } from "../json/utf8.js";
import { limits } from "./limits.js";

/**
 * True if a text is a valid name of a zone, a record or a record type: 1 to 255 bytes of UTF-8
 * without control characters. Two names are equal if their bytes are, which `===` decides.
 */
export function isName(text) {
  return (
    typeof text === "string" && text.length > 0 && byteCount(text) <= limits.nameBytes &&
    !/\p{Control}/u.test(text) && !hasLoneSurrogate(text)
  );
}

/**
 * Returns a random UUID (RFC 9562, version 4) for the name of a new record.
 *
 * `crypto.randomUUID` is missing on a page loaded over plain http; random bytes are available.
 *
 * @param {(count: number) => Uint8Array} random returns `count` random bytes
 */
export function uuid(random) {
  const bytes = Uint8Array.from(random(16));
  if (bytes.length !== 16) throw new TypeError("a UUID takes 16 random bytes");
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
