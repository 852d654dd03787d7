import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import test from "node:test";
import { afterZero } from "../../../Sources/WebClient/apps/timer/timerMachine.js";
import { TimerState } from "../../../Sources/WebClient/apps/timer/timerModel.js";
import { timerResolver } from "../../../Sources/WebClient/apps/timer/timerResolver.js";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { edit, timer, version } from "../support/conflicts.js";
import { randomEdit } from "../support/randomCases.js";
import { SeededRandom } from "../support/seededRandom.js";
import { SharedRecord, permutations } from "../support/sharedRecord.js";

// The outcome depends only on the set of concurrent edits, not on their order of arrival.

/**
 * Returns the edits to keep of a set in which no edit was made on another: a second, plain
 * implementation of the rule.
 */
function demanded(edits) {
  const distinct = [...new Map(edits.map((it) => [serialize(it), it])).values()];
  const actedAt = (it) => (it.act ?? it).timestamp;
  const newest = Math.max(...distinct.map(actedAt));
  const kept = distinct.filter((it) => newest - actedAt(it) <= 5_000);
  const instant = Math.max(...kept.map((it) => it.timestamp));
  const states = ["focus", "breakTime", "snooze", "idle"];
  const left = (it) => {
    if (it.stateType === "idle") return 0;
    return Math.max(0, it.remaining - (it.isPaused ? 0 : instant - it.timestamp));
  };
  return kept.sort((one, other) =>
    states.indexOf(one.stateType) - states.indexOf(other.stateType) ||
    left(one) - left(other) || actedAt(other) - actedAt(one) ||
    Buffer.compare(Buffer.from(other.deviceID), Buffer.from(one.deviceID)));
}

for (const devices of [2, 3, 4]) {
  test(`every order in which ${devices} devices arrive ends alike`, () => {
    const orders = permutations(Array.from({ length: devices }, (_, device) => device));
    for (let seed = 1; seed <= 300; seed += 1) {
      const random = new SeededRandom(seed);
      const names = random.shuffled(["device 0", "device 1", "电脑", "\uffee"].slice(0, devices));
      const first = version(
        timer(0, randomEdit("mac", 0, random), randomEdit("iphone", 9, random)));
      const edits = names.map((name) => randomEdit(name, 10 + random.below(9_000), random));
      const done = names.map(() => random.below(3));
      for (const order of orders) {
        const record = new SharedRecord(first, timerResolver, devices);
        edits.forEach((it, device) => {
          const fields = timer(done[device], it);
          record.edit(device, version(fields, { at: it.timestamp, by: names[device] }));
        });
        for (const device of order) {
          record.fetch(device);
          record.save(device);
        }
        const { fields } = record.server;
        assert.deepEqual(fields.edits, demanded(edits), `seed ${seed}, order ${order}`);
        assert.equal(fields.completedPomodoros, Math.max(...done));
      }
    }
  });
}

test("every schedule of four people ends as the whole set demands, and all screens agree", () => {
  let compared = 0;
  for (let seed = 1; seed <= 2_000; seed += 1) {
    const people = new People(seed, [1, 300, 2_000, 7_000]);
    for (let left = 4 + people.random.below(13); left > 0; left -= 1) people.act();
    compared += people.endAsDemanded(seed) ? 1 : 0;
  }
  assert.ok(compared > 1_000);
});

test("devices that were away over several countdowns undo nothing that was done elsewhere", () => {
  let compared = 0;
  for (let seed = 1; seed <= 3_000; seed += 1) {
    const people = new People(seed, [300, 2_000, 7_000, 62_000, 400_000]);
    for (let left = 6 + people.random.below(17); left > 0; left -= 1) people.act();
    compared += people.endAsDemanded(seed) ? 1 : 0;
  }
  assert.ok(compared > 1_500, `${compared}`);
});

/**
 * Four devices that edit and sync at random, and a log of the acts that each has seen. A device
 * that has not synced for a while is away: it ends the countdowns that it knows.
 */
