import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import test from "node:test";
import { afterZero } from "../../../Sources/Pages/apps/timer/timerMachine.js";
import { TimerState } from "../../../Sources/Pages/apps/timer/timerModel.js";
import { timerResolver } from "../../../Sources/Pages/apps/timer/timerResolver.js";
import { serialize } from "../../../Sources/Pages/changes/json.js";
import { edit, timer, version } from "../support/conflicts.js";
import { randomEdit } from "../support/randomCases.js";
import { SeededRandom } from "../support/seededRandom.js";
import { SharedRecord, permutations } from "../support/sharedRecord.js";

// The outcome is what the whole set of concurrent edits demands, in whatever order they arrive.

/**
 * What the rule says of a set of edits none of which was made on another: written down a second
 * time, plainly.
 */
function demanded(edits) {
  const distinct = [...new Map(edits.map((it) => [serialize(it), it])).values()];
  const newest = Math.max(...distinct.map((it) => it.timestamp));
  const states = ["focus", "breakTime", "snooze", "idle"];
  const left = (it) => {
    if (it.stateType === "idle") return 0;
    return Math.max(0, it.remaining - (it.isPaused ? 0 : newest - it.timestamp));
  };
  const isConcurrent = (it) => newest - it.timestamp <= 5_000;
  return distinct.filter(isConcurrent).sort((one, other) =>
    states.indexOf(one.stateType) - states.indexOf(other.stateType) ||
    left(one) - left(other) || other.timestamp - one.timestamp ||
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
    const people = new People(seed);
    for (let left = 4 + people.random.below(13); left > 0; left -= 1) people.act();
    people.settle();
    const server = serialize(people.record.server.fields);
    for (const holder of people.record.holders) {
      assert.equal(serialize(holder.local.fields), server, `seed ${seed}`);
    }
    if (people.haveGoneBack) continue;
    compared += 1;
    const { edits } = people.record.server.fields;
    assert.deepEqual(edits, demanded(people.standing), `seed ${seed}`);
  }
  assert.ok(compared > 1_000);
});

/** Four devices that edit and synchronise at random, and a log of who had seen what. */
class People {
  #now = 1_000;
  #edits = [];
  /** For each device which edits it has seen, the server last. */
  #seen = Array.from({ length: 5 }, () => new Set());
  #overwritten = new Set();

  constructor(seed) {
    this.random = new SeededRandom(seed);
    this.record = new SharedRecord(version(timer(0, edit("mac", 0, "idle"))), timerResolver, 4);
    /**
     * A countdown reached zero before the newest candidate beside it was made: the one edit that is
     * older than one it replaces. What was more than 5 s behind that candidate, and is not behind
     * this edit, is gone or not depending on who met first; the devices agree all the same.
     */
    this.haveGoneBack = false;
  }

  /** The edits that no other was made on. */
  get standing() {
    const left = this.#edits.filter((_, index) => !this.#overwritten.has(index));
    return left.length === 0 ? [edit("mac", 0, "idle")] : left;
  }

  act() {
    const device = this.random.below(4);
    this.#now += this.random.pick([1, 300, 2_000, 7_000]);
    switch (this.random.below(5)) {
      case 0: return this.#press(device);
      case 1: return this.#reachZero(device) || this.#press(device);
      case 2: return this.#fetch(device);
      default:
        this.#fetch(device);
        return this.#save(device);
    }
  }

  settle() {
    for (const device of [0, 1, 2, 3, 0, 1, 2, 3]) {
      this.#fetch(device);
      this.#save(device);
    }
  }

  #press(device) {
    const shown = this.record.holders[device].local.fields.edits;
    const newest = Math.max(0, ...shown.map((it) => it.timestamp));
    // Clocks are wrong by up to two seconds.
    const stamp = Math.max(this.#now + device * 1_000 - 2_000, newest + 1);
    const made = randomEdit(`device ${device}`, stamp, this.random);
    this.#make(timer(0, made), device, stamp);
  }

  /** The device writes that the shown countdown is over, as others may do by themselves. */
  #reachZero(device) {
    const state = TimerState.of(this.record.holders[device].local.fields);
    const zeroAt = state.shown?.zeroAt;
    if (zeroAt === undefined || zeroAt > BigInt(this.#now)) return false;
    if (state.edits.some((it) => it.timestamp > zeroAt)) this.haveGoneBack = true;
    this.#make(afterZero(state).fields, device, Number(zeroAt));
    return true;
  }

  #make(fields, device, stamp) {
    for (const index of this.#seen[device]) this.#overwritten.add(index);
    fields.edits.forEach((_, index) => this.#seen[device].add(this.#edits.length + index));
    this.#edits.push(...fields.edits);
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
