import assert from "node:assert/strict";
import { test } from "node:test";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { counterValue } from "../../../Sources/WebClient/model/counter.js";
import { nothingAt } from "../../../Sources/WebClient/client/record.js";
import { SeededRandom } from "../support/seededRandom.js";
import { choice, count, deletion, draft, note, row } from "./support/deskApp.js";
import { KeylessRelay, openedBy, sealedDevice } from "./support/keylessRelay.js";

// Laws of a sealed zone under a relay that does as it likes: once it is honest again, all devices
// hold the same, and no edit of anybody is lost.

const seeds = Number(process.env.SEEDS ?? 300);
const firstSeed = Number(process.env.SEED ?? 1);

const counters = ["c0", "c1"];
const notes = ["n0", "n1"];
const tables = ["t0", "t1"];
const drafts = ["d0", "d1"];
const choices = ["h0", "h1"];
const historyMost = 400;

/** Three devices with a sealed zone of counters, notes, tables, drafts and choices, and a relay
 * without the key. Everything follows from the seed. */
class HostileWorld {
  relay = new KeylessRelay();
  editCount = 0;
  /** Edits of a counter by a device. */
  #counts = new Map();
  /** Words that each device has written into a table. */
  #words = new Map();
  /** Texts of drafts, and those of them that were shown when a draft was edited. */
  #texts = new Set();
  #replaced = new Set();
  /** All records that the relay ever had. */
  #history = [];
  #backup = new KeylessRelay();
  #random;
  #isHostile;
  #devices = [1, 2, 3].map(sealedDevice);

  constructor(seed, { isHostile = true } = {}) {
    this.#random = new SeededRandom(seed);
    this.#isHostile = isHostile;
  }

