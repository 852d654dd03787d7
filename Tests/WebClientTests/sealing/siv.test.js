import assert from "node:assert/strict";
import test from "node:test";
import { hex, hexBytes } from "../../../Sources/WebClient/sealing/hex.js";
import { SIV } from "../../../Sources/WebClient/sealing/siv.js";
import { SeededRandom } from "../support/seededRandom.js";

// From aes_siv_cmac_test.json of Project Wycheproof (Apache-2.0): blocks that are whole and not,
// and counters of all zeros and all ones.
const published = [
  {
    key: "c25cafc6018b98dfbb79a40ec89c575a4f88c4116489bba27707479800c0130235334a45dbe8d8da"
      + "e3da8dcb45bbe5dce031b0f68ded544fda7eca30d6749442",
    data: "deeb0ccf3aef47a296ed1ca8f4ae5907",
    bytes: "beec61030fa3d670337196beade6aeaa",
    sealed: "5865208eab9163db85cab9f96d846234a2626aae22f5c17c9aad4b501f4416e4",
  },
  {
    key: "e2c5662bb18fbb411d0304e4241db073fe60a4704fee290073513038a22b4cd542580b2b4edbc37e"
      + "3de01c0cb61abcad46986cdc491ce9e5ae5af223ff58b953",
    data: "fab912dec29a34aabfaef176",
    bytes: "0d",
    sealed: "1c6969ecb15741a9959b7a8492250e391a",
  },
  {
    key: "2a93a0c37797bee0c344b9ceed1a609813d8c5ee686d260f3aa6fc2f66dc59f400479d1dfe04e89e"
      + "6df608a3f699ff1cb4e9bf24a78fb2dfddaa0011a2e40208",
    data: "6ae54f41ac52baf2f89abe8e",
    bytes: "3fc3bf53bb485c9edcb1d25adb4ca0",
    sealed: "2d344a54038a857f47e0c77eb0834538aaf01e61a8ac82c0012f9dac6f15ef",
  },
  {
    key: "c0f4bede68c6ed5ad14918e2ddeced692dfd5419c04204d5b96f4ca47078b07028c6fb87b1b490d8"
      + "75f070bbe4d790f65e5df19947f02c9d3a4e493b542d0291",
    data: "b411e4d2facca67ea4a9f2a1",
    bytes: "2f358d4534559ac99dd71798b7925705d6f013f6b848ffe01cc86cef09d88f",
    sealed: "d27ae26dfe02e3eedf544e1b452cb0f0c9303a4e4819318315ae08839bcce558e4741817ec08dae4"
      + "06bbfc09f59aa9",
  },
  {
    key: "cd8689f821817f59bfaa755131f2565161c7f4489f89b657ac9fa127a9768535a702d001b9b99cc1"
      + "1c3976467b1b45865ff417dc256ebb5079b7f1b3e08307b5",
    data: "b3edffbb89b373fe04da244b",
    bytes: "ebcfb2ffb681cc5dfa0c5c524c1b1cc87cc6b2bfa35dc36d15e80505118b84a072a78a157b4d1837",
    sealed: "1ac78aae2ede04eb47924d8f9f99fe75deb61bf693da7f3a2147c05f6d29d17392356fe00f82b24c"
      + "dbce774fd864561548f33dd3192d806f",
  },
  {
    key: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f2021222324252627"
      + "28292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f",
    data: "000102030405060708090a0b0c0d0e0f",
    bytes: "bfa1733d07afa03cb3f2eeb81bbde037",
    sealed: "000000000000000000000000000000004ce637d6ca9cdf1c2feb0d140865cddb",
  },
  {
    key: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f2021222324252627"
      + "28292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f",
    data: "000102030405060708090a0b0c0d0e0f",
    bytes: "404aa73280eb830afde284ba6b18d48a",
    sealed: "ffffffffffffffffffffffffffffffff0fae016c086fc20546b374c24f3ebad0",
  },
];

test("seals are those of Project Wycheproof, and open", () => {
  for (const { key, data, bytes, sealed } of published) {
    const siv = new SIV(hexBytes(key));
    assert.equal(hex(siv.seal(hexBytes(bytes), hexBytes(data))), sealed);
    assert.equal(hex(siv.open(hexBytes(sealed), hexBytes(data))), bytes);
  }
});

const random = new SeededRandom(1);
const randomBytes = (count) => Uint8Array.from({ length: count }, () => random.below(256));

test("a seal with one bit changed does not open, whichever bit it is", () => {
  const siv = new SIV(randomBytes(64));
  const data = randomBytes(20);
  const sealed = siv.seal(randomBytes(37), data);
  for (let bit = 0; bit < 8 * sealed.length; bit += 1) {
    const changed = sealed.slice();
    changed[bit >> 3] ^= 1 << (bit & 7);
    assert.equal(siv.open(changed, data), null, `bit ${bit}`);
  }
  for (let bit = 0; bit < 8 * data.length; bit += 1) {
    const changed = data.slice();
    changed[bit >> 3] ^= 1 << (bit & 7);
    assert.equal(siv.open(sealed, changed), null, `bit ${bit} of the data`);
  }
});

test("a seal that is cut off anywhere, or longer, does not open", () => {
  const siv = new SIV(randomBytes(64));
  const data = randomBytes(3);
  const sealed = siv.seal(randomBytes(33), data);
  for (let length = 0; length < sealed.length; length += 1) {
    assert.equal(siv.open(sealed.subarray(0, length), data), null, `${length} bytes`);
  }
  assert.equal(siv.open(Uint8Array.of(...sealed, 0), data), null);
});

test("bytes of each length, with data of each length, open as they were", () => {
  const siv = new SIV(randomBytes(64));
  for (let length = 1; length < 70; length += 1) {
    const [bytes, data] = [randomBytes(length), randomBytes(69 - length)];
    const before = [hex(bytes), hex(data)];
    const sealed = siv.seal(bytes, data);
    assert.equal(sealed.length, length + SIV.overhead);
    assert.deepEqual(siv.open(sealed, data), bytes);
    assert.deepEqual([hex(bytes), hex(data)], before, "the arguments have changed");
  }
});

test("halves of a key are not exchangeable, and nothing has no seal", () => {
  const key = randomBytes(64);
  const exchanged = Uint8Array.of(...key.subarray(32), ...key.subarray(0, 32));
  const data = randomBytes(4);
  const sealed = new SIV(key).seal(randomBytes(20), data);
  assert.equal(new SIV(exchanged).open(sealed, data), null);
  assert.throws(() => new SIV(key).seal(new Uint8Array(0), data), RangeError);
  assert.throws(() => new SIV(key.subarray(1)), RangeError);
});
