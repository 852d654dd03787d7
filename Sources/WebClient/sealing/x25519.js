// X25519 (RFC 7748): the multiplication of a point of Curve25519, given by its coordinate u. A
// number below 2²⁵⁶ is sixteen limbs of 16 bits, the lowest first, in doubles: all sums and
// products stay below 2⁵³. No branch and no index depends on a secret.

const limbs = 16;
/** Bytes of a private key, a public key and a shared secret. */
export const x25519Bytes = 32;

const number = (low = 0) => {
  const limbsOf = new Float64Array(limbs);
  limbsOf[0] = low;
  return limbsOf;
};

/** (486662 − 2) / 4 */
const a24 = number();
a24.set([0xdb41, 1]);

function add(left, right) {
  const sum = number();
  for (let at = 0; at < limbs; at += 1) sum[at] = left[at] + right[at];
  return sum;
}

function subtract(left, right) {
  const difference = number();
  for (let at = 0; at < limbs; at += 1) difference[at] = left[at] - right[at];
  return difference;
}

/** Brings each limb into its 16 bits; what is beyond 2²⁵⁶ counts 38 times, modulo 2²⁵⁵ − 19. */
function carry(limbsOf) {
  for (let at = 0; at < limbs; at += 1) {
    const over = Math.floor(limbsOf[at] / 0x10000);
    limbsOf[at] -= over * 0x10000;
    if (at + 1 < limbs) limbsOf[at + 1] += over;
    else limbsOf[0] += 38 * over;
  }
}

function multiply(left, right) {
  const long = new Float64Array(2 * limbs - 1);
  for (let at = 0; at < limbs; at += 1) {
    for (let other = 0; other < limbs; other += 1) long[at + other] += left[at] * right[other];
  }
  const product = number();
  for (let at = 0; at < limbs; at += 1) product[at] = long[at] + 38 * (long[at + limbs] ?? 0);
  carry(product);
  carry(product);
  return product;
}

/** Returns the inverse: the power with the exponent p − 2, whose bits are 1 but for two. */
function inverse(value) {
  let power = value;
  for (let bit = 253; bit >= 0; bit -= 1) {
    power = multiply(power, power);
    if (bit !== 2 && bit !== 4) power = multiply(power, value);
  }
  return power;
}

/** Exchanges the two if `bit` is 1. */
function swap(bit, left, right) {
  for (let at = 0; at < limbs; at += 1) {
    const difference = bit * (left[at] - right[at]);
    left[at] -= difference;
    right[at] += difference;
  }
}

function read(bytes) {
  const value = number();
  for (let at = 0; at < limbs; at += 1) value[at] = bytes[2 * at] + 256 * bytes[2 * at + 1];
  // The topmost bit has no meaning.
  value[limbs - 1] %= 0x8000;
  return value;
}

/** Returns the 32 bytes of the number modulo p. */
function written(value) {
  const reduced = value.slice();
  for (let turn = 0; turn < 3; turn += 1) carry(reduced);
  // What is at least p is subtracted once or twice.
  for (let turn = 0; turn < 2; turn += 1) {
    const less = number();
    let borrow = 0;
    for (let at = 0; at < limbs; at += 1) {
      const modulus = at === 0 ? 0xffed : at === limbs - 1 ? 0x7fff : 0xffff;
      const difference = reduced[at] - modulus - borrow;
      borrow = difference < 0 ? 1 : 0;
      less[at] = difference + borrow * 0x10000;
    }
    swap(1 - borrow, reduced, less);
  }
  const bytes = new Uint8Array(x25519Bytes);
  for (let at = 0; at < limbs; at += 1) {
    bytes[2 * at] = reduced[at] % 256;
    bytes[2 * at + 1] = Math.floor(reduced[at] / 256);
  }
  return bytes;
}

/** The ladder of section 5. */
function product(scalar, point) {
  const bits = Uint8Array.from(scalar);
  bits[0] &= 248;
  bits[31] = (bits[31] & 127) | 64;
  const start = read(point);
  let [x2, z2, x3, z3] = [number(1), number(), start.slice(), number(1)];
  for (let at = 254; at >= 0; at -= 1) {
    const bit = (bits[at >> 3] >> (at & 7)) & 1;
    swap(bit, x2, x3);
    swap(bit, z2, z3);
    const [sum, difference] = [add(x2, z2), subtract(x2, z2)];
    const left = multiply(subtract(x3, z3), sum);
    const right = multiply(add(x3, z3), difference);
    const [squareSum, squareDifference] = [multiply(sum, sum), multiply(difference, difference)];
    const between = subtract(squareSum, squareDifference);
    const [joint, apart] = [add(left, right), subtract(left, right)];
    [x3, z3] = [multiply(joint, joint), multiply(start, multiply(apart, apart))];
    x2 = multiply(squareSum, squareDifference);
    z2 = multiply(between, add(squareSum, multiply(a24, between)));
    swap(bit, x2, x3);
    swap(bit, z2, z3);
  }
  return written(multiply(x2, inverse(z2)));
}

const base = Uint8Array.of(9, ...new Uint8Array(x25519Bytes - 1));

/** Returns the public key of a private key, 32 random bytes. @param {Uint8Array} privateKey */
export const x25519PublicKey = (privateKey) => product(privateKey, base);

/**
 * Returns the secret that both sides compute; null if the other key has not 32 bytes, or gives a
 * secret that everybody knows. Derive keys from it with HKDF.
 *
 * @param {Uint8Array} privateKey
 * @param {Uint8Array} publicKey the other side's
 */
export function x25519Secret(privateKey, publicKey) {
  if (publicKey.length !== x25519Bytes) return null;
  const secret = product(privateKey, publicKey);
  return secret.some((byte) => byte !== 0) ? secret : null;
}
