import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { parse } from "../../../Sources/WebClient/json/jsonParser.js";
import { checks } from "./sealChecks.js";

// Cases of an independent implementation (seals.py beside them, run by scripts/sealing-check),
// which every language must reproduce. `sealed_stories.py` runs them in a browser.

const file = new URL("../../SealingTests/Vectors/Seals.jsonl", import.meta.url);
const vectors = readFileSync(file, "utf8").split("\n").slice(0, -1).map((line) => parse(line));

for (const [kind, count] of Object.entries(
  { keys: 4, phrase: 12, wrap: 4, unwrap: 40, x25519: 10, ring: 5, deviceKey: 2, nextKeys: 3,
    joined: 5, name: 10, record: 61, chunk: 9, open: 144 },
)) {
  test(`${kind}: each case ends as the vectors say`, () => {
    const cases = vectors.filter((vector) => vector.kind === kind);
    assert.equal(cases.length, count);
    for (const vector of cases) {
      assert.deepEqual(checks[kind](vector.case, vector.expect), vector.expect,
        vector.note ?? serialize(vector.case));
    }
  });
}

test("all kinds of cases are checked", () => {
  assert.ok(vectors.every(({ kind }) => Object.hasOwn(checks, kind)));
});
