import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutStamps } from "../../../Sources/WebClient/model/stamps.js";
import { act, World } from "./support/world.js";

const seeds = Number(process.env.SEEDS ?? 150);
const firstSeed = Number(process.env.SEED ?? 1);

/** Lets persons act on three devices under all kinds of faults; then the faults stop, and all
 * devices must recover. */
function play(seed, options) {
  const world = new World(seed, options);
  const { random, relay, lines } = world;
  const hasRestores = seed % 2 === 0;
  let backup = relay.copy();
  let disk = backup;
  for (let number = 0; number < 60; number += 1) {
    world.at(number * 60 + random.below(60), () => {
      const line = random.pick(lines);
      const what = random.below(20);
      if (what < 4) line.connect();
      else if (what === 4) line.cut();
      else if (what === 5) line.crash();
      else if (what === 6) backup = relay.copy();
      else if (what === 7 && hasRestores && random.chance(0.5)) {
        for (const other of lines) other.cut();
        disk = backup;
        relay.putBack(backup, `${(seed % 4_096).toString(16)}${number.toString(16)}f`);
      } else if (what === 9) disk = relay.copy();
      else if (what === 10 && hasRestores && disk.generation === relay.generation
        && random.chance(0.5)) {
        for (const other of lines) other.cut();
        // What came after this copy was on a disk that is gone.
        backup = disk;
        relay.rollBack(disk);
      } else if (what === 8 && random.chance(0.3)) relay.forgetTombstones();
      else act(world, line, number);
    });
  }
  world.run(world.time + 5_000);
  world.isCalm = true;
  for (let rounds = 0; rounds < 3; rounds += 1) {
    for (const line of lines) line.cut();
    for (const line of lines) line.connect();
    world.run(world.time + 60_000);
  }
  return { ...world, hasRestores, relay, lines };
}

function check({ relay, lines, made, taken, solos, lastSolos, hasRestores }) {
  // A device adds the stamps that a record lacks if it was deleted and made again at once.
  const shown = (records) => records
    .map(({ name, type, fields, modifiedAt, tag }) =>
      ({ name, type, fields: withoutStamps(fields), modifiedAt, tag }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const { device, engine } of lines) {
    assert.ok(engine.isInSync, `${device.id} is in sync`);
    assert.equal(device.summary.unsent, 0);
    assert.deepEqual(shown(device.live), shown(relay.live), `${device.id} has what the relay has`);
    const onDisk = [...device.disk.records.values()].map((row) => row.record);
    assert.deepEqual(shown(onDisk.filter((record) => !record.deleted)), shown(device.live));
  }
  if (!hasRestores) assert.equal(solos, 0, "nobody is at odds with himself");
  for (const [name, fields] of lastSolos) {
    const found = relay.live.find((record) => record.name === name)?.fields ?? null;
    // A deleted record may come back with a restored relay.
    if (fields || !hasRestores) assert.deepEqual(found, fields, name);
  }
  const present = new Set(relay.live.flatMap(({ fields }) => fields.items ?? [fields.text]));
  for (const word of made.keys()) {
    assert.ok(present.has(word) || taken.has(word), `${word} is not lost`);
  }
}

test(`${seeds} worlds of cuts, crashes and restores: all end alike, and nothing is lost`, () => {
  let conflicts = 0;
  for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
    const world = play(seed);
    try {
      check(world);
    } catch (error) {
      error.message = `seed ${seed}: ${error.message}`;
      throw error;
    }
    conflicts += world.lines.reduce((sum, line) => sum + line.conflicts, 0);
  }
  assert.ok(conflicts > seeds, "there was something to resolve");
});

for (const name of ["forgetsLosses", "losesAnswers"]) {
  test(`a device that is broken on purpose (${name}) is found`, () => {
    const isFound = (seed) => {
      try {
        check(play(seed, { breaks: { [name]: true } }));
        return false;
      } catch {
        return true;
      }
    };
    assert.ok(Array.from({ length: 60 }, (_, seed) => seed + 1).some(isFound));
  });
}
