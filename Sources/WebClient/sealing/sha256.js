// SHA-256 (FIPS 180-4), HMAC (RFC 2104), HKDF (RFC 5869) and PBKDF2 (RFC 8018). Synchronous, as
// the transactions that edit records are; and the functions of browsers are missing on pages loaded
// over plain http.

const digestBytes = 32;
const blockBytes = 64;

/** First 32 bits of the fractional parts of the cube roots of the first 64 primes (section
 * 4.2.2). */
const constants = Int32Array.of(
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
);

/** The same of the square roots of the first eight primes (section 5.3.3). */
const initial = Int32Array.of(
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
);

const schedule = new Int32Array(64);

/** Returns the 32 bytes of the hash. @param {Uint8Array} bytes */
export const sha256 = (bytes) => finish(initial, bytes, 0);

/** Hash of bytes that arrive in parts. */
export class SHA256 {
  #state = initial.slice();
  /** Bytes of whole blocks that are in the state. */
  #before = 0;
  #rest = new Uint8Array(0);

  /** @param {Uint8Array} bytes */
  add(bytes) {
    let part = bytes;
    if (this.#rest.length > 0) {
      const needed = blockBytes - this.#rest.length;
      const joined = new Uint8Array(this.#rest.length + Math.min(needed, bytes.length));
      joined.set(this.#rest);
      joined.set(bytes.subarray(0, needed), this.#rest.length);
      this.#rest = joined;
      if (joined.length < blockBytes) return;
      this.#compress(joined);
      part = bytes.subarray(needed);
    }
    const whole = part.length - (part.length % blockBytes);
    this.#compress(part.subarray(0, whole));
    this.#rest = part.slice(whole);
  }

  /** Returns the 32 bytes of the hash of all parts so far. */
  digest() { return finish(this.#state, this.#rest, this.#before); }

  #compress(bytes) {
    for (let start = 0; start < bytes.length; start += blockBytes) {
      compress(this.#state, bytes, start);
    }
    this.#before += bytes.length;
  }
}

/** Message authentication code under one key. What depends on the key alone is computed once. */
export class HMAC {
  #inner;
  #outer;

  /** @param {Uint8Array} key */
  constructor(key) {
    const short = key.length > blockBytes ? sha256(key) : key;
    this.#inner = stateAfterKey(short, 0x36);
    this.#outer = stateAfterKey(short, 0x5c);
  }

  /** Returns the 32 bytes of the code. @param {Uint8Array} bytes */
  code(bytes) {
    return finish(this.#outer, finish(this.#inner, bytes, blockBytes), blockBytes);
  }
}

/**
 * Returns `count` bytes that follow from a secret (RFC 5869).
 *
 * @param {Uint8Array} secret
 * @param {{salt: Uint8Array, info: Uint8Array, count: number}} parameters `count`: 1 to 8,160
 */
export function hkdf(secret, { salt, info, count }) {
  if (!(count >= 1 && count <= 255 * digestBytes)) throw new RangeError("no such number of bytes");
  const expansion = new HMAC(new HMAC(salt).code(secret));
  const result = new Uint8Array(count);
  let block = new Uint8Array(0);
  for (let start = 0; start < count; start += digestBytes) {
    const number = 1 + start / digestBytes;
    block = expansion.code(Uint8Array.of(...block, ...info, number));
    result.set(block.subarray(0, count - start), start);
  }
  return result;
}

/**
 * Returns `count` bytes that follow from a password (PBKDF2 with HMAC-SHA-256).
 *
 * @param {Uint8Array} password
 * @param {{salt: Uint8Array, rounds: number, count: number}} parameters
 */
export function pbkdf2(password, { salt, rounds, count }) {
  const hmac = new HMAC(password);
  const result = new Uint8Array(count);
  const first = new Uint8Array(salt.length + 4);
  first.set(salt);
  for (let start = 0; start < count; start += digestBytes) {
    write(1 + start / digestBytes, first, salt.length);
    let code = hmac.code(first);
    const sum = code.slice();
    for (let round = 1; round < rounds; round += 1) {
      code = hmac.code(code);
      for (let index = 0; index < digestBytes; index += 1) sum[index] ^= code[index];
    }
    result.set(sum.subarray(0, count - start), start);
  }
  return result;
}

function stateAfterKey(key, mask) {
  const block = new Uint8Array(blockBytes).fill(mask);
  key.forEach((byte, index) => { block[index] = byte ^ mask; });
  const state = initial.slice();
  compress(state, block, 0);
  return state;
}

/** Hashes the bytes from a state on, which has `before` bytes behind it: a multiple of a block. */
function finish(from, bytes, before) {
  const state = from.slice();
  const whole = bytes.length - (bytes.length % blockBytes);
  for (let start = 0; start < whole; start += blockBytes) compress(state, bytes, start);
  const rest = bytes.subarray(whole);
  const tail = new Uint8Array(rest.length + 9 > blockBytes ? 2 * blockBytes : blockBytes);
  tail.set(rest);
  tail[rest.length] = 0x80;
  const length = before + bytes.length;
  // The length in bits, in two words.
  write(Math.floor(length / 0x20000000), tail, tail.length - 8);
  write(length << 3, tail, tail.length - 4);
  for (let start = 0; start < tail.length; start += blockBytes) compress(state, tail, start);
  const result = new Uint8Array(digestBytes);
  for (let index = 0; index < state.length; index += 1) write(state[index], result, 4 * index);
  return result;
}

function write(word, bytes, at) {
  bytes[at] = word >>> 24;
  bytes[at + 1] = word >>> 16;
  bytes[at + 2] = word >>> 8;
  bytes[at + 3] = word;
}

const rotated = (word, count) => (word >>> count) | (word << (32 - count));

/** Adds the block that begins at `start` to the state (section 6.2.2). */
function compress(state, bytes, start) {
  for (let index = 0; index < 16; index += 1) {
    const at = start + 4 * index;
    schedule[index] =
      (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
  }
  for (let index = 16; index < 64; index += 1) {
    const early = schedule[index - 15];
    const late = schedule[index - 2];
    const small = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3);
    const large = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10);
    schedule[index] = schedule[index - 16] + small + schedule[index - 7] + large;
  }
  let a = state[0];
  let b = state[1];
  let c = state[2];
  let d = state[3];
  let e = state[4];
  let f = state[5];
  let g = state[6];
  let h = state[7];
  for (let index = 0; index < 64; index += 1) {
    const choice = (e & f) ^ (~e & g);
    const first = (h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + choice
      + constants[index] + schedule[index]) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const second = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}
