import assert from "node:assert/strict";
import test from "node:test";
import {
  bars, largest, linePath, linear, logarithmic, nextPower, niceCeiling, sharesOf,
} from "../../../Sources/WebClient/status/scales.js";
import {
  bytes, count, duration, few, percent, reason, span,
} from "../../../Sources/WebClient/status/format.js";

// Positions of values in pictures, and the format of figures.

test("the upper edge is a round number that nothing exceeds", () => {
  const cases = [[0, 1], [0.3, 0.5], [1, 1], [1.01, 2], [29, 50], [50, 50], [51, 100], [0.2, 0.2]];
  for (const [value, ceiling] of cases) assert.equal(niceCeiling(value), ceiling, `${value}`);
  assert.equal(nextPower(0.02), 0.1);
  assert.equal(nextPower(0.001), 0.001);
  assert.equal(largest([null, 3, null, 2]), 3);
  assert.equal(largest([]), 0);
});

test("a scale keeps to its picture", () => {
  assert.deepEqual(sharesOf([0, 5, null, 20], linear(10)), [0, 0.5, null, 1]);
  const scale = logarithmic(0.0001, 0.01);
  assert.equal(scale(0.001), 0.5);
  assert.equal(scale(0), 0);
  assert.equal(scale(7), 1);
});

test("the newest value stands at the right edge, and what is not known is a gap", () => {
  const frame = { width: 100, height: 10, places: 11 };
  assert.equal(linePath([0, 0.5, 1], frame), "M80 10L90 5L100 0");
  assert.equal(linePath([0, 0, null, 1, 1], frame), "M60 10L70 10M90 0L100 0");
  assert.equal(linePath([null, 0.5, null], frame), "M90 5h0");
  assert.equal(linePath([], frame), "");
});

test("a bar of little is still seen, and one of nothing is not", () => {
  const shapes = bars([0, 1, 1_000], { width: 30, height: 100, gap: 2, ceiling: 1_000 });
  assert.deepEqual(shapes.map((it) => it.height), [0, 1, 100]);
  assert.deepEqual(shapes[2], { x: 21, y: 0, width: 8, height: 100 });
});

test("figures are written with their unit, and no more digits than matter", () => {
  assert.deepEqual(
    [0, 0.004, 0.041, 1, 1.34, 9.96, 27.3, 1_204].map(few),
    ["0", "< 0.01", "0.04", "1", "1.3", "10", "27", "1,204"]);
  assert.deepEqual(
    [0.0000946, 0.001, 0.0214, 1.5, 10].map(duration),
    ["95 µs", "1 ms", "21 ms", "1.5 s", "10 s"]);
  assert.deepEqual(
    [0, 1_023, 1_024, 22_000_000, 2 ** 50].map(bytes),
    ["0 B", "1,023 B", "1 KiB", "21 MiB", "1,024 TiB"]);
  assert.equal(percent(0.021), "2.1 %");
  assert.deepEqual(
    [0, 14, 60, 185, 7_800, 90_000].map(span),
    ["0 s", "14 s", "1 min", "3 min 5 s", "2 h 10 min", "1 d 1 h"]);
});

test("what is not known is a dash, never 0", () => {
  for (const write of [count, few, duration, bytes, percent]) assert.equal(write(null), "–");
});

test("codes are words", () => {
  assert.deepEqual(
    ["badJSON", "connectionsPerAddress", "uriTooLong", "overloaded"].map(reason),
    ["bad JSON", "connections per address", "URI too long", "overloaded"]);
});
