import assert from "node:assert/strict";
import test from "node:test";
import { greaterNumber, greaterNumbers, isNewer, setMerge, union, wholeNumber }
  from "../../../Sources/WebClient/model/mergeParts.js";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { parse } from "../../../Sources/WebClient/json/jsonParser.js";
import { version } from "../support/conflicts.js";

test("numbers are rounded down and kept within bounds that 64 bits hold", () => {
  const bound = 2n ** 60n;
  const cases = [
    ["0", 0n], ["-7", -7n], ["1.5", 1n], ["-1.5", -2n], ["1500.0", 1500n], ["1.5e3", 1500n],
    ["1e-400", 0n], ["-1e-400", 0n], ["9007199254740993", 9007199254740993n], ["1e400", bound],
    ["9223372036854775807", bound], ["1e19", bound], ["-1e400", -bound],
    ["-9223372036854775808", -bound], ["null", undefined], ["true", undefined],
    ['"1"', undefined], ["[1]", undefined], ["{}", undefined],
  ];
  for (const [written, whole] of cases) assert.equal(wholeNumber(parse(written)), whole, written);
});

test("of what only grows the greater stays, and what is no number counts for nothing", () => {
  const big = parse("[9007199254740993, 9007199254740992]");
  assert.equal(serialize(greaterNumber(big[1], big[0])), "9007199254740993");
  assert.equal(greaterNumber(1.5, 1), 1.5);
  assert.equal(greaterNumber(-1, undefined), -1);
  assert.equal(greaterNumber(undefined, -1), -1);
  assert.equal(greaterNumber("7", 1), 1);
  assert.equal(greaterNumber(0, null), 0);
  assert.equal(greaterNumber("7", null), undefined);
  const newer = { a: 1, b: 5, x: "new" };
  assert.deepEqual(
    greaterNumbers(newer, { a: 3, c: 2, x: "old", y: "old" }),
    { a: 3, b: 5, c: 2, x: "new", y: "old" });
  assert.deepEqual(greaterNumbers(newer, "none"), newer);
  assert.equal(greaterNumbers(undefined, 5), undefined);
});

test("the later stamp is newer, then the device of greater bytes, then the content", () => {
  const at = (stamp, by, fields = {}) => version(fields, { at: stamp, by });
  // "z" is 0x7A; "é" begins with 0xC3, "电" with 0xE7, U+FFEE with 0xEF, "😀" with 0xF0.
  const ascending = [
    at(0, "z"), at(1, "Mac", null), at(1, "Mac", { a: 1 }), at(1, "Mac", { a: 2 }), at(1, "mac"),
    at(1, "z"), at(1, "é"), at(1, "电脑"), at(1, "\uffee"), at(1, "😀"), at(2, "a"),
  ];
  ascending.forEach((one, index) => ascending.forEach((other, place) => {
    assert.equal(isNewer(one, other), index > place);
  }));
  // Neighbours beyond 2⁵³ are still distinguished.
  const [early, late] = parse("[9007199254740992, 9007199254740993]");
  assert.ok(isNewer(at(late, "a"), at(early, "z")));
  assert.throws(() => isNewer(at(1.5, "a"), at(1, "a")), TypeError);
});

test("a set keeps what both have or one side added, and lets go what one side removed", () => {
  const merge = (base, newer, older) => setMerge([...base], [...newer], [...older], (it) => it);
  const cases = [
    ["ab", "ab", "ab", "ab"], ["", "a", "a", "a"], ["a", "ab", "ac", "abc"], ["", "b", "c", "bc"],
    ["ab", "a", "ab", "a"], ["a", "b", "a", "b"], ["ab", "a", "b", ""], ["", "aab", "bb", "ab"],
  ];
  for (const [base, newer, older, kept] of cases) {
    assert.equal(merge(base, newer, older).join(""), kept);
  }
  assert.deepEqual(union([..."ba"], [..."ac"], (it) => it), ["b", "a", "c"]);
  assert.deepEqual(
    setMerge([], ["Tea"], ["tea", "milk"], (it) => it.toLowerCase()), ["Tea", "milk"]);
});
