import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import test from "node:test";
import { isName, uuid } from "../../../Sources/WebClient/model/name.js";
import { dateOf, dayOf } from "../../../Sources/WebClient/apps/universalTime.js";
import { byteCount, compareText, hasLoneSurrogate, prefix, scalarCount, wellFormed }
  from "../../../Sources/WebClient/json/utf8.js";
import { SeededRandom } from "../support/seededRandom.js";

test("texts are ordered and measured by the bytes of their UTF-8", () => {
  const random = new SeededRandom(7);
  const letters = ["a", "Z", "é", "e\u0301", "\u07ff", "\u0800", "电", "\ud7ff", "\ue000", "\uffee",
    "😀", "\u{10000}", "\u{10ffff}"];
  const words = Array.from({ length: 300 }, () =>
    Array.from({ length: random.below(4) }, () => random.pick(letters)).join(""));
  for (const left of words) {
    assert.equal(byteCount(left), Buffer.byteLength(left));
    assert.equal(scalarCount(left), Array.from(left).length);
    for (const right of words) {
      assert.equal(
        Math.sign(compareText(left, right)),
        Buffer.compare(Buffer.from(left), Buffer.from(right)), `${left} ${right}`);
    }
  }
});

test("a text is cut between its characters", () => {
  assert.equal(prefix("a😀é", 2), "a😀");
  assert.equal(prefix("a", 5), "a");
  assert.equal(prefix("😀", 0), "");
  assert.equal(scalarCount("😀".repeat(1_000_000), 3), 3);
});

test("half a character is seen, and mended as every encoder mends it", () => {
  assert.ok(hasLoneSurrogate("a\ud83d") && hasLoneSurrogate("\ude00\ud83d"));
  assert.ok(!hasLoneSurrogate("😀"));
  assert.equal(wellFormed("a\ud83db😀\ude00"), "a\ufffdb😀\ufffd");
});

test("a name has 1 to 255 bytes and no control characters", () => {
  for (const name of ["a", "a/b", "😀".repeat(63), "x".repeat(255), "__proto__", " "]) {
    assert.ok(isName(name), name);
  }
  for (const name of ["", "x".repeat(256), "😀".repeat(64), "a\n", "\u007f", "\u0085", "\ud83d", 5,
    null, undefined]) {
    assert.ok(!isName(name));
  }
});

test("a new record's name is a random UUID", () => {
  const random = new SeededRandom(1);
  const names = Array.from({ length: 1_000 }, () => uuid((count) => random.bytes(count)));
  assert.equal(new Set(names).size, 1_000);
  for (const name of names) {
    assert.match(name, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
  assert.equal(uuid(() => new Uint8Array(16)), "00000000-0000-4000-8000-000000000000");
  assert.throws(() => uuid(() => new Uint8Array(8)), TypeError);
});

test("a day has a number, and each number one day", () => {
  assert.equal(dayOf("1970-01-01"), 0);
  assert.equal(dayOf("2026-03-01"), Math.floor(1_772_366_400_000 / 86_400_000));
  assert.equal(dayOf("1969-12-31"), -1);
  const first = dayOf("0000-01-01");
  assert.equal(first, -719_528);
  for (let day = first; day < first + 146_097; day += 1) assert.equal(dayOf(dateOf(day)), day);
  assert.equal(dateOf(first + 146_097), "0400-01-01");
  assert.equal(dateOf(first - 1), "-0001-12-31");
});

test("what is no day of the calendar is none", () => {
  for (const text of ["", "2026", "2026-2-01", "2026-02-29", "2026-02-30", "2026-13-01",
    "2026-00-01", "2026-01-00", "2026-01-32", "+026-01-01", "2026-01-01-", "2026-01-01T",
    "²026-01-01", null, 5]) {
    assert.equal(dayOf(text), undefined);
  }
  assert.equal(dateOf(dayOf("2028-02-29")), "2028-02-29");
});
