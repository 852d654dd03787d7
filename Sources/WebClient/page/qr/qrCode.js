import { bestMatrix } from "./qrMatrix.js";
import { correction } from "./reedSolomon.js";

/**
 * By version, from 1: number of error correction codewords per block, and data codewords of each
 * block, at level M (ISO/IEC 18004, table 9), which tolerates 15 % of damage.
 */
const versions = [
  [10, [16]], [16, [28]], [26, [44]], [18, [32, 32]], [24, [43, 43]], [16, [27, 27, 27, 27]],
  [18, [31, 31, 31, 31]], [22, [38, 38, 39, 39]], [22, [36, 36, 36, 37, 37]],
  [26, [43, 43, 43, 43, 44]],
];

/**
 * Encodes a text as a QR code: rows of booleans, dark is true. Byte mode, level M, versions 1 to
 * 10: up to 213 bytes of UTF-8.
 *
 * @param {string} text
 * @returns {boolean[][]}
 * @throws {RangeError} if the text does not fit
 */
export function qrCode(text) {
  const bytes = new TextEncoder().encode(text);
  const version = 1 + versions.findIndex((_, index) => bytes.length <= room(index + 1));
  if (version === 0) throw new RangeError("a QR code has room for 213 bytes");
  return bestMatrix(version, codewords(bytes, version));
}

const dataCount = (version) => versions[version - 1][1].reduce((sum, count) => sum + count, 0);
const lengthBits = (version) => (version < 10 ? 8 : 16);
const room = (version) => dataCount(version) - (4 + lengthBits(version)) / 8;

/** Returns all codewords in svgElement order: blocks interleaved, data first. */
function codewords(bytes, version) {
  const [correcting, sizes] = versions[version - 1];
  const data = dataCodewords(bytes, version);
  const blocks = sizes.map((size) => data.splice(0, size));
  const corrections = blocks.map((block) => correction(block, correcting));
  return [...inTurns(blocks), ...inTurns(corrections)];
}

/** Returns mode, length, bytes, terminator, and padding. */
function dataCodewords(bytes, version) {
  const bits = [];
  const put = (value, count) => {
    for (let place = count - 1; place >= 0; place -= 1) bits.push((value >> place) & 1);
  };
  put(0b0100, 4);
  put(bytes.length, lengthBits(version));
  for (const byte of bytes) put(byte, 8);
  put(0, 4);
  while (bits.length % 8 !== 0) bits.push(0);
  const count = dataCount(version);
  const data = [];
  for (let place = 0; place < bits.length && data.length < count; place += 8) {
    data.push(bits.slice(place, place + 8).reduce((sum, bit) => sum * 2 + bit, 0));
  }
  for (let filler = 0xec; data.length < count; filler ^= 0xec ^ 0x11) data.push(filler);
  return data;
}

function inTurns(blocks) {
  const longest = Math.max(...blocks.map((block) => block.length));
  const turns = [];
  for (let place = 0; place < longest; place += 1) {
    for (const block of blocks) if (place < block.length) turns.push(block[place]);
  }
  return turns;
}
