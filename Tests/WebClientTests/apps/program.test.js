import assert from "node:assert/strict";
import test from "node:test";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { answer } from "../support/conflicts.js";
import { needsProgram, run } from "../support/program.js";
import { hostileCase } from "../support/hostileCases.js";
import { randomCase, types } from "../support/randomCases.js";

// A page resolves a conflict to the same bytes as the program on a terminal.

const kinds = { "": randomCase, "hostile ": hostileCase };
const pairs = types.flatMap((type) => Object.entries(kinds).map((kind) => [type, ...kind]));
for (const [type, kind, make] of pairs) {
  test(`lockstep resolve ends every ${kind}${type} as a page does`, needsProgram, () => {
    const cases = Array.from({ length: 3_000 }, (_, index) => make(type, index + 10_000));
    const answers = run(["resolve"], cases.map((it) => `${serialize(it)}\n`).join("")).split("\n");
    assert.equal(answers.length, cases.length + 1);
    cases.forEach((it, index) => {
      assert.equal(serialize(answer(it)), answers[index], `case ${serialize(it)}`);
    });
  });
}
