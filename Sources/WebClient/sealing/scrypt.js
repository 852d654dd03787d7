import { pbkdf2 } from "./sha256.js";

// scrypt (RFC 7914). Synchronous, and slow on purpose: a page runs it in a worker
// (`scryptWorker.js`).

/** Bytes and words of a block of Salsa20. */
const salsaBytes = 64;
const salsaWords = 16;

/** Number of times that the progress is reported. */
const reports = 50;

/**
 * Returns `count` bytes that follow from a password, at the price of 128 · `cost` · `blocks` bytes
 * of memory.
 *
 * @typedef {{salt: Uint8Array, cost: number, blocks: number, lanes: number,
 *   count: number}} ScryptParameters `cost`, `blocks` and `lanes`: N, r and p of the RFC
 * @param {Uint8Array} password
 * @param {ScryptParameters} parameters
 * @param {(done: number) => void} [report] called with the part that is done, up to 1
 */
export function scrypt(password, { salt, cost, blocks, lanes, count }, report = () => {}) {
  if (!(cost > 1 && cost <= 2 ** 30 && (cost & (cost - 1)) === 0)) {
    throw new RangeError("the cost is a power of two");
  }
  const laneBytes = 2 * salsaBytes * blocks;
  const mixed = pbkdf2(password, { salt, rounds: 1, count: lanes * laneBytes });
  const table = new Int32Array(cost * 2 * salsaWords * blocks);
  for (let lane = 0; lane < lanes; lane += 1) {
    const bytes = mixed.subarray(lane * laneBytes, (lane + 1) * laneBytes);
    mixLane(bytes, table, cost, (done) => report((lane + done) / lanes));
  }
  return pbkdf2(password, { salt: mixed, rounds: 1, count });
}

/** scryptROMix (section 5), in place. `table` is overwritten. */
function mixLane(bytes, table, cost, report) {
  const words = table.length / cost;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let block = new Int32Array(words);
  let next = new Int32Array(words);
  for (let at = 0; at < words; at += 1) block[at] = view.getInt32(4 * at, true);
  const step = Math.max(1, Math.floor((2 * cost) / reports));
  for (let turn = 0; turn < cost; turn += 1) {
    table.set(block, turn * words);
    mixBlock(block, next);
    [block, next] = [next, block];
    if (turn % step === 0) report(turn / (2 * cost));
  }
  for (let turn = 0; turn < cost; turn += 1) {
    const start = (block[words - salsaWords] & (cost - 1)) * words;
    for (let at = 0; at < words; at += 1) block[at] ^= table[start + at];
    mixBlock(block, next);
    [block, next] = [next, block];
    if (turn % step === 0) report(0.5 + turn / (2 * cost));
  }
  for (let at = 0; at < words; at += 1) view.setInt32(4 * at, block[at], true);
  report(1);
}

/** scryptBlockMix (section 4). */
function mixBlock(from, to) {
  const half = from.length / 2;
  state.set(from.subarray(from.length - salsaWords));
  for (let at = 0; at < from.length; at += 2 * salsaWords) {
    addSalsa(from, at, to, at / 2);
    addSalsa(from, at + salsaWords, to, half + at / 2);
  }
}

const state = new Int32Array(salsaWords);

const turned = (word, count) => (word << count) | (word >>> (32 - count));

/** Adds 16 words to the state, transforms it by Salsa20/8 (section 3), and writes it. */
function addSalsa(from, start, to, place) {
  for (let at = 0; at < salsaWords; at += 1) state[at] ^= from[start + at];
  let [a0, a1, a2, a3] = [state[0], state[1], state[2], state[3]];
  let [b0, b1, b2, b3] = [state[4], state[5], state[6], state[7]];
  let [c0, c1, c2, c3] = [state[8], state[9], state[10], state[11]];
  let [d0, d1, d2, d3] = [state[12], state[13], state[14], state[15]];
  for (let round = 0; round < 8; round += 2) {
    b0 ^= turned((a0 + d0) | 0, 7); c0 ^= turned((b0 + a0) | 0, 9);
    d0 ^= turned((c0 + b0) | 0, 13); a0 ^= turned((d0 + c0) | 0, 18);
    c1 ^= turned((b1 + a1) | 0, 7); d1 ^= turned((c1 + b1) | 0, 9);
    a1 ^= turned((d1 + c1) | 0, 13); b1 ^= turned((a1 + d1) | 0, 18);
    d2 ^= turned((c2 + b2) | 0, 7); a2 ^= turned((d2 + c2) | 0, 9);
    b2 ^= turned((a2 + d2) | 0, 13); c2 ^= turned((b2 + a2) | 0, 18);
    a3 ^= turned((d3 + c3) | 0, 7); b3 ^= turned((a3 + d3) | 0, 9);
    c3 ^= turned((b3 + a3) | 0, 13); d3 ^= turned((c3 + b3) | 0, 18);
    a1 ^= turned((a0 + a3) | 0, 7); a2 ^= turned((a1 + a0) | 0, 9);
    a3 ^= turned((a2 + a1) | 0, 13); a0 ^= turned((a3 + a2) | 0, 18);
    b2 ^= turned((b1 + b0) | 0, 7); b3 ^= turned((b2 + b1) | 0, 9);
    b0 ^= turned((b3 + b2) | 0, 13); b1 ^= turned((b0 + b3) | 0, 18);
    c3 ^= turned((c2 + c1) | 0, 7); c0 ^= turned((c3 + c2) | 0, 9);
    c1 ^= turned((c0 + c3) | 0, 13); c2 ^= turned((c1 + c0) | 0, 18);
    d0 ^= turned((d3 + d2) | 0, 7); d1 ^= turned((d0 + d3) | 0, 9);
    d2 ^= turned((d1 + d0) | 0, 13); d3 ^= turned((d2 + d1) | 0, 18);
  }
  state[0] += a0; state[1] += a1; state[2] += a2; state[3] += a3;
  state[4] += b0; state[5] += b1; state[6] += b2; state[7] += b3;
  state[8] += c0; state[9] += c1; state[10] += c2; state[11] += c3;
  state[12] += d0; state[13] += d1; state[14] += d2; state[15] += d3;
  to.set(state, place);
}
