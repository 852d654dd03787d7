import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { resolverFor } from "../../../Sources/Pages/apps/catalog.js";
import { serialize } from "../../../Sources/Pages/changes/json.js";
import { parse } from "../../../Sources/Pages/changes/jsonParser.js";
import { answer, exchanged } from "../support/conflicts.js";

// The cases with their answers that any program which resolves Lockstep's conflicts must give.

const folder = new URL("../../AppsTests/Vectors/", import.meta.url);
const types = readdirSync(folder).map((file) => file.replace(".jsonl", ""));

for (const type of types.filter((type) => type !== "VaultFile")) {
  test(`every ${type} ends as the vectors say, either way round`, () => {
    const lines = readFileSync(new URL(`${type}.jsonl`, folder), "utf8").trim().split("\n");
    assert.equal(lines.length, 60);
    lines.forEach((line, index) => {
      const vector = parse(line);
      const expected = serialize(vector.expect);
      assert.equal(vector.case.type, type);
      assert.equal(serialize(answer(vector.case)), expected, `line ${index + 1}`);
      assert.equal(
        serialize(answer(exchanged(vector.case))), expected, `line ${index + 1} exchanged`);
    });
  });
}

test("the vault's files are the one thing a page has no rule for", () => {
  assert.deepEqual(types.filter((type) => !resolverFor(type)), ["VaultFile"]);
});
