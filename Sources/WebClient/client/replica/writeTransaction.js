import { equal } from "../../json/jsonValue.js";
import { sizeOf } from "../fields.js";
import { limits } from "../limits.js";
import { fingerprint, isSameVersion, keyOf, plain } from "../record.js";
import { restoredVersions, storedVersions } from "./lineage.js";
import { knownTag, Outbox } from "./outbox.js";

/**
 * A device's records, outbox and stored values, with the changes of the current transaction.
 * Writes, and makes no decisions. `version`: which one it is, of a sealed zone; missing in other
 * zones, and for one that the relay has not acknowledged (see `lineage`). A store has a text in the
 * place of versions and lineages.
 *
 * @typedef {{record: import("../record.js").Record, snapshot: number, isLost: boolean,
 *   ancestors?: string[],
 *   version?: import("../../sealing/recordVersion.js").RecordVersion}} Row
 */
export class WriteTransaction {
  /**
   * Records as shown: with a local edit that is not acknowledged yet, the edited record, whose
   * `tag` stays that of the version on which the edit was made.
   * @type {Map<string, Row>}
   */
  #rows;
  #values;
  #dirty = { records: new Set(), outbox: new Set(), values: new Set() };
  #lostNow = new Set();
  /** Records before the transaction. */
  #before = new Map();

  /** @param {{records: Row[], outbox: object[], values: [string, any][]}} contents */
  constructor({ records, outbox, values }) {
    this.#rows = new Map(records.map((row) => [keyOf(row.record), restoredVersions(row)]));
    this.outbox = new Outbox(outbox.map(restoredVersions));
    this.#values = new Map(values);
  }

  // records

  record(key) { return this.#rows.get(key)?.record; }

  /** Returns the live records, by zone and name; only those of a zone and a type if given. */
  records(zone, type) {
    const found = [];
    for (const { record } of this.#rows.values()) {
      if (record.deleted || (zone !== undefined && record.zone !== zone)) continue;
      if (type === undefined || record.type === type) found.push(record);
    }
    return found.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }

  /** Returns all records of a zone, deleted ones included. */
  allRecords(zone) {
    return [...this.#rows.values()].map(({ record }) => record)
      .filter((record) => record.zone === zone);
  }

  /** Zones of which the device has records, deleted ones included, or changes. */
  get zones() {
    const records = [...this.#rows.values()].map(({ record }) => record);
    return new Set([...records, ...this.outbox.entries()].map(({ zone }) => zone));
  }

  /** Stores a record, which is then not lost. `snapshot`: number of the snapshot that names it.
   * `replaced`: versions on which the record was made. `version`: which one it is, of a sealed zone
   * without a local change. */
  put(record, snapshot = 0, replaced = [], version = null) {
    const key = keyOf(record);
    const row = this.#rows.get(key);
    const named = Math.max(row?.snapshot ?? 0, snapshot);
    // A tombstone without a tag stands for no record, or for one that the relay has lost.
    const others = replaced.filter((other) => other
      && !(other.deleted && other.tag === 0) && !isSameVersion(other, record));
    const known = row?.ancestors ?? [];
    // A record names them with each of its versions.
    const made = others.map(fingerprint).filter((print) => !known.includes(print));
    const included = [record, ...others].flatMap((other) => other.includes ?? [])
      .filter((print) => !known.includes(print) && !made.includes(print));
    const prints = [...included, ...made];
    const ancestors = [...known, ...prints].slice(-limits.ancestors);
    this.#write(key, {
      record: plain(record), snapshot: named, isLost: false,
      ...(ancestors.length > 0 ? { ancestors } : {}), ...(version ? { version } : {}),
    });
  }

  /** Returns the version that is held; null if there is none, or it has a local change. */
  version(key) { return this.#rows.get(key)?.version ?? null; }

  /** Returns the fingerprints of versions that the record has replaced, oldest first. */
  ancestors(key) { return this.#rows.get(key)?.ancestors ?? []; }

  removeRecord(key) { this.#write(key, undefined); }

  /** Marks the record as named by the snapshot with this number; the record itself does not change.
   * A record that was found lost in this transaction stays lost. */
  markNamed(key, snapshot) {
    const row = this.#rows.get(key);
    if (this.#lostNow.has(key)) return;
    if (row && (row.snapshot !== snapshot || row.isLost)) {
      this.#write(key, { ...row, snapshot, isLost: false });
    }
  }

  /** Marks a record as lost by the relay: it waits to be saved again. */
  markLost(key) {
    const row = this.#rows.get(key);
    if (!row) return;
    this.#lostNow.add(key);
    this.#write(key, { ...row, isLost: true });
  }

  isLost(key) { return this.#rows.get(key)?.isLost ?? false; }

  /** Returns the records that the snapshot with this number did not name, except lost ones. */
  unnamed(snapshot) {
    return [...this.#rows.values()].filter((row) => row.snapshot !== snapshot && !row.isLost)
      .map((row) => row.record);
  }

  /** Returns at least one lost record, if there is any; at most `count`, and at most `bytes` of
   * fields. */
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

  /** Returns all tags that any record or outbox entry refers to. */
  tags() {
    const tags = [...this.#rows.values()].map(({ record }) => record.tag);
    for (const entry of this.outbox.entries()) tags.push(entry.base?.tag ?? 0, knownTag(entry));
    return tags;
  }

  // the outbox and stored values

  putEntry(entry) {
    this.outbox.put(entry);
    this.#dirty.outbox.add(entry.number);
  }

  removeEntry(entry) {
    this.outbox.remove(entry.number);
    this.#dirty.outbox.add(entry.number);
  }

  value(key) { return this.#values.get(key); }

  /** `undefined` removes the value. */
  setValue(key, value) {
    if (equal(this.#values.get(key), value)) return;
    if (value === undefined) this.#values.delete(key);
    else this.#values.set(key, value);
    this.#dirty.values.add(key);
  }

  // the transaction

  get hasChanges() { return Object.values(this.#dirty).some((keys) => keys.size > 0); }

  /** Zones in which the transaction has written records. */
  get writtenZones() {
    return new Set([...this.#dirty.records].map((key) => key.slice(0, key.indexOf("\n"))));
  }

  /**
   * Ends the transaction. `writes`: for the store, one transaction; an entry without `value`
   * deletes its key. `changed`: each record that may have changed, before and after.
   */
  finish() {
    const read = {
      records: (key) => storedVersions(this.#rows.get(key)),
      outbox: (number) => storedVersions(this.outbox.entry(number)),
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
