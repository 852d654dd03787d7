import { AES256 } from "./aes.js";

const blockBytes = 16;

/**
 * Authenticated encryption without a nonce: AES-256-SIV (RFC 5297) with one string of associated
 * data. The same bytes under the same key and the same data give the same result; nothing more is
 * revealed.
 *
 *     16 bytes   the synthetic nonce, which is also the authentication tag
 *      n bytes   as long as the plaintext
 */
export class SIV {
  /** Bytes of a key. */
  static keyBytes = 64;
  /** Bytes by which the sealed form is longer. */
  static overhead = blockBytes;

  #authentication;
  #encryption;
  /** Masks of the last block (RFC 4493): of a whole one, and of one that was filled up. */
  #wholeMask;
  #filledMask;
  /** The first value of S2V, doubled: it does not depend on the message. */
  #start;

  /** @param {Uint8Array} key 64 bytes */
  constructor(key) {
    if (key.length !== SIV.keyBytes) throw new RangeError("AES-256-SIV has a key of 64 bytes");
    this.#authentication = new AES256(key.subarray(0, 32));
    this.#encryption = new AES256(key.subarray(32));
    const zero = new Int32Array(4);
    this.#authentication.encrypt(zero);
    this.#wholeMask = doubled(zero);
    this.#filledMask = doubled(this.#wholeMask);
    this.#start = doubled(this.#code(new Uint8Array(blockBytes)));
  }

  /**
   * Encrypts bytes, at least one. The data is authenticated, but not contained in the result.
   *
   * @param {Uint8Array} bytes
   * @param {Uint8Array} data
   */
  seal(bytes, data) {
    if (bytes.length === 0) throw new RangeError("there is nothing to seal");
    const result = new Uint8Array(SIV.overhead + bytes.length);
    const tag = this.#tag(bytes, data);
    addWords(result, 0, tag);
    const body = result.subarray(SIV.overhead);
    body.set(bytes);
    this.#mask(body, tag);
    return result;
  }

  /**
   * Returns the bytes; null if they were not sealed with this key and this data, bit for bit.
   *
   * @param {Uint8Array} sealed
   * @param {Uint8Array} data
   */
  open(sealed, data) {
    if (sealed.length <= SIV.overhead) return null;
    const tag = Int32Array.of(
      wordAt(sealed, 0), wordAt(sealed, 4), wordAt(sealed, 8), wordAt(sealed, 12));
    const bytes = sealed.slice(SIV.overhead);
    this.#mask(bytes, tag);
    const expected = this.#tag(bytes, data);
    let difference = 0;
    for (let index = 0; index < 4; index += 1) difference |= expected[index] ^ tag[index];
    return difference === 0 ? bytes : null;
  }

  /** S2V (section 2.4) of the data and the plaintext. */
  #tag(bytes, data) {
    const sum = exclusive(this.#start, this.#code(data));
    if (bytes.length >= blockBytes) return this.#code(bytes, sum);
    const last = new Uint8Array(blockBytes);
    last.set(bytes);
    last[bytes.length] = 0x80;
    return this.#code(last, doubled(sum));
  }

  /** AES-CMAC (RFC 4493), with `end` added to the last 16 bytes. */
  #code(bytes, end = null) {
    const start = Math.max(0, (Math.ceil(bytes.length / blockBytes) - 1) * blockBytes);
    // The end may begin within the block before the last one.
    const head = end === null ? start : Math.max(0, start - blockBytes);
    const state = new Int32Array(4);
    for (let at = 0; at < head; at += blockBytes) this.#chain(state, bytes, at);
    const rest = new Uint8Array(start - head + blockBytes);
    rest.set(bytes.subarray(head));
    const length = bytes.length - head;
    if (end !== null) addWords(rest, length - blockBytes, end);
    const isWhole = length === rest.length;
    if (!isWhole) rest[length] ^= 0x80;
    addWords(rest, rest.length - blockBytes, isWhole ? this.#wholeMask : this.#filledMask);
    for (let at = 0; at < rest.length; at += blockBytes) this.#chain(state, rest, at);
    return state;
  }

  #chain(state, bytes, at) {
    state[0] ^= wordAt(bytes, at);
    state[1] ^= wordAt(bytes, at + 4);
    state[2] ^= wordAt(bytes, at + 8);
    state[3] ^= wordAt(bytes, at + 12);
    this.#authentication.encrypt(state);
  }

  /** Adds AES in counter mode, from the tag on, to the bytes in place (section 2.5). */
  #mask(bytes, tag) {
    const block = new Int32Array(4);
    for (let start = 0; start < bytes.length; start += blockBytes) {
      block[0] = tag[0];
      block[1] = tag[1];
      block[2] = tag[2] & 0x7fffffff;
      // No carry: the topmost bit is 0, and no array has 2³¹ blocks.
      block[3] = (tag[3] & 0x7fffffff) + start / blockBytes;
      this.#encryption.encrypt(block);
      if (start + blockBytes <= bytes.length) addWords(bytes, start, block);
      else addPart(bytes, start, block);
    }
  }
}

const wordAt = (bytes, at) =>
  (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];

function addWords(bytes, start, words) {
  for (let index = 0; index < 4; index += 1) {
    const word = words[index];
    const at = start + 4 * index;
    bytes[at] ^= word >>> 24;
    bytes[at + 1] ^= word >>> 16;
    bytes[at + 2] ^= word >>> 8;
    bytes[at + 3] ^= word;
  }
}

/** Adds as much of the words as there are bytes from `start` on. */
function addPart(bytes, start, words) {
  for (let at = start; at < bytes.length; at += 1) {
    const place = at - start;
    bytes[at] ^= words[place >> 2] >>> (24 - 8 * (place & 3));
  }
}

const exclusive = (left, right) => Int32Array.of(
  left[0] ^ right[0], left[1] ^ right[1], left[2] ^ right[2], left[3] ^ right[3]);

/** Multiplies by x in the field of 2¹²⁸ elements (`dbl`, section 2.3). */
function doubled([a, b, c, d]) {
  // No branch, because the block is secret.
  return Int32Array.of((a << 1) | (b >>> 31), (b << 1) | (c >>> 31), (c << 1) | (d >>> 31),
    (d << 1) ^ (0x87 & -(a >>> 31)));
}