  /** One act of a person, a device or the relay. */
  step() {
    const device = this.#random.pick(this.#devices);
    device.pass(this.#random.below(50));
    const act = this.#random.below(this.#isHostile ? 24 : 10);
    if (act < 2) this.#count(device);
    else if (act === 2) this.#editOther(device);
    else if (act === 3) this.#note(device);
    else if (act < 7) this.#send(device);
    else if (act < 9) this.#read(device);
    else if (act === 9) device.reopen();
    else this.#misbehave(device);
    this.#history.push(...this.relay.records);
    if (this.#history.length > historyMost) this.#history = this.#history.slice(-historyMost);
  }

  // persons and devices

  #count(device) {
    const name = this.#random.pick(counters);
    device.edit(count(name));
    const key = `${name} ${device.id}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    this.editCount += 1;
  }

  #editOther(device) {
    switch (this.#random.below(4)) {
      case 0: this.#write(device); break;
      case 1: this.#draft(device); break;
      case 2: this.#choose(device); break;
      default:
        device.isClockTrusted = !device.isClockTrusted;
        device.skew = device.isClockTrusted ? 0 : this.#random.below(200) - 100;
    }
  }

  #draft(device) {
    const name = this.#random.pick(drafts);
    const shown = device.text(name);
    if (shown !== undefined) this.#replaced.add(shown);
    this.editCount += 1;
    device.edit(draft(name, `${this.editCount}`));
    this.#texts.add(`${this.editCount}`);
  }

  #choose(device) {
    if (device.summary.askingCount > 0) {
      this.#decide(device);
      return;
    }
    this.editCount += 1;
    device.edit(choice(this.#random.pick(choices), `${this.editCount}`));
  }

  /** Decides all that the device asks. */
  #decide(device) {
    for (const { zone, name } of device.summary.asking) {
      const decision = { zone, name, keepLocal: this.#random.bool() };
      assert.equal(device.step({ task: "decide", decision }).error, null);
      this.editCount += 1;
    }
  }

  #write(device) {
    const name = this.#random.pick(tables);
    this.editCount += 1;
    device.edit(row(name, `${this.editCount}`));
    const key = `${name} ${device.id}`;
    this.#words.set(key, [...this.#words.get(key) ?? [], `${this.editCount}`]);
  }

  #note(device) {
    const name = this.#random.pick(notes);
    const isDeletion = this.#random.below(4) === 0;
    if (isDeletion && (device.record(name)?.deleted ?? true)) return;
    this.editCount += 1;
    device.edit(isDeletion ? deletion(name) : note(name, `${this.editCount}`));
  }

  #send(device) {
    const batch = device.nextBatch();
    if (!batch) return;
    const { retryLater } = device.answer(batch, this.relay.save(batch, device.id));
    if (!this.#isHostile) assert.equal(retryLater, null, "an honest relay is not asked later");
  }

  #read(device) {
    device.read(this.relay.changes(device.id));
    device.bringBack();
  }

  // the relay

  #misbehave(device) {
    const { relay } = this;
    const random = this.#random;
    const any = (records) => (records.length > 0 ? random.pick(records) : null);
    const record = any(relay.records);
    switch (random.below(14)) {
      case 0: this.#answerFalsely(device); break;
      case 1: if (record) relay.put(any(this.#history)); break;
      case 2: if (record) relay.delete(record); break;
      case 3: if (record) relay.forget(record); break;
      case 4: this.#readSome(device); break;
      case 5: this.#save(device, (batch) => device.answer(batch, relay.take(batch, device.id)));
        break;
      // The answer is lost.
      case 6: this.#save(device, (batch) => (random.bool() ? relay.take(batch, device.id)
        : relay.save(batch, device.id))); break;
      case 7: this.#backup = relay.copy(); break;
      case 8: this.relay = this.#backup.copy(); break;
      // A snapshot with old versions and holes.
      case 9: device.forgetCursor();
        device.page(this.#some([...relay.live, ...this.#history.slice(-6)]), null, 1);
        break;
      case 10: device.reportRestore(random.below(20));
        device.page(this.#some(relay.live), null, 1);
        device.bringBack();
        break;
      case 11: if (record) relay.put(this.#changed(record)); break;
      case 12: this.#save(device, ({ id }) => {
        device.step({ task: "setAside", id });
        device.retryRefused();
      }); break;
      default: device.retryRefused();
    }
  }

  #save(device, act) {
    const batch = device.nextBatch();
    if (batch) act(batch);
  }

  /** Answers a batch with made-up tags, and with other versions than the relay has. */
  #answerFalsely(device) {
    const random = this.#random;
    this.#save(device, (batch) => device.answer(batch, batch.records.map(({ name }) => {
      const what = random.below(4);
      if (what === 0) return { name, tag: random.below(60) };
      if (what === 1) return { name, conflict: nothingAt({ zone: batch.zone, name }, "Nothing") };
      const old = this.#history.filter((record) => record.name === name);
      if (old.length === 0) return { name, tag: 1 };
      return { name, conflict: { ...random.pick(old), tag: random.below(60) } };
    })));
  }

  #readSome(device) {
    const records = this.#some(this.relay.changes(device.id));
    if (this.#random.below(3) === 0 && records.length > 0) {
      records[0] = { ...records[0], tag: this.#random.below(60) };
    }
    device.read(records);
  }

  #changed(record) {
    switch (this.#random.below(4)) {
      case 0: return { ...record, modifiedAt: record.modifiedAt + 10 };
      case 1: return { ...record, device: this.#random.pick(this.#devices).id };
      case 2: return { ...record, fields: { text: "false" }, deleted: false };
      default: return { ...record, fields: { key: "0011223344556677", sealed: "AAAA" },
        deleted: false };
    }
  }

  #some(records) {
    return this.#random.shuffled(records.filter(() => this.#random.below(3) > 0));
  }

  // the end

  /** Makes the relay honest, and lets all devices come to rest. It keeps what it has, except
   * records that it has made unreadable. */
  heal() {
    for (const record of this.relay.live) if (!openedBy(record)) this.relay.forget(record);
    for (const device of this.#devices) Object.assign(device, { isClockTrusted: true, skew: 0 });
    for (let rounds = 0; rounds < 16; rounds += 1) {
      for (const device of this.#devices) {
        if (rounds > 2 && rounds < 10) this.#decide(device);
        device.forgetCursor();
        device.retryRefused();
        device.page(this.relay.live, null, 1);
        device.bringBack();
        for (let batches = 0; batches < 6; batches += 1) this.#send(device);
      }
    }
  }

  check() {
    const held = this.#devices.map((device) =>
      device.live.map(({ name, tag, fields }) => `${name} ${tag} ${serialize(fields)}`));
    for (const [index, device] of this.#devices.entries()) {
      const { unsent, askingCount, parkedCount } = device.summary;
      assert.deepEqual([unsent, askingCount, parkedCount], [0, 0, 0], `${device.id} has sent all`);
      assert.equal(device.outbox.unreadableCount, 0, `${device.id} can read all`);
      assert.deepEqual(held[index], held[0]);
      for (const name of counters) {
        assert.equal(device.fieldsOf(name)?.[device.id] ?? 0,
          this.#counts.get(`${name} ${device.id}`) ?? 0, `${name} of ${device.id}`);
      }
      for (const name of tables) this.#checkTable(device, name);
      const texts = new Set(device.live.map(({ fields }) => fields.text));
      const lost = [...this.#texts].filter((it) => !texts.has(it) && !this.#replaced.has(it));
      assert.deepEqual(lost, [], `drafts of ${device.id}`);
    }
  }

  #checkTable(device, name) {
    const words = this.#words.get(`${name} ${device.id}`) ?? [];
    const fields = device.fieldsOf(name) ?? {};
    const what = `${name} of ${device.id}`;
    assert.equal(fields[device.id], words.at(-1), `the own field, ${what}`);
    assert.equal(counterValue(fields.edits), this.#editsOf(name), `the counter, ${what}`);
    assert.deepEqual(words.filter((word) => !fields.words.includes(word)), [], `words, ${what}`);
  }

  #editsOf(name) {
    return this.#devices.flatMap(({ id }) => this.#words.get(`${name} ${id}`) ?? []).length;
  }
}

/** Plays worlds of these seeds. `check`: what must hold in each before and after it has healed. */
function play(first, number, options, isSound = () => true) {
  for (let seed = first; seed < first + number; seed += 1) {
    try {
      const world = new HostileWorld(seed, options);
      for (let steps = 0; steps < 80; steps += 1) world.step();
      const { saves } = world.relay;
      world.heal();
      world.check();
      assert.ok(isSound(world, saves));
    } catch (error) {
      error.message = `seed ${seed}: ${error.message}`;
      throw error;
    }
  }
}

test(`${seeds} worlds with a hostile relay: no edit is lost, and all devices agree`, () => {
  play(firstSeed, seeds, {});
});

test("an honest relay gets no more than the edits", () => {
  play(1_000, 100, { isHostile: false }, ({ editCount }, saves) => saves <= editCount);
});
