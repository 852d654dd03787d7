import assert from "node:assert/strict";
import { test } from "node:test";
import {
  restoredVersions, storedVersions,
} from "../../../Sources/WebClient/client/replica/lineage.js";
import { base64url, base64urlBytes } from "../../../Sources/WebClient/sealing/base64url.js";
import { hex } from "../../../Sources/WebClient/sealing/hex.js";
import { RecordVersion } from "../../../Sources/WebClient/sealing/recordVersion.js";
import { VersionVector } from "../../../Sources/WebClient/sealing/versionVector.js";

const id = (writer, number) => ({ writer: writer.repeat(16), number });
const base = new RecordVersion(id("a", 7), new VersionVector([id("b", 5)], 1));
const asked = new RecordVersion(id("b", 8));
const given = [id("c", 4), id("b", 2 ** 53 - 1)];
const full =
  { base, made: base.vector, id: id("c", 2 ** 53 - 1), given, asked, isMerge: false };

const storedBytes = (lineage) => base64urlBytes(storedVersions({ lineage }).lineage);
const restored = (bytes) => restoredVersions({ lineage: base64url(bytes) }).lineage;

test("a lineage is stored in five parts, each behind its length", () => {
  const length = (parts) => parts.map((part) => part.length.toString(16).padStart(4, "0"));
  const idOf = (version) => version.bytes().subarray(0, 16);
  const parts = [base.bytes(), base.made.bytes(), idOf(base),
    Uint8Array.of(...idOf(asked), ...idOf(base)), asked.bytes()];
  const lineage = { ...full, id: base.id, made: base.made, given: [asked.id, base.id] };
  assert.equal(hex(storedBytes(lineage)),
    length(parts).map((text, at) => text + hex(parts[at])).join(""));
  const none =
    { base: null, made: new VersionVector(), id: null, given: [], asked: null, isMerge: false };
  const bytesOfNone = "0000" + "0008" + "00".repeat(8) + "0000".repeat(3);
  assert.equal(hex(storedBytes(none)), bytesOfNone);
  assert.deepEqual(restored(storedBytes(none)), none);
  const merge = { ...none, isMerge: true };
  assert.equal(hex(storedBytes(merge)), `${bytesOfNone}0000`);
  assert.deepEqual(restored(storedBytes(merge)), merge);
});

test("any part of a lineage may be missing but the vector", () => {
  for (const missing of [[], ["base"], ["id"], ["asked"], ["base", "id", "asked"]]) {
    const nulls = Object.fromEntries(missing.map((name) => [name, null]));
    for (const ids of [[], given]) {
      for (const isMerge of [true, false]) {
        const lineage = { ...full, ...nulls, given: ids, isMerge };
        assert.deepEqual(restored(storedBytes(lineage)), lineage);
      }
    }
  }
});

test("a lineage that is cut off, or has bytes behind it, is not readable", () => {
  const bytes = storedBytes(full);
  for (let length = 1; length < bytes.length; length += 1) {
    assert.throws(() => restored(bytes.subarray(0, length)), RangeError, `${length} bytes`);
  }
  for (const more of [[0], [0, 1], [0, 1, 0], [0, 0, 0], [0, 0, 0, 0]]) {
    assert.throws(() => restored(Uint8Array.of(...bytes, ...more)), RangeError, `${more}`);
  }
});

test("a lineage with an id that cannot be made on its vector is not readable", () => {
  const lineage = { ...full, id: base.id };
  assert.throws(() => restored(storedBytes(lineage)), RangeError);
});

test("a lineage with a given id that is none is not readable", () => {
  const lineage = { ...full, given: [id("c", 4), id("b", 0)] };
  assert.throws(() => restored(storedBytes(lineage)), RangeError);
  const one = { base: null, made: full.made, id: null, given: [id("c", 4)], asked: null };
  const bytes = [...storedBytes(one)];
  // Cuts the last byte off the given id, which is before the two bytes of no asked version.
  bytes.splice(-3, 1);
  bytes[bytes.length - 18] = 15;
  assert.throws(() => restored(Uint8Array.from(bytes)), RangeError);
});

test("what is no text is not readable", () => {
  for (const lineage of [{}, 1, "=", "A"]) {
    assert.throws(() => restoredVersions({ lineage }), RangeError);
    assert.throws(() => restoredVersions({ version: lineage }), RangeError);
  }
});
