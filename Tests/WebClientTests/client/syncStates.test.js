import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { SeededRandom } from "../support/seededRandom.js";
import { EngineWalk } from "./support/engineWalk.js";

// The table of the sync engine's states, which also holds the devices' engine in Swift
// (Tests/ClientTests/SyncStatesTests.swift).

const rows = JSON.parse(readFileSync(new URL("syncStates.json", import.meta.url), "utf8"))
  .filter(({ only }) => only !== "swift");

test("an engine follows the table", () => {
  const found = new Set();
  for (let seed = 1; seed <= 2_000; seed += 1) {
    const walk = new EngineWalk(new SeededRandom(seed), (transition) => found.add(transition));
    for (let count = 0; count < 1_000; count += 1) walk.step();
  }
  const table = rows.flatMap(({ machine, from, to, events }) =>
    events.map((event) => `${machine} ${from} ${to} ${event}`));
  assert.deepEqual([...found].sort(), table.sort());
});
