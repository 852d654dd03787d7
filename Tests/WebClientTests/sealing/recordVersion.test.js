import assert from "node:assert/strict";
import test from "node:test";
import { hex } from "../../../Sources/WebClient/sealing/hex.js";
import { RecordVersion } from "../../../Sources/WebClient/sealing/recordVersion.js";
import { VersionVector } from "../../../Sources/WebClient/sealing/versionVector.js";
import { SeededRandom } from "../support/seededRandom.js";

const random = new SeededRandom(3);
const most = Number.MAX_SAFE_INTEGER;
const writerOf = (number) => number.toString(16).padStart(16, "0");
const [first, second, third, last] = [writerOf(1), writerOf(2), writerOf(3), "f".repeat(16)];
const id = (writer, number) => ({ writer, number });
const nothing = new VersionVector();

/** Returns the version that a writer makes on all of these. */
function versionOn(writer, ...versions) {
  const made = versions.reduce((joined, { vector }) => joined.joined(vector), nothing);
  return new RecordVersion(id(writer, made.greatest + 1 + random.below(3)), made);
}

/**
 * Versions of one record as writers make them: each on one or two of those before it. Every writer
 * includes all of its own, as it must. `ancestors`: all that a version was made on, and itself.
 */
function randomHistory(writers, count) {
  const newest = new Map();
  const ancestors = new Map();
  for (let made = 0; made < count; made += 1) {
    const writer = random.pick(writers);
    const others = [...ancestors.keys()].filter(() => random.chance(1.5 / (made + 1)));
    const versions = [...new Set([...newest.has(writer) ? [newest.get(writer)] : [], ...others])];
    const version = versionOn(writer, ...versions);
    newest.set(writer, version);
    ancestors.set(version,
      new Set([version, ...versions.flatMap((it) => [...ancestors.get(it)])]));
  }
  return ancestors;
}

/** Any version that is valid, of few writers and small numbers; often not one of a history. */
function randomVersion() {
  const floor = random.pick([0, 0, 0, 1, 2]);
  const writers = [first, second, last];
  const made = new VersionVector(writers.filter(() => random.bool())
    .map((writer) => id(writer, floor + 1 + random.below(2))), floor);
  const writer = random.pick(writers);
  return new RecordVersion(id(writer, made.number(writer) + 1 + random.below(2)), made);
}

test("a version includes exactly those that it was made on, and itself", () => {
  const found = { included: 0, apart: 0 };
  for (let count = 0; count < 500; count += 1) {
    const ancestors = randomHistory([first, second, third, last], 2 + random.below(8));
    for (const [a, known] of ancestors) {
      for (const b of ancestors.keys()) {
        assert.equal(a.includes(b), known.has(b));
        if (a !== b) found[known.has(b) ? "included" : "apart"] += 1;
      }
    }
  }
  assert.ok(Object.values(found).every((cases) => cases > 3_000), JSON.stringify(found));
});

test("includes is a partial order, of any valid versions", () => {
  const found = { chains: 0, equals: 0, unrelated: 0 };
  const histories = () => {
    if (random.bool()) return [randomVersion(), randomVersion(), randomVersion()];
    const versions = [...randomHistory([first, second, last], 5).keys()];
    return [0, 1, 2].map(() => random.pick(versions));
  };
  for (let count = 0; count < 20_000; count += 1) {
    const [a, b, c] = histories();
    assert.ok(a.includes(a));
    if (a.includes(b) && b.includes(a)) {
      assert.ok(a.isSame(b) && hex(a.bytes()) === hex(b.bytes()));
      found.equals += 1;
    }
    if (!a.includes(b) && !b.includes(a)) found.unrelated += 1;
    if (a.includes(b) && b.includes(c)) {
      assert.ok(a.includes(c));
      found.chains += 1;
    }
  }
  assert.ok(Object.values(found).every((cases) => cases > 500), JSON.stringify(found));
});

test("of more than 64 writers, a version still includes all that it was made on", () => {
  const writers = Array.from({ length: 100 }, (_, index) => writerOf(index));
  for (let count = 0; count < 5; count += 1) {
    const ancestors = [...randomHistory(writers, 150)];
    for (const [a, known] of ancestors) {
      for (const b of known) assert.ok(a.includes(b));
      for (const [b] of ancestors) {
        if (a !== b) assert.ok(!(a.includes(b) && b.includes(a)));
      }
    }
  }
});

test("a second version of one writer on the same base includes neither, nor is included", () => {
  const base = versionOn(first, versionOn(second));
  const left = new RecordVersion(id(first, base.id.number + 5), base.vector);
  // The writer had forgotten its version, or was copied.
  for (const [number, made] of [
    [left.id.number + 1, base.vector], [left.id.number + 100, base.vector],
    [left.id.number, base.vector.adding(id(last, 1))],
  ]) {
    const right = new RecordVersion(id(first, number), made);
    assert.ok(!left.includes(right) && !right.includes(left), `${number}`);
    assert.ok(left.includes(base) && right.includes(base));
    const merged = versionOn(second, left, right);
    assert.ok(merged.includes(left) && merged.includes(right));
  }
  const next = versionOn(first, left);
  assert.ok(next.includes(left) && !left.includes(next));
});

