import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { qrCode } from "../../../Sources/WebClient/page/qr/qrCode.js";
import { correction } from "../../../Sources/WebClient/page/qr/reedSolomon.js";

// Made with another encoder (qrcode 8 for Python), with the mask that this encoder chooses: the
// modules as one hexadecimal number, row by row.
const vectors = JSON.parse(readFileSync(new URL("qrVectors.json", import.meta.url), "utf8"));

/** Returns the modules in the format of the vectors. */
function packed(rows) {
  const bits = rows.flat().map((isDark) => (isDark ? "1" : "0")).join("");
  return bits.padEnd(Math.ceil(bits.length / 4) * 4, "0").replace(/.{4}/g, (four) =>
    Number.parseInt(four, 2).toString(16));
}

test("a code is, module by module, what another encoder draws", () => {
  assert.ok(vectors.length >= 8);
  for (const { text, size, modules } of vectors) {
    const rows = qrCode(text);
    assert.equal(rows.length, size, text);
    assert.equal(packed(rows), modules, text);
  }
});

test("the example of the standard: correcting codewords of version 1 at level M", () => {
  // ISO/IEC 18004, annex I: “01234567” in numeric mode.
  const data = [0x10, 0x20, 0x0c, 0x56, 0x61, 0x80, 0xec, 0x11, 0xec, 0x11, 0xec, 0x11, 0xec, 0x11,
    0xec, 0x11];
  assert.deepEqual(correction(data, 10),
    [0xa5, 0x24, 0xd4, 0xc1, 0xed, 0x36, 0xc7, 0x87, 0x2c, 0x55]);
});

test("a code grows with its text, up to its limit, and says where it is full", () => {
  const sizeOf = (count) => qrCode("x".repeat(count)).length;
  assert.deepEqual([14, 15, 26, 27, 42, 43, 180, 181, 213].map(sizeOf),
    [21, 25, 25, 29, 29, 33, 53, 57, 57]);
  assert.throws(() => qrCode("x".repeat(214)), RangeError);
  assert.throws(() => qrCode("ü".repeat(107)), RangeError);
});
