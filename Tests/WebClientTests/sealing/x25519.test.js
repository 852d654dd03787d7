import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey, diffieHellman } from "node:crypto";
import { test } from "node:test";
import { hex, hexBytes } from "../../../Sources/WebClient/sealing/hex.js";
import { x25519PublicKey, x25519Secret } from "../../../Sources/WebClient/sealing/x25519.js";
import { SeededRandom } from "../support/seededRandom.js";

const secret = (key, other) => {
  const result = x25519Secret(hexBytes(key), hexBytes(other));
  return result && hex(result);
};

test("the products of RFC 7748 section 5.2", () => {
  assert.equal(secret("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
    "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c"),
  "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
  assert.equal(secret("4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
    "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493"),
  "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957");
});

test("the first 1,000 iterations of RFC 7748 section 5.2", () => {
  let key = hexBytes(`09${"00".repeat(31)}`);
  let point = key;
  const results = [];
  for (let count = 1; count <= 1_000; count += 1) {
    [key, point] = [x25519Secret(key, point), key];
    if (count === 1 || count === 1_000) results.push(hex(key));
  }
  assert.deepEqual(results, ["422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079",
    "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"]);
});

test("the exchange of RFC 7748 section 6.1, as Bob computes it", () => {
  const own = "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb";
  assert.equal(hex(x25519PublicKey(hexBytes(own))),
    "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
  assert.equal(secret(own, "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"),
    "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
});

test("random keys, as OpenSSL computes them", () => {
  const random = new SeededRandom(3);
  const der = (prefix, bytes) => Buffer.concat([Buffer.from(prefix, "hex"), bytes]);
  for (let count = 0; count < 20; count += 1) {
    const [own, point] = [random.bytes(32), random.bytes(32)];
    const privateKey = createPrivateKey(
      { key: der("302e020100300506032b656e04220420", own), format: "der", type: "pkcs8" });
    const publicKey = createPublicKey(
      { key: der("302a300506032b656e032100", point), format: "der", type: "spki" });
    const expected = diffieHellman({ privateKey, publicKey }).toString("hex");
    assert.equal(hex(x25519Secret(own, point)), expected);
  }
});

test("numbers from the modulus on are reduced", () => {
  const key = "05".repeat(32);
  const of = (first, last) => `${first}${"ff".repeat(30)}${last}`;
  for (const [great, small] of [[of("f6", "7f"), `09${"00".repeat(31)}`],
    [of("f6", "ff"), `09${"00".repeat(31)}`], [of("ff", "7f"), `12${"00".repeat(31)}`]]) {
    assert.equal(secret(key, great), secret(key, small));
  }
});

test("a key that gives a secret that everybody knows is none, nor is one of another length", () => {
  const weak = ["00".repeat(32), `01${"00".repeat(31)}`, `ec${"ff".repeat(30)}7f`,
    `ed${"ff".repeat(30)}7f`, `ee${"ff".repeat(30)}7f`,
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"];
  for (const point of [...weak, "", "09", "09".repeat(33)]) {
    assert.equal(secret("07".repeat(32), point), null, point);
  }
});
