// Arithmetic in the field of 256 elements that QR codes use (modulo x⁸ + x⁴ + x³ + x² + 1).

const exponents = new Uint8Array(255);
const logarithms = new Uint8Array(256);
for (let power = 0, value = 1; power < 255; power += 1) {
  exponents[power] = value;
  logarithms[value] = power;
  value = value < 128 ? value << 1 : (value << 1) ^ 0x11d;
}

const product = (a, b) =>
  (a === 0 || b === 0 ? 0 : exponents[(logarithms[a] + logarithms[b]) % 255]);

/** Returns the polynomial with the roots 2⁰ … 2ⁿ⁻¹, without its leading 1. */
function generator(degree) {
  let factors = [1];
  for (let root = 0; root < degree; root += 1) {
    const next = [...factors, 0];
    factors.forEach((factor, place) => { next[place + 1] ^= product(factor, exponents[root]); });
    factors = next;
  }
  return factors.slice(1);
}

/**
 * Returns the error correction codewords of a block: the remainder of `data` divided by the
 * generator.
 *
 * @param {number[]} data bytes
 * @param {number} count number of error correction codewords
 * @returns {number[]}
 */
export function correction(data, count) {
  const factors = generator(count);
  const rest = new Array(count).fill(0);
  for (const byte of data) {
    const lead = byte ^ rest.shift();
    rest.push(0);
    factors.forEach((factor, place) => { rest[place] ^= product(factor, lead); });
  }
  return rest;
}
