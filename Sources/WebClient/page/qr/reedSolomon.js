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

/** The polynomial with the roots 2⁰ … 2ⁿ⁻¹, its leading 1 left out. */
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
 * The codewords that let a reader correct a block: what is left of `data` by the generator.
 *
 * @param {number[]} data bytes
 * @param {number} count of correcting codewords
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
