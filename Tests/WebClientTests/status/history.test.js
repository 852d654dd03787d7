import assert from "node:assert/strict";
import test from "node:test";
import {
  bucketsOf, growth, placeOf, quantileOf,
} from "../../../Sources/WebClient/status/histogram.js";
import { History } from "../../../Sources/WebClient/status/history.js";

// Rates and quantiles of a relay that runs, does not answer for a while, and is restarted.

const read = (figures) => figures.saves;

function historyOf(values, capacity = 100) {
  const history = new History(capacity);
  values.forEach((saves, second) => history.add(second, saves === null ? null : { saves }));
  return history;
}

test("a rate is what a counter grew by in the seconds that were seen", () => {
  assert.equal(historyOf([100, 110, 120, 150]).rate(10, read), 50 / 3);
  assert.equal(historyOf([100, 110, 120, 150]).rate(1, read), 30);
});

test("one look at a counter tells no rate", () => {
  assert.equal(historyOf([100]).rate(10, read), null);
  assert.equal(historyOf([]).rate(10, read), null);
  assert.equal(historyOf([100, 110, null]).rate(10, read), null);
});

test("a relay that was started again counts from nothing, and no rate is negative", () => {
  assert.equal(historyOf([1_000, 1_010, 4, 6]).increase(10, read), 16);
});

test("nothing is reckoned across a silence", () => {
  assert.equal(historyOf([0, 10, null, 500]).rate(10, read), null);
  assert.equal(historyOf([0, 10, null, 500, 520]).rate(10, read), 20);
});

test("a figure that the relay does not tell has no rate", () => {
  const history = new History(10);
  history.add(0, { saves: null });
  history.add(1, { saves: null });
  assert.equal(history.rate(10, read), null);
});

test("old samples go, so a page that stays open for days does not grow", () => {
  const history = historyOf(Array.from({ length: 1_000 }, (_, second) => second * 2), 60);
  assert.equal(history.samples.length, 60);
  assert.equal(history.rate(1_000, read), 2);
});

const histogram = (...cumulative) => ({ bounds: [1, 2, 4, Infinity], cumulative, sum: 0 });

test("what came into a histogram is the difference, also over a restart", () => {
  assert.deepEqual(
    growth([histogram(1, 1, 1, 1), histogram(1, 3, 4, 5)]).cumulative, [0, 2, 3, 4]);
  assert.deepEqual(
    growth([histogram(5, 5, 5, 9), histogram(6, 6, 6, 10), histogram(0, 1, 1, 2)]).cumulative,
    [1, 2, 2, 3]);
});

test("buckets of others, as an upgraded relay has, are left out", () => {
  const older = { bounds: [1, Infinity], cumulative: [3, 3], sum: 0 };
  const later = growth([older, histogram(1, 1, 1, 1), histogram(1, 2, 2, 2)]);
  assert.deepEqual(later.cumulative, [1, 2, 2, 2]);
});

test("a quantile lies within its bucket, as Prometheus reckons it", () => {
  // `promtool test rules`, with the same buckets, computes the same: histogram_quantile(0.5, …) =
  // 1.5.
  assert.equal(quantileOf(histogram(2, 6, 8, 8), 0.5), 1.5);
  assert.equal(quantileOf(histogram(2, 6, 8, 8), 1), 4);
  assert.equal(quantileOf(histogram(4, 4, 4, 4), 0.5), 0.5);
});

test("above the last bound, no more is claimed than the bound", () => {
  assert.equal(quantileOf(histogram(0, 0, 0, 7), 0.99), 4);
});

test("without values there is no quantile", () => {
  assert.equal(quantileOf(histogram(0, 0, 0, 0), 0.5), null);
});

test("a value has its place among the bars", () => {
  assert.deepEqual(bucketsOf(histogram(2, 6, 8, 8)), [2, 4, 2, 0]);
  assert.equal(placeOf(histogram(), 0.5), 0.5);
  assert.equal(placeOf(histogram(), 3), 2.5);
  assert.equal(placeOf(histogram(), 4), 3);
  assert.equal(placeOf(histogram(), 99), 3);
});