test("the same identity on other versions is another version", () => {
  const base = versionOn(first);
  const left = new RecordVersion(id(second, 99), base.vector);
  const right = new RecordVersion(id(second, 99), nothing);
  assert.ok(!left.isSame(right) && !left.includes(right) && !right.includes(left));
  const again = new RecordVersion({ ...left.id }, new VersionVector(left.made.entries));
  assert.ok(left.isSame(again) && left.includes(again));
});

test("the vector is what the version was made on, and itself", () => {
  const made = new VersionVector([id(first, 7), id(last, 9)], 5);
  const version = new RecordVersion(id(first, 8), made);
  assert.deepEqual(version.made, made);
  assert.deepEqual(version.vector, new VersionVector([id(first, 8), id(last, 9)], 5));
  assert.deepEqual(new RecordVersion(id(second, 6), made).vector.entries,
    [id(first, 7), id(second, 6), id(last, 9)]);
  assert.deepEqual(new RecordVersion(id(second, 1)).vector, new VersionVector([id(second, 1)]));
});

test("a number must be after that of its writer, and one that JavaScript has", () => {
  const made = new VersionVector([id(first, 7)], 5);
  for (const [identity, on] of [
    [id(first, 7), made], [id(first, 6), made], [id(second, 5), made], [id(second, 1), made],
    [id(first, 0)], [id(first, -1)], [id(first, most + 1)], [id(first, 0.5)], [id(first, NaN)],
    [id(first, "1")], [id(first)], [id("f", 1)], [id(`${first}\n`, 1)], [id("F".repeat(16), 1)],
    [id(undefined, 1)], [id(first, 1), null], [id(first, 1), { entries: [], floor: 0 }],
    [id(first, most), new VersionVector([id(first, most)])],
    [id(first, most), new VersionVector([], most)],
  ]) {
    assert.throws(() => new RecordVersion(identity, on), RangeError, JSON.stringify(identity));
  }
  assert.equal(new RecordVersion(id(second, 6), made).id.number, 6);
  assert.equal(new RecordVersion(id(first, most), new VersionVector([id(last, most)])).id.number,
    most);
});

test("a version does not change, nor with what it was made of", () => {
  const identity = id(first, 1);
  const version = new RecordVersion(identity);
  identity.number = 2;
  assert.deepEqual(version.id, id(first, 1));
  assert.throws(() => { version.id.number = 3; }, TypeError);
  assert.throws(() => { version.made = nothing; }, TypeError);
});

test("the bytes are the writer and the number, then the vector of what it was made on", () => {
  const version = new RecordVersion(id("0123456789abcdef", 2 ** 32 + 2),
    new VersionVector([id("0123456789abcdef", 2 ** 32 + 1), id(last, most)], 258));
  assert.equal(hex(version.bytes()), "0123456789abcdef0000000100000002" + "0000000000000102"
    + "0123456789abcdef0000000100000001" + "ffffffffffffffff001fffffffffffff");
  assert.deepEqual(RecordVersion.ofBytes(version.bytes()), version);
  const alone = new RecordVersion(id(last, most));
  assert.equal(hex(alone.bytes()), "ffffffffffffffff001fffffffffffff0000000000000000");
  assert.deepEqual(RecordVersion.ofBytes(alone.bytes()), alone);
  // A part of other bytes.
  const around = Uint8Array.of(9, ...version.bytes(), 9);
  assert.deepEqual(RecordVersion.ofBytes(around.subarray(1, around.length - 1)), version);
});

test("any bytes are those of one version, or of none", () => {
  const right = new RecordVersion(id(first, 6),
    new VersionVector([id(first, 5), id(last, most)], 3)).bytes();
  for (let length = 0; length < right.length; length += 1) {
    const isCut = length < 24 || length % 16 !== 8;
    assert.equal(RecordVersion.ofBytes(right.subarray(0, length)) === null, isCut, `${length}`);
  }
  const counts = { versions: 0, none: 0 };
  for (let count = 0; count < 5_000; count += 1) {
    const bytes = right.slice();
    for (let change = 1 + random.below(2); change > 0; change -= 1) {
      bytes[random.below(bytes.length)] = random.pick([0, 1, 0x1f, 0x20, 0x7f, 0x80, 0xff]);
    }
    const version = RecordVersion.ofBytes(bytes);
    if (version) assert.equal(hex(version.bytes()), hex(bytes));
    counts[version ? "versions" : "none"] += 1;
  }
  assert.ok(counts.versions > 500 && counts.none > 500, JSON.stringify(counts));
});
