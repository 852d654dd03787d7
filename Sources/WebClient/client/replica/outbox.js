import { frozen } from "../../json/jsonValue.js";
import { shown, withoutStamps } from "../../model/stamps.js";
import { sizeOf } from "../fields.js";
import { limits } from "../limits.js";
import { isSameVersion, keyOf } from "../record.js";
import { mayPass } from "../refusal.js";
import { isRepeated } from "./lineage.js";

/**
 * Local change that the relay has not acknowledged. Entries are never changed in place, only
 * replaced.
 *
 * `base`: the version on which the change was made, null if there was none. `state`: `waiting`
 * (later edits are folded into it), `sent` (frozen under `batch` until answered), `parked` (refused
 * for good, with the `refusal`), `asking` (a person decides; `server` is the relay's version).
 * `timeMade`: the record after the last due edit between `base` and `fields`. `group`: a number
 * shared by entries that must be saved together. `firstSent`: the stamp of the first version of
 * this change that was sent and never answered. `includes`: the fingerprints of lost versions that
 * it includes, set when it is frozen, so that it is sent alike each time. `lineage`: its descent,
 * in a sealed zone.
 *
 * @typedef {{number: number, zone: string, name: string, type: string, fields: object | null,
 *   chunks?: string[], modifiedAt: number, isStampTrusted: boolean,
 *   base: import("../record.js").Record | null,
 *   state: {kind: "waiting" | "sent" | "parked" | "asking", batch?: string, refusal?: object,
 *     server?: import("../record.js").Record},
 *   timeMade?: import("../record.js").Record | null, group?: number | null,
 *   firstSent?: number | null, includes?: string[],
 *   lineage?: import("./lineage.js").Lineage}} OutboxEntry
 */

export const waiting = Object.freeze({ kind: "waiting" });

/** Returns the entry as one that was refused for good. */
export const parked = (entry, refusal) =>
  ({ ...entry, state: { kind: "parked", refusal }, group: null });

/** Local changes by number, oldest first. Makes no decisions. */
export class Outbox {
  /**
   * Entries by number, ascending: new numbers are greater, and a replaced entry keeps its position.
   * @type {Map<number, OutboxEntry>}
   */
  #entries = new Map();
  #sent = new Set();
  /** @type {Map<string, number[]>} */
  #numbers = new Map();
  bytes = 0;
  nextNumber = 1;

  constructor(entries = []) {
    for (const entry of [...entries].sort((a, b) => a.number - b.number)) this.put(entry);
  }

