import assert from "node:assert/strict";
import test from "node:test";
import { counterAdded, counterValue } from "../../../Sources/WebClient/model/counter.js";
import { MergeRules } from "../../../Sources/WebClient/model/mergeRules.js";
import { numberOf } from "../../../Sources/WebClient/json/jsonValue.js";

test("a device counts in its own part, and the value is the sum of all", () => {
  let minutes = counterAdded(undefined, "mac", 5);
  minutes = counterAdded(minutes, "phone", -2);
  minutes = counterAdded(minutes, "mac", -1);
  assert.deepEqual(minutes, { mac: [5, 1], phone: [0, 2] });
  assert.equal(counterValue(minutes), 2);
  assert.equal(counterValue(undefined), 0);
  assert.equal(counterValue({ a: [1], b: "x", c: [3, 1] }), 2);
  assert.throws(() => counterAdded(minutes, "mac", 0.5), TypeError);
});

test("parts below zero read as nothing, and fractions are rounded down, as in Swift", () => {
  assert.equal(counterValue({ a: [-1, 0], b: [2, -5], c: [1.5, 0], d: [3, 1] }), 5);
  assert.deepEqual(counterAdded({ a: [-1, 2] }, "a", 1), { a: [1, 2] });
  assert.deepEqual(counterAdded({ a: [1.5, 2] }, "a", 1), { a: [2, 2] });
});

test("an edit that sets a part which no device counts is refused; one already there stays", () => {
  const rules = MergeRules.of({ fields: { c: "counter" } });
  const faultOf = (c, held) => rules.kindFault({ c }, held ? { c: held } : null, "Todo");
  for (const c of [{ x: [-1, 0] }, { x: [1, -1] }, { x: [1.5, 0] }, { "": [1, 0] }, { x: [1] },
    { x: [numberOf("1e400"), 0] }, { x: [numberOf("9223372036854775808"), 0] }]) {
    assert.match(faultOf(c) ?? "", /\[up, down\]/, Object.keys(c)[0]);
  }
  assert.equal(faultOf({ x: [numberOf("9007199254740993"), 0], y: [0, 3] }), null);
  const held = { x: [-1, 0], "": [2, 2] };
  assert.equal(faultOf(counterAdded(held, "me", 1), held), null, "another program's parts");
  assert.match(faultOf({ ...held, x: [-2, 0] }, held) ?? "", /\[up, down\]/);
});
