import assert from "node:assert/strict";
import test from "node:test";
import { counterAdded, counterValue } from "../../../Sources/WebClient/model/counter.js";

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
