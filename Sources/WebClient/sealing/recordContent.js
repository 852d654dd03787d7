import { isName } from "../model/name.js";
import { hex, hexBytes } from "./hex.js";

// Plaintext of a sealed record:
//
//     1 byte    1 for a live record, 2 for a deleted one
//     1 byte    number of included versions, 0 to 8; then 8 bytes for each
//     1 byte    length of the name, 1 to 255; then the name
//     1 byte    length of the type, 1 to 255; then the type
//     rest      the bytes of the fields; nothing if the record is deleted
//     1 byte    0x80; then zeros up to the padded length

const live = 1;
const deleted = 2;
const fixedBytes = 4;
const includesMax = 8;
const fingerprintBytes = 8;
const evenStepMax = 1_024;
const step = 32;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Content of a record, with its fields as bytes, null if it is deleted.
 *
 * @typedef {{name: string, type: string, includes: string[],
 *   fields: Uint8Array | null}} RecordContent
 */

/**
 * Returns the length to which a length is padded, so that it reveals little: the next multiple of
 * 32 up to 1,024 bytes, then Padmé, which adds at most 12 %.
 *
 * @param {number} length at least 1
 */
export function paddedLength(length) {
  if (length <= evenStepMax) return Math.ceil(length / step) * step;
  const exponent = 31 - Math.clz32(length);
  const unit = 2 ** (exponent - (32 - Math.clz32(exponent)));
  return Math.ceil(length / unit) * unit;
}

/** Returns the bytes of the plaintext; the arguments are the lengths of its parts in bytes. */
export const contentLength = ({ name, type, includes, fields }) => paddedLength(
  fixedBytes + fingerprintBytes * includes + name + type + fields + 1);

/**
 * Returns the padded plaintext.
 *
 * @param {RecordContent} content
 * @throws {TypeError} if it is not that of a record
 */
export function encodeContent({ name, type, includes, fields }) {
  const versions = includes.map((text) => hexBytes(text));
  const areVersions = versions.length <= includesMax
    && versions.every((bytes) => bytes?.length === fingerprintBytes);
  if (!areVersions) throw new TypeError("a record includes up to 8 versions");
  if (!isName(name) || !isName(type)) throw new TypeError("a record has a name and a type");
  const names = [name, type].map((text) => encoder.encode(text));
  const bytes = new Uint8Array(contentLength({
    name: names[0].length, type: names[1].length, includes: includes.length,
    fields: fields?.length ?? 0,
  }));
  bytes[0] = fields === null ? deleted : live;
  bytes[1] = versions.length;
  let length = 2;
  const append = (part) => {
    bytes.set(part, length);
    length += part.length;
  };
  versions.forEach(append);
  for (const text of names) {
    append([text.length]);
    append(text);
  }
  if (fields) append(fields);
  append([0x80]);
  return bytes;
}

/**
 * Returns the content; null if the bytes are not such a plaintext, with exactly its padding.
 *
 * @param {Uint8Array} bytes
 * @returns {RecordContent | null}
 */
export function decodeContent(bytes) {
  const end = endOfContent(bytes);
  if (end < fixedBytes || (bytes[0] !== live && bytes[0] !== deleted)) return null;
  if (bytes[1] > includesMax) return null;
  let place = 2 + fingerprintBytes * bytes[1];
  // The end is checked once: no part beyond it is read as a text.
  const read = (count) => bytes.subarray(place, place += count);
  const includes = Array.from({ length: bytes[1] }, (_, index) =>
    hex(bytes.subarray(2 + fingerprintBytes * index, 2 + fingerprintBytes * (index + 1))));
  const [name, type] = [0, 1].map(() => (place < end ? nameOf(read(read(1)[0])) : null));
  if (name === null || type === null || place > end) return null;
  const rest = bytes.subarray(place, end);
  if (bytes[0] === deleted) return rest.length > 0 ? null : { name, type, includes, fields: null };
  return { name, type, includes, fields: rest };
}

/** Returns the length without the padding; -1 if it is not padded as prescribed. */
function endOfContent(bytes) {
  let end = bytes.length - 1;
  while (end >= 0 && bytes[end] === 0) end -= 1;
  return end >= 0 && bytes[end] === 0x80 && bytes.length === paddedLength(end + 1) ? end : -1;
}

function nameOf(bytes) {
  const name = textOf(bytes);
  return name !== null && isName(name) ? name : null;
}

/** Returns the text; null if the bytes are not UTF-8. @param {Uint8Array} bytes */
export function textOf(bytes) {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}
