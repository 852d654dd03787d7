import { JSONFault, parse } from "../json/jsonParser.js";
import { isObject } from "../json/jsonValue.js";
import { isName } from "../model/name.js";
import { hex, hexBytes, is64Bits } from "./hex.js";
import { RecordVersion } from "./recordVersion.js";
import { idBytes } from "./versionVector.js";

// Plaintext of a sealed record:
//
//     1 byte    1 for a live record, 2 for a deleted one
//     8 bytes   author: the device that made the version
//     8 bytes   writer of the version
//     8 bytes   number of the version
//     8 bytes   floor of the vector of what it was made on
//     1 byte    number of its entries, 0 to 64; then for each 8 bytes writer, 8 bytes number
//     1 byte    length of the name, 1 to 255; then the name
//     1 byte    length of the type, 1 to 255; then the type
//     rest      the bytes of the fields; nothing if the record is deleted
//     1 byte    0x80; then zeros up to the padded length

const live = 1;
const deleted = 2;
const fixedBytes = 36;
const versionPlace = 9;
const entriesPlace = 34;
/** Bytes of a version before its entries. */
const versionBytes = entriesPlace - 1 - versionPlace;
const evenStepMax = 1_024;
const step = 32;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Content of a record, with its fields as bytes, null if it is deleted. `author`: the id of the
 * device that made the version. Another one may save it at the relay again.
 *
 * @typedef {{name: string, type: string, author: string, version: RecordVersion,
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

/**
 * Returns the bytes of the plaintext; `entries` is the number of entries of the vector, the
 * others are the lengths of parts in bytes.
 */
export const contentLength = ({ name, type, entries, fields }) => paddedLength(
  fixedBytes + idBytes * entries + name + type + fields + 1);

/**
 * Returns the padded plaintext.
 *
 * @param {RecordContent} content
 * @throws {TypeError} if it is not that of a record
 */
export function encodeContent({ name, type, author, version, fields }) {
  if (!isName(name) || !isName(type)) throw new TypeError("a record has a name and a type");
  if (!is64Bits(author)) throw new TypeError("a record has an author");
  const names = [name, type].map((text) => encoder.encode(text));
  const bytes = new Uint8Array(contentLength({
    name: names[0].length, type: names[1].length, entries: version.made.entries.length,
    fields: fields?.length ?? 0,
  }));
  bytes[0] = fields === null ? deleted : live;
  let length = 1;
  const append = (part) => {
    bytes.set(part, length);
    length += part.length;
  };
  const versions = version.bytes();
  append(hexBytes(author));
  append(versions.subarray(0, versionBytes));
  append([version.made.entries.length]);
  append(versions.subarray(versionBytes));
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
  const end = paddingPlace(bytes);
  if (end < fixedBytes || (bytes[0] !== live && bytes[0] !== deleted)) return null;
  let place = entriesPlace + idBytes * bytes[entriesPlace - 1];
  const version = RecordVersion.ofBytes(Uint8Array.of(
    ...bytes.subarray(versionPlace, entriesPlace - 1), ...bytes.subarray(entriesPlace, place)));
  if (version === null) return null;
  // The end is checked once: no part beyond it is read as a text, and there is a name.
  const read = (count) => bytes.subarray(place, place += count);
  const [name, type] = [0, 1].map(() => (place < end ? nameOf(read(read(1)[0])) : null));
  if (name === null || type === null || place > end) return null;
  const rest = bytes.subarray(place, end);
  const author = hex(bytes.subarray(1, versionPlace));
  const isDeleted = bytes[0] === deleted;
  if (isDeleted && rest.length > 0) return null;
  return { name, type, author, version, fields: isDeleted ? null : rest };
}

/** Returns the length without the padding; -1 if it is not padded as prescribed.
 * @param {Uint8Array} bytes */
export function paddingPlace(bytes) {
  let end = bytes.length - 1;
  while (end >= 0 && bytes[end] === 0) end -= 1;
  return end >= 0 && bytes[end] === 0x80 && bytes.length === paddedLength(end + 1) ? end : -1;
}

function nameOf(bytes) {
  const name = textOf(bytes);
  return name !== null && isName(name) ? name : null;
}

/** Returns the text; null if the bytes are not UTF-8. */
function textOf(bytes) {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

/** Returns the object; null if the bytes are not the JSON of one. @param {Uint8Array} bytes */
export function objectOf(bytes) {
  const text = textOf(bytes);
  if (text === null) return null;
  try {
    const value = parse(text);
    return isObject(value) ? value : null;
  } catch (error) {
    if (error instanceof JSONFault) return null;
    throw error;
  }
}
