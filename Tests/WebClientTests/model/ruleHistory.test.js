import assert from "node:assert/strict";
import test from "node:test";
import { RuleHistory } from "../support/ruleHistory.js";

const [first, count] = [Number(process.env.SEED ?? 1), Number(process.env.SEEDS ?? 3_000)];

test("every field ends as the whole history demands, in whatever order versions arrive", () => {
  for (let seed = first; seed < first + count; seed += 1) {
    assert.doesNotThrow(() => RuleHistory.play(seed), `history ${seed}`);
  }
});
