import { Device } from "./device.js";
import { modelApp } from "./modelApp.js";
import { ModelRelay } from "./modelRelay.js";
import { SeededRandom } from "../../support/seededRandom.js";

/**
 * Simulation of a relay, devices and persons in virtual time, from a seed. A device's engine
 * performs its actions over a connection that delays, loses answers and breaks. A crash may undo
 * any step before it is written.
 */
export class World {
  time = 1_000_000;
  #queue = [];
  #order = 0;

  constructor(seed, { devices = 3, breaks = {} } = {}) {
    this.random = new SeededRandom(seed);
    this.relay = new ModelRelay();
    this.relay.isEarlier = seed % 4 === 0;
    this.breaks = breaks;
    /** Items that must not be lost, and items removed by a person who had seen them. */
    this.made = new Map();
    this.taken = new Set();
    this.lines = [];
    for (let number = 0; number < devices; number += 1) {
      const device = new Device(`device${number}`, { random: this.random,
        apps: [this.#countingSolos()] });
      device.skew = this.random.below(120_000) - 60_000;
      this.lines.push(new DeviceConnection(this, device));
    }
  }

  /** Number of conflicts of records that only one device edits. */
  solos = 0;
  /** Expected final state of each such record; null: deleted. */
  lastSolos = new Map();

  #countingSolos() {
    const resolve = (conflict) => {
      // A conflict with a tombstone that is no longer kept is possible even for one device alone,
      // so it does not count.
      if (!conflict.server.deleted) this.solos += 1;
      return modelApp.resolvers.Solo.resolve(conflict);
    };
    return { ...modelApp, resolvers: { ...modelApp.resolvers, Solo: { resolve } } };
  }

  at(delay, act) {
    this.#queue.push({ time: this.time + delay, order: this.#order += 1, act });
  }

  /** Runs until no event is left, or the time is over. */
  run(until) {
    for (let steps = 0; this.#queue.length > 0; steps += 1) {
      if (steps > 200_000) throw new Error("the world comes to no rest");
      this.#queue.sort((a, b) => a.time - b.time || a.order - b.order);
      if (this.#queue[0].time > until) break;
      const { time, act } = this.#queue.shift();
      this.time = time;
      act();
    }
    this.time = Math.max(this.time, until === Infinity ? 0 : until);
  }

  notifyOthers(line) {
    for (const other of this.lines) if (other !== line) other.pushed();
  }
}

/** A device with its connection to the relay: performs the engine's actions. */
class DeviceConnection {
  constructor(world, device) {
    this.world = world;
    this.device = device;
    /** Incremented by every connection, crash and cut: events of an earlier one are dropped. */
    this.life = 0;
    this.isOnline = false;
    this.conflicts = 0;
  }

  get engine() { return this.device.engine; }

  connect() {
    if (this.isOnline) return;
    const life = this.life += 1;
    this.isOnline = true;
    this.#later(life, () => {
      this.device.isClockTrusted = true;
      this.chain = this.engine.greet();
      this.engine.online("websocket", this.world.relay.token);
      if (this.chain !== null) this.pushed();
      this.drive();
    });
  }

  cut() {
    this.life += 1;
    this.isOnline = false;
    this.engine.offline();
    this.drive();
  }

  crash() {
    this.life += 1;
    this.isOnline = false;
    this.device.isClockTrusted = this.world.random.chance(0.5);
    this.device.start();
  }

  /** Pushes changes after the connection's own cursor, or only a hint. */
  pushed() {
    const { relay, random } = this.world;
    if (!this.isOnline || this.chain === undefined) return;
    const isHint = this.chain === null || random.chance(0.2);
    const { page, error } = isHint ? {} : relay.changes(this.chain);
    if (error) this.chain = null;
    if (page) {
      this.chain = page.token;
      if (page.more) this.#later(this.life, () => this.pushed());
    }
    const { token } = relay;
    this.#later(this.life, () => {
      if (error) this.engine.fetchRefused(error, "push");
      else if (page) this.engine.page(page, "push");
      else this.engine.hint(token);
      this.drive();
    });
  }

  /** Performs the engine's actions until there are none. */
  drive() {
    this.device.now = this.world.time;
    this.engine.isClockTrusted = this.device.isClockTrusted;
    for (let action = this.engine.next(); action; action = this.engine.next()) {
      this.#perform(action);
    }
  }

  #perform(action) {
    const { relay, random, breaks } = this.world;
    const { life } = this;
    switch (action.do) {
      case "job": return this.#job(action);
      case "save":
        return this.#later(life, () => {
          const { answer, error } = relay.save(this.device.id, action.batch);
          this.world.notifyOthers(this);
          // The answer may be lost with the connection.
          if (random.chance(this.world.isCalm ? 0 : 0.1)) this.cut();
          else if (answer && this.chain && answer.since === this.chain) this.chain = answer.token;
          this.#later(life, () => {
            if (answer) this.engine.saved(action.batch.id, answer);
            else this.engine.saveRefused(action.batch.id, error);
            this.drive();
          });
        }, { isRequest: true });
      case "fetch":
        return this.#later(life, () => {
          const { page, error } = relay.changes(action.since);
          if (page && !page.more) this.chain = page.token;
          this.#later(life, () => {
            if (page) this.engine.page(page, "fetch");
            else this.engine.fetchRefused(error, "fetch");
            this.drive();
          });
        });
      case "measureClock":
        return this.#later(life, () => {
          this.device.isClockTrusted = true;
          this.drive();
        });
      case "pause":
        return this.#later(life, () => {
          this.engine.resume();
          this.drive();
        });
      default: throw new Error(`the engine wants ${action.do} (${breaks})`);
    }
  }

  /** Performs a job at once; a crash before its writes are on disk undoes it. */
  #job({ job, bounds }) {
    const randomBytes = (count) => this.world.random.bytes(count);
    const offer = bounds ? { id: this.world.random.uuid(), randomBytes, ...bounds } : undefined;
    const { breaks } = this.world;
    if (breaks.forgetsLosses && job.task === "forgetCursor") job.restoredThrough = null;
    let lost = false;
    const outcome = this.device.step({ ...job, offer }, (writes) => {
      lost = !this.world.isCalm && this.world.random.chance(0.02);
      if (!lost) this.device.write(writes);
    });
    if (lost) return this.crash();
    this.conflicts += outcome.applied?.conflicts ?? 0;
    if (breaks.losesAnswers && outcome.batch) this.device.disk.outbox.clear();
    this.engine.finished({ offered: !!offer, ...outcome });
    return undefined;
  }

  /** Schedules an event. A request that was sent is performed even if the connection breaks
   * meanwhile. */
  #later(life, act, { isRequest = false } = {}) {
    this.lastArrival = Math.max(this.lastArrival ?? 0,
      this.world.time + 1 + this.world.random.below(40));
    this.world.at(this.lastArrival - this.world.time, () => {
      if (life === this.life || isRequest) act();
    });
  }
}

