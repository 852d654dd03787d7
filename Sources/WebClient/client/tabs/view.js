import { frozen } from "../../json/jsonValue.js";
import { shown } from "../../model/stamps.js";
import { keyOf } from "../record.js";
import { summaryOf } from "../replica/outbox.js";

/**
 * Records as this tab shows them, without the stamps of their fields: read from the store, then
 * updated by the leading tab's messages. If a message was missed, the store is read again. They are
 * frozen, because the store and the agent share their fields.
 */
export class View {
  /** What the store held besides the records at the last read: the summary of the outbox, and the
   * values. */
  outbox = summaryOf([]);
  values = new Map();
  #store;
  #records = new Map();
  /** The same records with the stamps of their fields. */
  #held = new Map();
  #step = { term: 0, number: 0 };
  #reading = Promise.resolve();
  #next = null;

  constructor(store) { this.#store = store; }

  record(zone, name) { return this.#records.get(keyOf({ zone, name })) ?? null; }

  heldRecord(zone, name) { return this.#held.get(keyOf({ zone, name })) ?? null; }

  records(zone, type) {
    const found = [];
    for (const record of this.#records.values()) {
      if (zone !== undefined && record.zone !== zone) continue;
      if (type === undefined || record.type === type) found.push(record);
    }
    return found.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }

  /**
   * Reads the store. Calls during a read share one further read.
   * @returns {Promise<object[]>} the changed records
   */
  read() {
    if (this.#next) return this.#next;
    const readNext = () => {
      this.#reading = this.#next;
      this.#next = null;
      return this.#readOnce();
    };
    this.#next = this.#reading.then(readNext, readNext);
    return this.#next;
  }

  async #readOnce() {
    const { records, outbox, values } = await this.#store.load();
    this.outbox = summaryOf(outbox);
    this.values = new Map(values);
    const step = this.values.get("step") ?? { term: 0, number: 0 };
    const live = new Map();
    for (const { record } of records) if (!record.deleted) live.set(keyOf(record), record);
    const changed = [];
    for (const [key, record] of live) {
      const before = this.#held.get(key);
      this.#put(key, record);
      if (!isSame(before, record)) changed.push(this.#records.get(key));
    }
    for (const [key, record] of [...this.#records]) {
      if (live.has(key)) continue;
      changed.push({ ...record, fields: null, deleted: true });
      this.#remove(key);
    }
    this.#step = step;
    return changed;
  }

  /** `tagged`: missing in the message of an earlier version of the page.
   * @returns {object[] | null} the changed records; null if a message was missed */
  apply({ previous, step, records, tagged = [] }) {
    if (isLater(previous, this.#step) || records === null) return null;
    if (!isLater(step, this.#step)) return [];
    for (const record of records) {
      if (record.deleted) this.#remove(keyOf(record));
      else this.#put(keyOf(record), record);
    }
    for (const { tag, ...place } of tagged) {
      const held = this.#held.get(keyOf(place));
      if (held) this.#put(keyOf(place), { ...held, tag });
    }
    this.#step = step;
    return records.map((it) => (it.deleted ? it : this.#records.get(keyOf(it))));
  }

  #put(key, record) {
    this.#held.set(key, record);
    this.#records.set(key, frozen(shown(record)));
  }

  #remove(key) {
    this.#held.delete(key);
    this.#records.delete(key);
  }
}

function isLater(left, right) {
  return left.term > right.term || (left.term === right.term && left.number > right.number);
}

function isSame(left, right) {
  return left !== undefined && left.tag === right.tag && left.modifiedAt === right.modifiedAt
    && left.device === right.device && left.type === right.type;
}
