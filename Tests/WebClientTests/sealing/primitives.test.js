import assert from "node:assert/strict";
import {
  createCipheriv, createHash, createHmac, hkdfSync, pbkdf2Sync, scryptSync,
} from "node:crypto";
import test from "node:test";
import { AES256 } from "../../../Sources/WebClient/sealing/aes.js";
import { base64url, base64urlBytes } from "../../../Sources/WebClient/sealing/base64url.js";
import { hex, hexBytes } from "../../../Sources/WebClient/sealing/hex.js";
import { proquintBits, proquints } from "../../../Sources/WebClient/sealing/proquints.js";
import { scrypt } from "../../../Sources/WebClient/sealing/scrypt.js";
import { hkdf, HMAC, pbkdf2, sha256 } from "../../../Sources/WebClient/sealing/sha256.js";
import { SeededRandom } from "../support/seededRandom.js";

const utf8 = new TextEncoder();
const random = new SeededRandom(1);
const randomBytes = (count) => Uint8Array.from({ length: count }, () => random.below(256));

/** A block as hexadecimal text, encrypted. */
function encrypted(key, block) {
  const words = Int32Array.from(block.match(/.{8}/gu), (word) => Number.parseInt(word, 16));
  new AES256(key).encrypt(words);
  return Array.from(words, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

test("SHA-256 of the examples of FIPS 180", () => {
  const examples = [
    ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
    ["abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"],
    ["a".repeat(1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"],
  ];
  for (const [text, digest] of examples) assert.equal(hex(sha256(utf8.encode(text))), digest);
});

test("HMAC of the cases of RFC 4231", () => {
  const cases = [
    ["0b".repeat(20), utf8.encode("Hi There"),
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"],
    [hex(utf8.encode("Jefe")), utf8.encode("what do ya want for nothing?"),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"],
    ["aa".repeat(20), new Uint8Array(50).fill(0xdd),
      "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"],
    ["aa".repeat(131), utf8.encode("Test Using Larger Than Block-Size Key - Hash Key First"),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"],
  ];
  for (const [key, bytes, code] of cases) {
    assert.equal(hex(new HMAC(hexBytes(key)).code(bytes)), code);
  }
});

test("HKDF of the cases of RFC 5869", () => {
  const range = (from, to) => Uint8Array.from({ length: to - from }, (_, index) => from + index);
  assert.equal(
    hex(hkdf(new Uint8Array(22).fill(0x0b), {
      salt: range(0, 13), info: range(0xf0, 0xfa), count: 42,
    })),
    "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  assert.equal(
    hex(hkdf(range(0, 80), { salt: range(0x60, 0xb0), info: range(0xb0, 0x100), count: 82 })),
    "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
      + "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
      + "cc30c58179ec3e87c14c01d5c1f3434f1d87");
  assert.equal(
    hex(hkdf(new Uint8Array(22).fill(0x0b), {
      salt: new Uint8Array(0), info: new Uint8Array(0), count: 42,
    })),
    "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
});

test("PBKDF2 of the cases of RFC 7914", () => {
  const cases = [
    ["passwd", "salt", 1, "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
      + "49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783"],
    ["Password", "NaCl", 80_000, "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56"
      + "a1d425a1225833549adb841b51c9b3176a272bdebba1d078478f62b397f33c8d"],
  ];
  for (const [password, salt, rounds, expected] of cases) {
    const parameters = { salt: utf8.encode(salt), rounds, count: 64 };
    assert.equal(hex(pbkdf2(utf8.encode(password), parameters)), expected);
  }
});

test("scrypt of the cases of RFC 7914", () => {
  // The fourth case takes a gigabyte.
  const cases = [
    ["", "", 16, 1, 1, "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"
      + "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906"],
    ["password", "NaCl", 1_024, 8, 16,
      "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
      + "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"],
    ["pleaseletmein", "SodiumChloride", 16_384, 8, 1,
      "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
      + "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"],
  ];
  for (const [password, salt, cost, blocks, lanes, expected] of cases) {
    const parameters = { salt: utf8.encode(salt), cost, blocks, lanes, count: 64 };
    assert.equal(hex(scrypt(utf8.encode(password), parameters)), expected);
  }
});

test("scrypt and PBKDF2 of any parameters are those of another implementation", () => {
  for (let turn = 0; turn < 60; turn += 1) {
    const [password, salt] = [randomBytes(random.below(100)), randomBytes(random.below(100))];
    const [rounds, count] = [1 + random.below(4), 1 + random.below(100)];
    assert.equal(hex(pbkdf2(password, { salt, rounds, count })),
      pbkdf2Sync(password, salt, rounds, count, "sha256").toString("hex"));
    const [N, r, p] = [2 ** (1 + random.below(6)), 1 + random.below(9), 1 + random.below(3)];
    assert.equal(hex(scrypt(password, { salt, cost: N, blocks: r, lanes: p, count })),
      scryptSync(password, salt, count, { N, r, p }).toString("hex"));
  }
});

test("scrypt reports what is done, and takes no other cost than a power of two", () => {
  const parameters = { salt: utf8.encode("salt"), cost: 1_024, blocks: 1, lanes: 2, count: 8 };
  const parts = [];
  scrypt(utf8.encode("x"), parameters, (done) => parts.push(done));
  assert.ok(parts.length > 50 && parts.length < 250, `${parts.length}`);
  assert.deepEqual(parts, [...parts].sort((one, other) => one - other));
  assert.equal(parts.at(-1), 1);
  for (const cost of [0, 1, 3, 1_000, 2 ** 31, NaN]) {
    assert.throws(() => scrypt(utf8.encode("x"), { ...parameters, cost }), RangeError);
  }
});

test("AES-256 of the example of FIPS 197", () => {
  const key = Uint8Array.from({ length: 32 }, (_, index) => index);
  assert.equal(encrypted(key, "00112233445566778899aabbccddeeff"),
    "8ea2b7ca516745bfeafc49904b496089");
});

test("hashes, codes and blocks of any length are those of another implementation", () => {
  for (let length = 0; length < 200; length += 1) {
    const [bytes, key] = [randomBytes(length), randomBytes(200 - length)];
    assert.equal(hex(sha256(bytes)), createHash("sha256").update(bytes).digest("hex"));
    assert.equal(hex(new HMAC(key).code(bytes)),
      createHmac("sha256", key).update(bytes).digest("hex"));
    const parameters = { salt: bytes, info: key, count: 1 + 5 * length };
    assert.equal(hex(hkdf(key, parameters)),
      Buffer.from(hkdfSync("sha256", key, bytes, key, 1 + 5 * length)).toString("hex"));
    const [long, block] = [randomBytes(32), randomBytes(16)];
    const cipher = createCipheriv("aes-256-ecb", long, null).setAutoPadding(false);
    assert.equal(encrypted(long, hex(block)), cipher.update(block).toString("hex"));
  }
});

test("HKDF gives at least one byte, and no more than it can", () => {
  const bytes = new Uint8Array(1);
  for (const count of [0, -1, 8_161, NaN]) {
    assert.throws(() => hkdf(bytes, { salt: bytes, info: bytes, count }), RangeError);
  }
  assert.equal(hkdf(bytes, { salt: bytes, info: bytes, count: 8_160 }).length, 8_160);
});

test("Base64 for URLs has one text for all bytes, and all others are refused", () => {
  for (let length = 0; length < 70; length += 1) {
    const bytes = randomBytes(length);
    const text = base64url(bytes);
    assert.equal(text, Buffer.from(bytes).toString("base64url"));
    assert.deepEqual(base64urlBytes(text), bytes);
  }
  assert.equal(base64url(Uint8Array.of(0xfb, 0xff)), "-_8");
  for (const text of ["A", "AB", "AAB", "AA==", "AA=", "+w", "/w", " AAA", "AA\n", "AAé", "AAAAA",
    "A\u{1f600}", "AA\0A"]) {
    assert.equal(base64urlBytes(text), null, JSON.stringify(text));
  }
});

test("hexadecimal texts are pairs of lowercase digits", () => {
  assert.deepEqual(hexBytes("00ff1a"), Uint8Array.of(0, 255, 26));
  assert.equal(hex(Uint8Array.of(0, 255, 26)), "00ff1a");
  for (const text of ["0", "0g", "FF", "00 ", "00\n", "-1"]) assert.equal(hexBytes(text), null);
});

test("words are those of the article on proquints, and read as their bits", () => {
  const examples = [
    [[127, 0, 0, 1], "lusab babad"], [[63, 84, 220, 193], "gutih tugad"],
    [[212, 58, 253, 68], "tibup zujah"], [[216, 35, 68, 215], "tobog higil"],
  ];
  for (const [bytes, text] of examples) {
    assert.equal(proquints(Uint8Array.from(bytes)).join(" "), text);
  }
  for (let bits = 0; bits < 0x10000; bits += 37) {
    const [word] = proquints(Uint8Array.of(bits >> 8, bits));
    assert.equal(proquintBits(word), bits);
  }
  for (const text of ["", "babа", "baba", "bababa", "abbab", "bebab", "BABAB", "bab b", "babac"]) {
    assert.equal(proquintBits(text), null, text);
  }
});