class People {
  #now = 1_000;
  #steps;
  /** Acts of persons: `{edit, isReplaced}`; `edit` includes the countdowns that have ended
   * since. */
  #acts = [];
  /** Act of each edit. */
  #actOf = new Map();
  /** For each device the acts it has seen, the server last. */
  #seen = Array.from({ length: 5 }, () => new Set());
  /**
   * True if a countdown ended while there were other candidates. The new edit replaces it, and the
   * others are removed after a while: then the result may depend on the order of arrival.
   */
  #haveCandidatesRunOut = false;

  constructor(seed, steps) {
    this.random = new SeededRandom(seed);
    this.#steps = steps;
    this.record = new SharedRecord(version(timer(0, edit("mac", 0, "idle"))), timerResolver, 4);
  }

  act() {
    const device = this.random.below(4);
    this.#now += this.random.pick(this.#steps);
    switch (this.random.below(5)) {
      case 0: return this.#press(device);
      case 1: return this.#reachZero(device) || this.#press(device);
      case 2: return this.#fetch(device);
      default:
        this.#fetch(device);
        return this.#save(device);
    }
  }

  /** Syncs all devices, and checks that no edit is left that a person replaced. Returns true if the
   * whole expected result is known, and checks it. */
  endAsDemanded(seed) {
    for (const device of [0, 1, 2, 3, 0, 1, 2, 3]) {
      this.#fetch(device);
      this.#save(device);
    }
    const { fields } = this.record.server;
    for (const holder of this.record.holders) {
      assert.equal(serialize(holder.local.fields), serialize(fields), `seed ${seed}`);
    }
    for (const it of fields.edits) {
      assert.ok(!this.#actOf.get(key(it))?.isReplaced, `seed ${seed}: ${serialize(it)}`);
    }
    if (this.#haveCandidatesRunOut) return false;
    const standing = this.#acts.filter((act) => !act.isReplaced).map((act) => act.edit);
    const all = standing.length === 0 ? [edit("mac", 0, "idle")] : standing;
    assert.deepEqual(fields.edits, demanded(all), `seed ${seed}`);
    return true;
  }

  #press(device) {
    this.#runOut(device);
    const shown = this.record.holders[device].local.fields.edits;
    const newest = Math.max(0, ...shown.map((it) => it.timestamp));
    // Clocks are wrong by up to two seconds.
    const stamp = Math.max(this.#now + device * 1_000 - 2_000, newest + 1);
    const made = randomEdit(`device ${device}`, stamp, this.random);
    for (const index of this.#seen[device]) this.#acts[index].isReplaced = true;
    const act = { edit: made, isReplaced: false };
    this.#seen[device].add(this.#acts.length);
    this.#acts.push(act);
    this.#actOf.set(key(made), act);
    this.#write(timer(0, made), device, stamp);
  }

  /** Ends the countdowns that are over before an act. */
  #runOut(device) {
    while (this.#reachZero(device));
  }

  /** Writes the end of the shown countdown, as other devices may do too. */
  #reachZero(device) {
    const state = TimerState.of(this.record.holders[device].local.fields);
    const zeroAt = state.shown?.zeroAt;
    if (zeroAt === undefined || zeroAt > BigInt(this.#now)) return false;
    if (state.edits.length > 1) this.#haveCandidatesRunOut = true;
    const { fields } = afterZero(state);
    const [made] = fields.edits;
    const act = this.#actOf.get(key(state.shown.object));
    this.#actOf.set(key(made), act);
    if (made.timestamp > act.edit.timestamp) act.edit = made;
    this.#write(fields, device, Number(zeroAt));
    return true;
  }

  #write(fields, device, stamp) {
    this.record.edit(device, version(fields, { at: stamp, by: `device ${device}` }));
  }

  #fetch(device) {
    this.record.fetch(device);
    for (const index of this.#seen[4]) this.#seen[device].add(index);
  }

  #save(device) {
    const isCurrent = [...this.#seen[4]].every((index) => this.#seen[device].has(index));
    this.record.save(device);
    if (isCurrent) for (const index of this.#seen[device]) this.#seen[4].add(index);
  }
}

/** Identity of an edit as written, without its act. */
const key = ({ act, ...it }) => serialize(it);