/** Performs a random act of a person, based on what the device shows. */
export function act(world, line, number) {
  const { random, made, taken } = world;
  const { device } = line;
  device.now = world.time;
  if (random.chance(0.3)) return actAlone(world, line, number);
  const name = `r${random.below(4)}`;
  const isSet = random.chance(0.6);
  const isTable = random.chance(0.4);
  const type = isTable ? "Table" : isSet ? "Set" : "Note";
  const place = `${type}${isTable && isSet ? "Set" : ""}-${name}`;
  const held = device.fields(place);
  const word = `${device.id}-${number}`;
  let fields;
  if (held && random.chance(0.1)) {
    fields = null;
    for (const item of held.items ?? [held.text]) taken.add(item);
  } else if (isSet) {
    const items = [...held?.items ?? []];
    if (isTable && items.length > 3) taken.add(items.shift());
    fields = { items: [...items, word].sort() };
  } else {
    fields = { text: word };
    if (held) taken.add(held.text);
  }
  device.change({ name: place, type, fields });
  if (fields) made.set(word, device.id);
  return line.drive();
}

function actAlone({ random, lastSolos }, line, number) {
  const { device } = line;
  const name = `Solo-${device.id}`;
  const fields = device.fields(name) && random.chance(0.2) ? null : { number };
  device.change({ name, type: "Solo", fields });
  lastSolos.set(name, fields);
  line.drive();
}
