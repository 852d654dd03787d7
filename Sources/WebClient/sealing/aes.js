const keyBytes = 32;
const rounds = 14;

/** The box of substitution, and for the first byte of a word its product with the matrix of
 * MixColumns (FIPS 197 section 5.1); those of the other bytes are the same words, rotated. */
const { box, products } = tables();
const [first, second, third, fourth] = products;

/**
 * Encryption of single blocks by AES with a key of 256 bits (FIPS 197).
 *
 * The number and order of the steps do not depend on key or data, but the addresses of the table
 * entries do. So a program on the same processor that measures the use of its cache may learn parts
 * of the key; JavaScript has no means against that. Nor can a key be erased from memory.
 */
export class AES256 {
  #schedule;

  /** @param {Uint8Array} key 32 bytes */
  constructor(key) {
    if (key.length !== keyBytes) throw new RangeError("AES-256 has a key of 32 bytes");
    this.#schedule = expanded(key);
  }

  /** Encrypts a block in place: four words, the first byte in the highest bits of the first.
   * @param {Int32Array} block */
  encrypt(block) {
    const keys = this.#schedule;
    let a = block[0] ^ keys[0];
    let b = block[1] ^ keys[1];
    let c = block[2] ^ keys[2];
    let d = block[3] ^ keys[3];
    for (let at = 4; at < 4 * rounds; at += 4) {
      const p = mixed(a, b, c, d) ^ keys[at];
      const q = mixed(b, c, d, a) ^ keys[at + 1];
      const r = mixed(c, d, a, b) ^ keys[at + 2];
      d = mixed(d, a, b, c) ^ keys[at + 3];
      a = p;
      b = q;
      c = r;
    }
    block[0] = substituted(a, b, c, d) ^ keys[4 * rounds];
    block[1] = substituted(b, c, d, a) ^ keys[4 * rounds + 1];
    block[2] = substituted(c, d, a, b) ^ keys[4 * rounds + 2];
    block[3] = substituted(d, a, b, c) ^ keys[4 * rounds + 3];
  }
}

/** SubBytes, ShiftRows and MixColumns for one column of the state. */
const mixed = (a, b, c, d) =>
  first[a >>> 24] ^ second[(b >>> 16) & 255] ^ third[(c >>> 8) & 255] ^ fourth[d & 255];

/** The same without MixColumns, for the last round. */
const substituted = (a, b, c, d) =>
  (box[a >>> 24] << 24) | (box[(b >>> 16) & 255] << 16) | (box[(c >>> 8) & 255] << 8)
    | box[d & 255];

/** Returns the keys of all rounds (section 5.2). */
function expanded(key) {
  const keyWords = keyBytes / 4;
  const words = new Int32Array(4 * (rounds + 1));
  const view = new DataView(key.buffer, key.byteOffset, key.byteLength);
  for (let index = 0; index < keyWords; index += 1) words[index] = view.getInt32(4 * index);
  let constant = 1;
  for (let index = keyWords; index < words.length; index += 1) {
    let word = words[index - 1];
    if (index % keyWords === 0) {
      const turned = (word << 8) | (word >>> 24);
      word = substituted(turned, turned, turned, turned) ^ (constant << 24);
      constant = doubled(constant);
    } else if (index % keyWords === 4) {
      word = substituted(word, word, word, word);
    }
    words[index] = words[index - keyWords] ^ word;
  }
  return words;
}

/** Multiplies by x in the field of 256 elements (section 4.2.1). */
function doubled(byte) {
  return ((byte << 1) ^ ((byte >> 7) * 0x11b)) & 255;
}

function tables() {
  const powers = new Uint8Array(255);
  const logarithms = new Uint8Array(256);
  for (let exponent = 0, power = 1; exponent < 255; exponent += 1) {
    powers[exponent] = power;
    logarithms[power] = exponent;
    // 3 generates all elements but 0.
    power ^= doubled(power);
  }
  const box = new Uint8Array(256);
  const products = Array.from({ length: 4 }, () => new Int32Array(256));
  for (let byte = 0; byte < 256; byte += 1) {
    const inverse = byte === 0 ? 0 : powers[(255 - logarithms[byte]) % 255];
    let sum = 0x63;
    for (let count = 0; count < 5; count += 1) {
      sum ^= (inverse << count) | (inverse >> (8 - count));
    }
    const value = sum & 255;
    box[byte] = value;
    const twice = doubled(value);
    const word = (twice << 24) | (value << 16) | (value << 8) | (twice ^ value);
    products.forEach((table, index) => {
      table[byte] = index === 0 ? word : (word >>> (8 * index)) | (word << (32 - 8 * index));
    });
  }
  return { box, products };
}
