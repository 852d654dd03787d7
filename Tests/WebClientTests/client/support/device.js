import { SyncEngine } from "../../../../Sources/WebClient/client/sync/syncEngine.js";
import { generationOf } from "../../../../Sources/WebClient/client/changeToken.js";
import { provenLoss } from "../../../../Sources/WebClient/client/refusal.js";
import { Replica } from "../../../../Sources/WebClient/client/replica/replica.js";
import { SeededRandom } from "../../support/seededRandom.js";
import { modelApp } from "./modelApp.js";
import { ModelRelay } from "./modelRelay.js";

/** Returns a relay, and devices of one account with these apps. */
export function worldOf(apps, ...names) {
  const random = new SeededRandom(7);
  return [new ModelRelay(), ...names.map((name) => new Device(name, { random, apps }))];
}

export const world = (...names) => worldOf([modelApp], ...names);

/** A device's replica on a disk that is a plain object, without a network. */
export class Device {
  constructor(id, { random, apps = [modelApp], accountID = "account" } = {}) {
    this.id = id;
    this.random = random;
    this.apps = apps;
    this.disk = { records: new Map(), outbox: new Map(), values: new Map() };
    this.now = 1_000_000;
    this.isClockTrusted = true;
    /** Relay time minus wall clock; also the device's offset while its clock is trusted. */
    this.skew = 0;
    this.start();
    this.step({ task: "join", identity: { accountID, deviceID: id } });
  }

  /** Starts as after a reload or a crash: everything except the disk is lost. */
  start() {
    const { records, outbox, values } = this.disk;
    this.replica = new Replica({
      records: [...records.values()], outbox: [...outbox.values()], values: [...values],
    }, this.apps);
    this.engine = new SyncEngine();
    this.engine.isClockTrusted = this.isClockTrusted;
    const { position, outbox: summary } = this.replica.perform({ task: "load", clock: this.clock });
    this.engine.loaded(position, summary);
  }

  get clock() {
    const wall = this.now - this.skew;
    const offset = this.isClockTrusted ? this.skew : 0;
    return { wall, offset, relayTime: wall + offset, isTrusted: this.isClockTrusted,
      isMeasured: this.isClockTrusted, wallSteps: 0 };
  }

  /** Performs one job, and writes its changes to the disk; the write may fail. */
  step(job, write = (writes) => this.write(writes)) {
    const outcome = this.replica.perform({ ...job, clock: this.clock });
    write(outcome.writes);
    return outcome;
  }

  write(writes) {
    for (const { store, key, value } of structuredClone(writes)) {
      if (value === undefined) this.disk[store].delete(key);
      else this.disk[store].set(key, value);
    }
  }

  change(...edits) {
    const made = edits.map((edit) => ({ zone: "Model", ...edit }));
    const outcome = this.step({ task: "change", make: () => made });
    if (outcome.error) throw outcome.error;
    this.engine.finished({ offered: false, ...outcome });
    return outcome;
  }

  /** Freezes the waiting changes as a batch for the relay. */
  freeze(id = this.random?.uuid() ?? "batch", records = 400) {
    const offer = { id, records, bytes: 2 << 20, blockedZones: [],
      randomBytes: (count) => this.random.bytes(count) };
    return this.step({ task: "freezeBatch", offer }).batch;
  }

  apply(...arrivals) { return this.step({ task: "apply", arrivals }).applied; }

  /** Runs a complete sync with a relay that answers everything. */
  sync(relay) {
    for (let rounds = 0; rounds < 100; rounds += 1) {
      this.fetch(relay);
      const batch = this.freeze(`${this.id} ${relay.sequence} ${rounds} ${this.random?.uuid()}`);
      if (!batch) {
        if (!this.step({ task: "bringBack" }).outbox.unsent) return;
        continue;
      }
      const { answer } = relay.save(this.id, batch);
      this.apply({ kind: "answer", id: batch.id, answer, isLink: true });
    }
    throw new Error("the sync comes to no end");
  }

  fetch(relay) {
    for (let pages = 0; pages < 100; pages += 1) {
      const { page, error } = relay.changes(this.replica.position.token ?? null);
      if (error) {
        this.forget(error);
        continue;
      }
      const applied = this.apply({ kind: "page", page });
      if (!page.more && !applied.foundGap) return;
    }
    throw new Error("the fetch comes to no end");
  }

  /** Handles the relay's refusal of the cursor. */
  forget(error) {
    this.step({ task: "forgetCursor", generation: generationOf(error.token),
      restoredThrough: provenLoss(error), lostThrough: error.lostThrough ?? null });
  }

  fields(name) { return this.replica.transaction.record(`Model\n${name}`)?.fields ?? null; }

  get live() { return this.replica.transaction.records(); }

  get summary() { return this.replica.transaction.outbox.summary; }
}
