import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { parse } from "../../../Sources/WebClient/json/jsonParser.js";
import { MergeRules } from "../../../Sources/WebClient/model/mergeRules.js";
import { ruleResolver } from "../../../Sources/WebClient/model/ruleResolver.js";
import { exchanged, form } from "../support/conflicts.js";

// Cases of merge rules as data, and the outcomes that every language must reproduce.

const file = new URL("../../ModelTests/Vectors/Rules.jsonl", import.meta.url);
const lines = readFileSync(file, "utf8").trim().split("\n");

const answer = ({ rules, base, local, server }) =>
  serialize(form(ruleResolver(MergeRules.of(rules)).resolve({ base, local, server })));

test("every case ends as the vectors say, either way round", () => {
  assert.equal(lines.length, 300);
  lines.forEach((line, index) => {
    const vector = parse(line);
    const expected = serialize(vector.expect);
    const before = serialize(vector.case);
    assert.equal(answer(vector.case), expected, `line ${index + 1}`);
    assert.equal(answer(exchanged(vector.case)), expected, `line ${index + 1} exchanged`);
    assert.equal(serialize(vector.case), before, `line ${index + 1}: the case has changed`);
  });
});