  get size() { return this.#entries.size; }

  /** True if more of what the relay has lost fits. Half of the outbox is reserved for a person's
   * edits. */
  get hasRoomForLost() {
    return this.size < limits.outboxRecords / 2 && this.bytes < limits.outboxBytes / 2;
  }

  entry(number) { return this.#entries.get(number); }

  /** Returns the entries, oldest first. */
  entries() { return [...this.#entries.values()]; }

  /** Returns the entry of this record that is in flight. */
  sent(key) { return this.#first(key, (entry) => entry.state.kind === "sent"); }

  /** Returns the entry of this record into which later edits are folded. */
  open(key) { return this.#first(key, (entry) => entry.state.kind !== "sent"); }

  holds(key) { return this.#numbers.has(key); }

  /** The batch that waits for its answer, and its entries. */
  get frozen() {
    const entries = [...this.#sent].sort((a, b) => a - b).map((number) => this.entry(number));
    return entries.length > 0 ? { id: entries[0].state.batch, entries } : null;
  }

  allocateNumber() { return this.nextNumber++; }

  put(entry) {
    const { number } = entry;
    this.#forget(this.#entries.get(number));
    this.#entries.set(number, entry);
    const key = keyOf(entry);
    this.#numbers.set(key, [...(this.#numbers.get(key) ?? []), number]);
    if (entry.state.kind === "sent") this.#sent.add(number);
    this.nextNumber = Math.max(this.nextNumber, number + 1);
    this.bytes += bytesOfEntry(entry);
  }

  remove(number) {
    this.#forget(this.#entries.get(number));
    this.#entries.delete(number);
  }

  #forget(old) {
    if (!old) return;
    const { number } = old;
    this.#sent.delete(number);
    const key = keyOf(old);
    const left = this.#numbers.get(key).filter((other) => other !== number);
    if (left.length > 0) this.#numbers.set(key, left);
    else this.#numbers.delete(key);
    this.bytes -= bytesOfEntry(old);
  }

  get summary() { return summaryOf(this.entries()); }

  #first(key, matches) {
    for (const number of this.#numbers.get(key) ?? []) {
      const entry = this.#entries.get(number);
      if (matches(entry)) return entry;
    }
    return undefined;
  }
}

/** Counts of the outbox for the engine and the status. `waiting`: sendable entries per zone. */
export function summaryOf(entries) {
  const summary = {
    unsent: 0, frozen: null, waiting: new Map(), parked: [], parkedCount: 0, asking: [],
    askingCount: 0, setAsideCount: 0, unreadable: [], unreadableCount: 0, lockedZones: [],
    needsKeys: false, isResealing: false, mayBringBack: false, mayRetryParked: false,
  };
  for (const entry of entries) {
    const { zone, name, state } = entry;
    if (state.kind === "waiting" || state.kind === "sent") summary.unsent += 1;
    if (state.kind === "sent") summary.frozen ??= state.batch;
    if (state.kind === "waiting") {
      summary.waiting.set(zone, (summary.waiting.get(zone) ?? 0) + 1);
    }
    if (state.kind === "parked") {
      summary.parkedCount += 1;
      summary.mayRetryParked ||= mayPass(state.refusal);
      if (summary.parked.length < limits.statusRecords) {
        summary.parked.push({ zone, name, refusal: state.refusal });
      }
    }
    if (state.kind === "asking") {
      summary.askingCount += 1;
      if (summary.asking.length < limits.statusRecords) {
        summary.asking.push(
          { zone, name, local: localVersion(entry), server: frozen(shown(state.server)) });
      }
    }
  }
  return summary;
}

function bytesOfEntry(entry) {
  return sizeOf(entry.fields) + sizeOf(entry.base?.fields) + sizeOf(entry.timeMade?.fields);
}

const localVersion = ({ type, fields, modifiedAt }) =>
  ({ type, fields: frozen(withoutStamps(fields)), modifiedAt });

/** Returns the tag of the relay's version that the change takes into account; a greater tag is
 * new. */
export function knownTag({ state, base }) {
  if (state.kind === "asking" && state.server.tag > 0) return state.server.tag;
  return base?.tag ?? 0;
}

/** True if that version has this content. */
export function knows({ state, base }, server) {
  if (state.kind === "asking" && state.server.tag > 0) return isSameVersion(state.server, server);
  return base ? isSameVersion(base, server) : false;
}

/** True if the entry must be saved together with others. */
export const isGrouped = (entry) => typeof entry.group === "number";

/** Returns the test of a waiting entry that is true if the relay has a version of its record, or of
 * one that must be saved together with it, that this device cannot read. */
export function heldBackTest({ sealing, transaction: { outbox } }) {
  if (!sealing.hasUnreadable) return () => false;
  const unreadable = new Set(outbox.entries().filter(
    (entry) => entry.state.kind === "waiting" && sealing.isUnreadable(entry)));
  const groups = new Set([...unreadable].filter(isGrouped).map(({ group }) => group));
  return (entry) => unreadable.has(entry) || (isGrouped(entry) && groups.has(entry.group));
}

/** Returns the record that this entry makes, by `author`, at `tag`. A version of a sealed zone that
 * is saved again keeps its own author. */
export function recordOf(entry, author, tag) {
  const { zone, name, type, fields, modifiedAt, chunks } = entry;
  const device = isRepeated(entry.lineage) ? entry.base?.device ?? author : author;
  const deleted = fields === null;
  const record = { zone, name, type, fields, modifiedAt, device, tag, deleted };
  if (!deleted && chunks?.length > 0) record.chunks = chunks;
  return record;
}
