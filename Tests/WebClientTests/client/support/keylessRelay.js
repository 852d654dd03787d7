import { keyOf, nothingAt } from "../../../../Sources/WebClient/client/record.js";
import { AccountKeys, KeyGeneration } from "../../../../Sources/WebClient/sealing/accountKeys.js";
import { SealingKeys } from "../../../../Sources/WebClient/sealing/sealingKeys.js";
import { ZoneSeal } from "../../../../Sources/WebClient/sealing/zoneSeal.js";
import { SeededRandom } from "../../support/seededRandom.js";
import { Device } from "./device.js";
import { desk } from "./deskApp.js";

/** A relay's records: it saves batches as the protocol demands, and may do anything else. */
export class KeylessRelay {
  /** The newest version of each record, oldest first. */
  records = [];
  /** Number of versions that it has saved for devices. */
  saves = 0;
  #tag = 1;
  #read = new Map();

  get live() { return this.records.filter((record) => !record.deleted); }

  record(key) { return this.records.find((record) => keyOf(record) === key); }

  put(record) {
    this.#tag += 1;
    this.forget(record);
    this.records.push({ ...record, tag: this.#tag });
  }

  /** Puts a former version back as it was, with its tag. */
  restore(record) {
    this.forget(record);
    this.records.push(record);
  }

  delete(record) {
    const there = this.record(keyOf(record));
    if (there) this.put({ ...there, fields: null, deleted: true });
  }

  forget(record) {
    this.records = this.records.filter((other) => keyOf(other) !== keyOf(record));
  }

  /** Saves whatever comes, also over a version that the device has not seen. */
  take({ zone, records }, device) {
    return records.map((mutation) => this.#saved(zone, mutation, device));
  }

  save({ zone, records }, device) {
    return records.map((mutation) => {
      const there = this.record(keyOf({ zone, name: mutation.name }));
      const isTaken = !!there && (!there.deleted || !!mutation.unlessDeleted);
      const isBase = mutation.baseTag === 0 ? !isTaken : mutation.baseTag === there?.tag;
      if (!isBase) {
        const { name } = mutation;
        return { name, conflict: there ?? nothingAt({ zone, name }, "Nothing") };
      }
      this.saves += 1;
      return this.#saved(zone, mutation, device);
    });
  }

  #saved(zone, { name, type, fields, deleted = false, modifiedAt, chunks, includes }, device) {
    this.put({ zone, name, type, fields: deleted ? null : fields, modifiedAt, device, tag: 0,
      deleted, ...(chunks ? { chunks } : {}), ...(includes ? { includes } : {}) });
    return { name, tag: this.#tag };
  }

  /** Returns what the device has not read yet. */
  changes(device) {
    const read = this.#read.get(device) ?? 0;
    this.#read.set(device, this.#tag);
    return this.records.filter((record) => record.tag > read);
  }

  copy() {
    const copy = new KeylessRelay();
    copy.records = [...this.records];
    copy.saves = this.saves;
    copy.#tag = this.#tag;
    copy.#read = new Map(this.#read);
    return copy;
  }
}

/** Returns keys of the zone with these generations. */
export function sealKeys(...numbers) {
  const bytes = (number) => new Uint8Array(32).fill(number);
  const generations = numbers.map((number) => new KeyGeneration(bytes(number)));
  return new AccountKeys(bytes(9), generations).zoneKeys(desk.zone);
}

/** Returns a record of the relay as devices read it; undefined if it does not open. */
export const openedBy = (record, keys = sealKeys(1)) => new ZoneSeal(keys).open(record).record;

/** A device with an account, whose pages and answers a test makes. */
export class SealingDevice extends Device {
  conflicts = 0;
  /** Outcome of the last job. */
  outcome = null;
  #cursor = 1;
  #generation = 1;
  #batches = 0;

  constructor(number, options = {}) {
    const random = new SeededRandom(number);
    super(number.toString(16).padStart(16, "0"), { apps: [desk], random, ...options });
    this.disk.values.set("cursor", "1.1");
    this.start();
  }

  step(job, write) {
    this.outcome = super.step(job, write);
    this.conflicts += this.outcome.applied?.conflicts ?? 0;
    return this.outcome;
  }

  /** Returns true if the keys are new, and the code of the error if they were refused. */
  seal(...keys) {
    const stored = keys.flatMap((it) => SealingKeys.ofZones([it]).storedValue);
    return this.sealStored(stored);
  }

  sealStored(keys) {
    const { result, error } = this.step({ task: "seal", keys });
    return error?.code ?? result;
  }

  pass(milliseconds) { this.now += milliseconds; }

  edit(...edits) {
    const make = (context) => edits.map((edit) => (typeof edit === "function"
      ? edit(context) : { zone: desk.zone, ...edit }));
    const { error } = this.step({ task: "change", make });
    if (error) throw error;
  }

  record(name, zone = desk.zone) { return this.replica.transaction.record(`${zone}\n${name}`); }

  fieldsOf(name, zone) { return this.record(name, zone)?.fields ?? null; }

  text(name, zone) { return this.fieldsOf(name, zone)?.text; }

  get outbox() { return this.outcome.outbox; }

  get changedNames() { return this.outcome.changed.map(({ name }) => name); }

  nextBatch() {
    this.#batches += 1;
    return this.freeze(`batch ${this.#batches}`);
  }

  answer(batch, results) {
    const token = this.#token(this.#cursor);
    return this.apply({ kind: "answer", id: batch.id, isLink: true,
      answer: { since: token, token, results } });
  }

  /** Applies a page that follows the cursor. */
  read(records) {
    this.#cursor += 1;
    return this.page(records, this.#cursor - 1, this.#cursor);
  }

  /** Reads all from the beginning, if the replica asks for that. */
  readAgain(records) { return this.page(records, null, this.#cursor); }

  page(changes, from, to) {
    const since = from === null ? null : this.#token(from);
    return this.apply({ kind: "page",
      page: { since, token: this.#token(to), more: false, changes, lostTags: [] } });
  }

  /** Applies an empty page of a relay that was restored: of another history, or with lost tags. */
  readRestored(from, to, lostTags = []) {
    const since = this.#token(from);
    if (lostTags.length === 0) this.#generation += 1;
    return this.apply({ kind: "page",
      page: { since, token: this.#token(to), more: false, changes: [], lostTags } });
  }

  #token(sequence) { return `${this.#generation.toString(16)}.${sequence}`; }

  /** Joins the account again, as the same device for a part of it. */
  limit(scope) {
    this.step({ task: "join", identity: { accountID: "account", deviceID: this.id, scope } });
  }

  /** Begins anew after a reload. */
  reopen() {
    this.start();
    this.step({ task: "load" });
  }

  forgetCursor(restoredThrough = null) {
    this.step({ task: "forgetCursor", restoredThrough, generation: null, lostThrough: null });
  }

  /** Reports that the relay was restored from a backup, and has what was read up to this tag. */
  reportRestore(through) {
    this.#generation += 1;
    this.forgetCursor(through);
  }

  retryRefused(withParked = true) { this.step({ task: "retryRefused", withParked }); }

  /** Performs all jobs with which the agent saves again what the relay has lost. */
  bringBack() {
    while (this.outbox.mayBringBack) this.step({ task: "bringBack" });
  }
}

/** Returns a device that has the keys, and has read a relay without records. */
export function sealedDevice(number) {
  const device = new SealingDevice(number);
  device.seal(sealKeys(1));
  device.page([], null, 1);
  return device;
}
