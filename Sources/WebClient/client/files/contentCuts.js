/**
 * Content-defined chunking, as all devices do it: positions depend on the bytes, so that bytes
 * inserted at the front change only the first chunks. A gear hash of the last 64 bytes decides
 * (FastCDC, Xia and others 2016), with a stricter mask below the average size and a laxer one above
 * it.
 */

/**
 * Sizes of chunks in bytes, from small files to large ones. `strict` and `lax`: topmost bits of the
 * hash that must be zero at a cut. If a file has too many chunks of one class, the next is used.
 */
const sizes = (least, average, most) => {
  const bits = Math.log2(average);
  return Object.freeze({ least, average, most, strict: bits + 2, lax: bits - 2 });
};
export const sizeClasses = Object.freeze([
  sizes(32 << 10, 128 << 10, 512 << 10), sizes(128 << 10, 512 << 10, 2 << 20),
]);
/** Largest file, in bytes, that begins with the first class. */
const smallBytes = 256 << 20;

/** Returns the index of the class for a file of this many bytes. @param {number} bytes */
export const classFor = (bytes) => (bytes <= smallBytes ? 0 : 1);

/** Bytes that the hash covers: older ones are shifted out. */
const windowBytes = 64;
const wordMask = (1n << 64n) - 1n;

/** Function that finds cuts of the chunks of one account and zone. */
export class ContentCuts {
  #sizes;
  /** Upper and lower halves of the random word of each byte. */
  #upper = new Int32Array(256);
  #lower = new Uint32Array(256);

  /**
   * @param {bigint} seed 64 bits; secret in a sealed zone
   * @param {{least: number, average: number, most: number, strict: number, lax: number}} sizes
   */
  constructor(seed, sizes) {
    this.#sizes = sizes;
    const next = randomWords(seed);
    for (let byte = 0; byte < 256; byte += 1) {
      const word = next();
      this.#upper[byte] = Number(word >> 32n);
      this.#lower[byte] = Number(word & 0xffffffffn);
    }
  }

  /** Greatest length of a chunk. */
  get most() { return this.#sizes.most; }

  /**
   * Returns the length of the first chunk of these bytes. They are at least `most`, or the rest of
   * the file.
   *
   * @param {Uint8Array} bytes
   */
  length(bytes) {
    const { least, average, most, strict, lax } = this.#sizes;
    const end = Math.min(bytes.length, most);
    const [strictShift, laxShift] = [32 - strict, 32 - lax];
    let upper = 0;
    let lower = 0;
    for (let place = least - windowBytes; place < end;) {
      const byte = bytes[place];
      const sum = lower * 2 + this.#lower[byte];
      // Overflow of the lower half: 0, 1 or 2.
      upper = ((upper << 1) + this.#upper[byte] + Math.floor(sum / 0x100000000)) | 0;
      lower = sum >>> 0;
      place += 1;
      if (place >= least && upper >>> (place < average ? strictShift : laxShift) === 0) {
        return place;
      }
    }
    return end;
  }
}

/** Returns the generator xoshiro256** (Blackman and Vigna 2018), seeded by SplitMix64. */
function randomWords(seed) {
  let word = seed;
  const mixed = () => {
    word = (word + 0x9e3779b97f4a7c15n) & wordMask;
    let value = word;
    value = ((value ^ (value >> 30n)) * 0xbf58476d1ce4e5b9n) & wordMask;
    value = ((value ^ (value >> 27n)) * 0x94d049bb133111ebn) & wordMask;
    return value ^ (value >> 31n);
  };
  const rotated = (value, count) => ((value << count) | (value >> (64n - count))) & wordMask;
  const state = [mixed(), mixed(), mixed(), mixed()];
  return () => {
    const result = (rotated((state[1] * 5n) & wordMask, 7n) * 9n) & wordMask;
    const shifted = (state[1] << 17n) & wordMask;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = rotated(state[3], 45n);
    return result;
  };
}
