import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { resolverFor } from "../../../Sources/WebClient/apps/appCatalog.js";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { parse } from "../../../Sources/WebClient/json/jsonParser.js";
import { answer, exchanged, unstamped } from "../support/conflicts.js";

// Test vectors with their answers, for any program that resolves Lockstep's conflicts. They were
// written before some of the rules kept stamps, so stamps are not compared.

const folder = new URL("../../AppsTests/Vectors/", import.meta.url);
const files = readdirSync(folder).filter((file) => file.endsWith(".jsonl"))
  .map((file) => file.replace(".jsonl", ""));
/** Timer cases with edits made by time, and items with pins, are in separate files. */
const typeIn = (file) =>
  ({ TimerStateActs: "TimerState", ClipboardPins: "ClipboardItem" }[file] ?? file);
const counts = { Settings: 59, ClipboardPins: 12 };
const types = [...new Set(files.map(typeIn))];

for (const file of files) {
  test(`every case of ${file} ends as the vectors say, either way round`, () => {
    const type = typeIn(file);
    const lines = readFileSync(new URL(`${file}.jsonl`, folder), "utf8").trim().split("\n");
    assert.equal(lines.length, counts[file] ?? 60);
    lines.forEach((line, index) => {
      const vector = parse(line);
      const expected = serialize(vector.expect);
      assert.equal(vector.case.type, type);
      assert.equal(serialize(unstamped(answer(vector.case))), expected, `line ${index + 1}`);
      assert.equal(
        serialize(unstamped(answer(exchanged(vector.case)))), expected,
        `line ${index + 1} exchanged`);
    });
  });
}

test("the page has a rule for every type", () => {
  assert.deepEqual(types.filter((type) => !resolverFor(type)), []);
});
