import assert from "node:assert/strict";
import test from "node:test";
import { hex } from "../../../Sources/WebClient/sealing/hex.js";
import { VersionVector } from "../../../Sources/WebClient/sealing/versionVector.js";
import { SeededRandom } from "../support/seededRandom.js";

const random = new SeededRandom(2);
const most = Number.MAX_SAFE_INTEGER;
const writerOf = (number) => number.toString(16).padStart(16, "0");
const [first, second, last] = [writerOf(1), writerOf(2), "f".repeat(16)];
const entry = (writer, number) => ({ writer, number });
const many = (count, from = 1) =>
  Array.from({ length: count }, (_, index) => entry(writerOf(index), from + index));

/** A vector of few writers and small numbers, so that two of them are often related. */
function randomVector() {
  const floor = random.pick([0, 0, 0, 1, 2]);
  return new VersionVector([first, second, last].filter(() => random.bool())
    .map((writer) => entry(writer, floor + 1 + random.below(3))), floor);
}

/** Returns the vector with a new version of the writer. */
const adding = (vector, writer, time) =>
  vector.adding({ writer, number: Math.max(time, vector.greatest + 1) });

/** Cases for laws: vectors, each after the next of random versions and joins. */
function randomFamily() {
  const family = [randomVector(), randomVector()];
  for (let count = random.below(4); count > 0; count -= 1) {
    const vector = random.pick(family);
    family.push(random.bool() ? vector.joined(random.pick(family))
      : adding(vector, random.pick([first, second, last]), random.below(6)));
  }
  return family;
}

function equal(left, right) {
  return hex(left.bytes()) === hex(right.bytes());
}

test("writers without an entry have the number of the floor", () => {
  const vector = new VersionVector([entry(first, 7), entry(last, 9)], 5);
  assert.deepEqual([first, second, last].map((writer) => vector.number(writer)), [7, 5, 9]);
  assert.equal(new VersionVector().number(first), 0);
});

test("only entries in the order of writers, with numbers above the floor, are a vector", () => {
  for (const [entries, floor] of [
    [[], -1], [[], 0.5], [[], 2 ** 53], [[], NaN], [[], "0"], [[entry(first, 0)]],
    [[entry(first, 5)], 5], [[entry(first, 5), entry(second, 6)], 5], [[entry(first, 0.5)]],
    [[entry(first, 2 ** 53)]], [[entry(first, "1")]], [[entry(first, -1)]], [[entry(first)]],
    [[entry(second, 1), entry(first, 1)]], [[entry(first, 1), entry(first, 2)]],
    [[entry("F".repeat(16), 1)]], [[entry("f".repeat(15), 1)]], [[entry(`${first}\n`, 1)]],
    [[entry(1, 1)]], [many(65)],
  ]) {
    assert.throws(() => new VersionVector(entries, floor), RangeError, `${floor}`);
  }
  assert.equal(new VersionVector(many(64)).entries.length, 64);
  assert.equal(new VersionVector([entry(last, most)], most - 1).number(first), most - 1);
});

test("a vector does not change, nor with what it was made of", () => {
  const entries = [entry(first, 1)];
  const vector = new VersionVector(entries);
  entries[0].number = 2;
  entries.push(entry(second, 1));
  assert.deepEqual(vector.entries, [entry(first, 1)]);
  assert.throws(() => { vector.floor = 1; }, TypeError);
  assert.throws(() => { vector.entries[0].number = 3; }, TypeError);
  assert.throws(() => vector.entries.push(entry(second, 1)), TypeError);
});

test("covers is a partial order", () => {
  const found = { chains: 0, equals: 0, unrelated: 0 };
  for (let count = 0; count < 20_000; count += 1) {
    const family = randomFamily();
    const [a, b, c] = [0, 1, 2].map(() => random.pick(family));
    assert.ok(a.covers(a));
    if (a.covers(b) && b.covers(a)) {
      assert.ok(equal(a, b));
      found.equals += 1;
    }
    if (!a.covers(b) && !b.covers(a)) found.unrelated += 1;
    if (a.covers(b) && b.covers(c)) {
      assert.ok(a.covers(c));
      found.chains += 1;
    }
  }
  assert.ok(Object.values(found).every((cases) => cases > 1_000), JSON.stringify(found));
});

test("covers compares the number of every writer", () => {
  for (let count = 0; count < 5_000; count += 1) {
    const [a, b] = [randomVector(), randomVector()];
    // The fourth writer has no entry in any vector.
    const isGreater = [first, second, last, writerOf(3)]
      .every((writer) => a.number(writer) >= b.number(writer));
    assert.equal(a.covers(b), isGreater);
  }
});

test("joined is the least vector that covers both, if no entry was dropped", () => {
  let bounds = 0;
  for (let count = 0; count < 20_000; count += 1) {
    const [a, b, c] = [randomVector(), randomVector(), randomVector()];
    const joined = a.joined(b);
    assert.ok(joined.covers(a) && joined.covers(b));
    assert.ok(equal(joined, b.joined(a)));
    assert.ok(equal(a.joined(a), a));
    assert.ok(equal(joined.joined(c), a.joined(b.joined(c))));
    assert.equal(equal(joined, a), a.covers(b));
    if (c.covers(a) && c.covers(b)) {
      assert.ok(c.covers(joined));
      bounds += 1;
    }
  }
  assert.ok(bounds > 500, `${bounds} bounds`);
});

