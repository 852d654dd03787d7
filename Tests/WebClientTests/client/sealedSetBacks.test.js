import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../support/seededRandom.js";
import { draft } from "./support/deskApp.js";
import { KeylessRelay, openedBy, sealedDevice } from "./support/keylessRelay.js";

// Law of devices whose storage is set back to a former state, at times with changes that have left
// the device since: all devices agree in the end, and no text is lost that the relay ever had.

const seeds = Number(process.env.SEEDS ?? 100);
const firstSeed = Number(process.env.SEED ?? 1);

/** Three devices with a draft, whose merges keep both texts, and an honest relay. All follows
 * from the seed. */
class World {
  #relay = new KeylessRelay();
  #random;
  #devices = [1, 2, 3].map(sealedDevice);
  /** Former states of the storage, by device. */
  #copies = new Map(this.#devices.map((device) => [device, []]));
  #editCount = 0;
  /** Texts that the relay ever had, and those that were shown when a draft was edited. */
  #saved = new Set();
  #replaced = new Set();
  setBacks = 0;

  constructor(seed) {
    this.#random = new SeededRandom(seed);
    // A set-back repeats no random numbers.
    for (const [at, device] of this.#devices.entries()) {
      device.random = new SeededRandom(10 * seed + at);
    }
  }

  step() {
    const device = this.#random.pick(this.#devices);
    for (const it of this.#devices) it.pass(1 + this.#random.below(20));
    switch (this.#random.below(9)) {
      case 0: case 1: this.#edit(device); break;
      case 2: case 3: this.#send(device); break;
      case 4: this.#send(device, { isEdited: true }); break;
      case 5: this.#send(device, { isAnswered: false }); break;
      case 6: this.#read(device); break;
      case 7: this.#copies.get(device).push(structuredClone(device.disk)); break;
      default: this.#setBack(device);
    }
  }

  #edit(device) {
    const shown = device.text("d");
    if (shown !== undefined) this.#replaced.add(shown);
    this.#editCount += 1;
    device.edit(draft("d", `${this.#editCount}`));
  }

  /** Sends a batch. Its answer may be lost, or come after a further edit. */
  #send(device, { isAnswered = true, isEdited = false } = {}) {
    const batch = device.nextBatch();
    if (!batch) return;
    const results = this.#save(batch, device);
    for (const record of this.#relay.live) this.#saved.add(openedBy(record).fields.text);
    if (isEdited) this.#edit(device);
    if (isAnswered) device.answer(batch, results);
  }

  /** Saves all of an atomic batch, or none. */
  #save(batch, device) {
    const after = this.#relay.copy();
    const results = after.save(batch, device.id);
    const conflicts = results.filter(({ conflict }) => conflict);
    if (batch.atomic && conflicts.length > 0) return conflicts;
    this.#relay = after;
    return results;
  }

  #read(device) {
    device.read(this.#relay.live);
    device.bringBack();
  }

  /** Sets the storage back to an older state, or only behind an edit that the device has just
   * sent. */
  #setBack(device) {
    const copies = this.#copies.get(device);
    let copy = copies.length > 0 && this.#random.below(4) === 0 ? this.#random.pick(copies) : null;
    if (copy === null) {
      copy = structuredClone(device.disk);
      this.#edit(device);
      this.#send(device);
    }
    device.disk = structuredClone(copy);
    device.reopen();
    this.setBacks += 1;
    this.#edit(device);
    this.#send(device, { isEdited: this.#random.bool() });
  }

  rest() {
    for (let rounds = 0; rounds < 8; rounds += 1) {
      for (const device of this.#devices) {
        device.forgetCursor();
        device.retryRefused();
        device.page(this.#relay.live, null, 1);
        device.bringBack();
        for (let batches = 0; batches < 6; batches += 1) this.#send(device);
      }
    }
  }

  check() {
    const [first, ...others] = this.#devices.map(({ live }) =>
      live.map(({ name, tag, fields }) => `${name} ${tag} ${fields.text}`));
    for (const other of others) assert.deepEqual(other, first);
    for (const { summary } of this.#devices) {
      assert.deepEqual([summary.unsent, summary.parkedCount], [0, 0]);
    }
    const texts = new Set(this.#devices[0].live.map(({ fields }) => fields.text));
    const lost = [...this.#saved].filter((text) => !texts.has(text) && !this.#replaced.has(text));
    assert.deepEqual(lost, []);
  }
}

test(`${seeds} worlds with set-backs: no text that the relay had is lost`, () => {
  let setBacks = 0;
  for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
    try {
      const world = new World(seed);
      for (let steps = 0; steps < 50; steps += 1) world.step();
      world.rest();
      world.check();
      setBacks += world.setBacks;
    } catch (error) {
      error.message = `seed ${seed}: ${error.message}`;
      throw error;
    }
  }
  assert.ok(setBacks > seeds, `${setBacks} set-backs`);
});
