import { equal } from "../../changes/json.js";
import { sizeOf } from "../fields.js";
import { keyOf } from "../record.js";
import { knownTag, Outbox } from "./outbox.js";

/**
 * A device's records, outbox and notes, as they stand with the step that is being made, and what
 * of them the store must be told. Knows how to write, not what.
 *
 * @typedef {{record: import("../record.js").Record, snapshot: number, isLost: boolean}} Row
 */
export class Ledger {
  /** The record as the screen shows it: with a local edit not yet acknowledged, the edited one,
   * whose `tag` stays that of the version it was made on.
   * @type {Map<string, Row>} */
  #rows;
  #values;
  #dirty = { records: new Set(), outbox: new Set(), values: new Set() };
  #lostNow = new Set();
  /** What stood there before the step. */
  #before = new Map();

  /** @param {{records: Row[], outbox: object[], values: [string, any][]}} contents */
  constructor({ records, outbox, values }) {
    this.#rows = new Map(records.map((row) => [keyOf(row.record), row]));
    this.outbox = new Outbox(outbox);
    this.#values = new Map(values);
  }

  // records

  record(key) { return this.#rows.get(key)?.record; }

  /** All that is held and not deleted, of a zone and a type where they are named. */
  records(zone, type) {
    const found = [];
    for (const { record } of this.#rows.values()) {
      if (record.deleted || (zone !== undefined && record.zone !== zone)) continue;
      if (type === undefined || record.type === type) found.push(record);
    }
    return found.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }

  /** `snapshot`: the number of the one that names it. A record that is put is not lost. */
  put(record, snapshot = 0) {
    const key = keyOf(record);
    const named = Math.max(this.#rows.get(key)?.snapshot ?? 0, snapshot);
    this.#write(key, { record, snapshot: named, isLost: false });
  }

  removeRecord(key) { this.#write(key, undefined); }

  /** The snapshot of this number names the record, which stands as it is. What this very step has
   * found lost stays lost. */
  name(key, snapshot) {
    const row = this.#rows.get(key);
    if (this.#lostNow.has(key)) return;
    if (row && (row.snapshot !== snapshot || row.isLost)) {
      this.#write(key, { ...row, snapshot, isLost: false });
    }
  }

  /** The relay has lost what is held: it waits to be brought back. */
  lose(key) {
    const row = this.#rows.get(key);
    if (!row) return;
    this.#lostNow.add(key);
    this.#write(key, { ...row, isLost: true });
  }

  isLost(key) { return this.#rows.get(key)?.isLost ?? false; }

  /** What the snapshot of this number did not name, but for what is lost. */
  unnamed(snapshot) {
    return [...this.#rows.values()].filter((row) => row.snapshot !== snapshot && !row.isLost)
      .map((row) => row.record);
  }

  /** At most `count`, and at most `bytes` of fields, but one at least. */
  lostRecords(count, bytes) {
    const lost = [];
    let room = bytes;
    for (const { record, isLost } of this.#rows.values()) {
      if (!isLost) continue;
      room -= sizeOf(record.fields);
      if (lost.length === count || (room < 0 && lost.length > 0)) break;
      lost.push(record);
    }
    return lost;
  }

  greatestTag() { return this.tags().reduce((greatest, tag) => Math.max(greatest, tag), 0); }

  /** All tags that anything here refers to. */
  tags() {
    const tags = [...this.#rows.values()].map(({ record }) => record.tag);
    for (const entry of this.outbox.entries()) tags.push(entry.base?.tag ?? 0, knownTag(entry));
    return tags;
  }

  // the outbox and the notes

  putEntry(entry) {
    this.outbox.put(entry);
    this.#dirty.outbox.add(entry.number);
  }

  removeEntry(entry) {
    this.outbox.remove(entry.number);
    this.#dirty.outbox.add(entry.number);
  }

  value(key) { return this.#values.get(key); }

  /** `undefined` removes it. */
  setValue(key, value) {
    if (equal(this.#values.get(key), value)) return;
    if (value === undefined) this.#values.delete(key);
    else this.#values.set(key, value);
    this.#dirty.values.add(key);
  }

  // the step

  get hasChanges() { return Object.values(this.#dirty).some((keys) => keys.size > 0); }

  /** Zones of which the step has written records. */
  get writtenZones() {
    return new Set([...this.#dirty.records].map((key) => key.slice(0, key.indexOf("\n"))));
  }

  /**
   * Ends the step. `writes`: for the store, one transaction; without `value` the key goes.
   * `changed`: each record that may be another one now, before and after.
   */
  finish() {
    const read = {
      records: (key) => this.#rows.get(key),
      outbox: (number) => this.outbox.entry(number),
      values: (key) => this.#values.get(key),
    };
    const writes = [];
    for (const [store, keys] of Object.entries(this.#dirty)) {
      for (const key of keys) writes.push({ store, key, value: read[store](key) });
      keys.clear();
    }
    const changed = [...this.#before].map(([key, before]) => ({ before, now: this.record(key) }));
    this.#before.clear();
    this.#lostNow.clear();
    return { writes, changed };
  }

  #write(key, row) {
    if (!this.#before.has(key)) this.#before.set(key, this.record(key));
    if (row) this.#rows.set(key, row);
    else this.#rows.delete(key);
    this.#dirty.records.add(key);
  }
}