test("a version with a number after the greatest is in the vector, also of 65 writers", () => {
  for (let count = 0; count < 5_000; count += 1) {
    const before = random.bool() ? randomVector()
      : new VersionVector(many(64, 2 + random.below(100)), random.below(2));
    const writer = random.pick([first, second, last, writerOf(100)]);
    const number = before.greatest + 1 + random.below(200);
    const included = [before.floor, ...before.entries.map((it) => it.number)];
    assert.equal(before.greatest, Math.max(...included));
    const after = before.adding(entry(writer, number));
    assert.ok(after.covers(before) && !before.covers(after));
    assert.equal(after.number(writer), number);
    assert.ok(after.number(writer) > after.floor);
  }
});

test("setting replaces the number of one writer alone", () => {
  const vector = new VersionVector([entry(first, 7), entry(last, 9)], 5);
  for (const [writer, number, entries] of [
    [first, 6, [entry(first, 6), entry(last, 9)]], [first, 8, [entry(first, 8), entry(last, 9)]],
    [first, 5, [entry(last, 9)]], [first, 0, [entry(last, 9)]],
    [second, 6, [entry(first, 7), entry(second, 6), entry(last, 9)]], [second, 5, vector.entries],
  ]) {
    assert.ok(equal(vector.setting(writer, number), new VersionVector(entries, 5)), `${number}`);
  }
});

test("a vector names what an entry includes, and not what the floor does", () => {
  const vector = new VersionVector([entry(first, 7), entry(last, 9)], 5);
  for (const [id, isNamed] of [
    [entry(first, 1), true], [entry(first, 7), true], [entry(first, 8), false],
    [entry(second, 1), false], [entry(second, 5), false], [entry(second, 6), false],
  ]) {
    assert.equal(vector.names(id), isNamed, `${id.writer} ${id.number}`);
  }
});

test("a version is added with any number, and one that is included changes nothing", () => {
  for (let count = 0; count < 5_000; count += 1) {
    const before = randomVector();
    const id = entry(random.pick([first, second, last, writerOf(3)]), 1 + random.below(6));
    const after = before.adding(id);
    assert.ok(after.covers(before) && after.number(id.writer) >= id.number);
    assert.equal(equal(after, before), before.number(id.writer) >= id.number);
  }
});

test("two writers that edit the same version make versions of which none covers the other", () => {
  const before = new VersionVector([entry(first, 7), entry(second, 9)]);
  const [left, right] = [adding(before, first, 3), adding(before, second, 20)];
  assert.deepEqual(left.entries, [entry(first, 10), entry(second, 9)]);
  assert.deepEqual(right.entries, [entry(first, 7), entry(second, 20)]);
  assert.ok(!left.covers(right) && !right.covers(left));
  assert.ok(adding(left.joined(right), first, 0).covers(right));
});

test("the writer with the smallest number loses its entry to the 65th", () => {
  const full = new VersionVector(many(64, 10));
  const added = adding(full, last, 0);
  assert.equal(added.floor, 10);
  assert.deepEqual(added.entries, [...many(64, 10).slice(1), entry(last, 74)]);
  assert.ok(added.covers(full));
  const unseen = new VersionVector([entry(writerOf(200), 10)]);
  assert.ok(!full.covers(unseen) && added.covers(unseen));
});

test("entries of the number at which the floor ends are dropped together", () => {
  const equals = Array.from({ length: 63 }, (_, index) => entry(writerOf(index), 5));
  const joined = new VersionVector(equals)
    .joined(new VersionVector([entry(writerOf(70), 6), entry(writerOf(71), 7)]));
  assert.equal(joined.floor, 5);
  assert.deepEqual(joined.entries, [entry(writerOf(70), 6), entry(writerOf(71), 7)]);
});

test("only the id of a version is added", () => {
  const vector = new VersionVector([entry(second, most - 1)]);
  assert.equal(vector.adding(entry(first, most)).greatest, most);
  for (const id of [entry(first, 0), entry(first, most + 1), entry(first, NaN), entry("x", 1)]) {
    assert.throws(() => vector.adding(id), RangeError);
  }
});

test("the bytes are the floor, then each writer with its number", () => {
  const vector = new VersionVector([entry("0123456789abcdef", 2 ** 32 + 1), entry(last, most)],
    258);
  assert.equal(hex(vector.bytes()), "0000000000000102" + "0123456789abcdef0000000100000001"
    + "ffffffffffffffff001fffffffffffff");
  assert.deepEqual(VersionVector.ofBytes(vector.bytes()), vector);
  assert.deepEqual(VersionVector.ofBytes(new Uint8Array(8)), new VersionVector());
  // A part of other bytes.
  const around = Uint8Array.of(9, ...vector.bytes(), 9);
  assert.deepEqual(VersionVector.ofBytes(around.subarray(1, around.length - 1)), vector);
});

test("any bytes are those of one vector, or of none", () => {
  const right = new VersionVector(
    [entry(first, 5), entry(second, 2 ** 40), entry(last, most)], 3).bytes();
  for (let length = 0; length < right.length; length += 1) {
    const vector = VersionVector.ofBytes(right.subarray(0, length));
    assert.equal(vector !== null, length % 16 === 8, `${length} bytes`);
  }
  const counts = { vectors: 0, none: 0 };
  for (let count = 0; count < 5_000; count += 1) {
    const bytes = right.slice();
    for (let change = 1 + random.below(2); change > 0; change -= 1) {
      bytes[random.below(bytes.length)] = random.pick([0, 1, 0x1f, 0x20, 0x7f, 0x80, 0xff]);
    }
    const vector = VersionVector.ofBytes(bytes);
    if (vector) assert.equal(hex(vector.bytes()), hex(bytes));
    counts[vector ? "vectors" : "none"] += 1;
  }
  assert.ok(counts.vectors > 500 && counts.none > 500, JSON.stringify(counts));
});
