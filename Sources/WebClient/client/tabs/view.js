import { keyOf } from "../record.js";

/**
 * Records as this tab shows them: read from the store, then updated by the leading tab's messages.
 * If a message was missed, the store is read again.
 */
export class View {
  #store;
  #records = new Map();
  #step = { term: 0, number: 0 };
  #reading = Promise.resolve();
  #next = null;

  constructor(store) { this.#store = store; }

  record(zone, name) { return this.#records.get(keyOf({ zone, name })) ?? null; }

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
    const { records, values } = await this.#store.load();
    const step = new Map(values).get("step") ?? { term: 0, number: 0 };
    const live = new Map();
    for (const { record } of records) if (!record.deleted) live.set(keyOf(record), record);
    const changed = [];
    for (const [key, record] of live) {
      if (!isSame(this.#records.get(key), record)) changed.push(record);
    }
    for (const [key, record] of this.#records) {
      if (!live.has(key)) changed.push({ ...record, fields: null, deleted: true });
    }
    this.#records = live;
    this.#step = step;
    return changed;
  }

  /** @returns {object[] | null} the changed records; null if a message was missed */
  apply({ previous, step, records }) {
    if (isLater(previous, this.#step) || records === null) return null;
    if (!isLater(step, this.#step)) return [];
    for (const record of records) {
      if (record.deleted) this.#records.delete(keyOf(record));
      else this.#records.set(keyOf(record), record);
    }
    this.#step = step;
    return records;
  }
}

function isLater(left, right) {
  return left.term > right.term || (left.term === right.term && left.number > right.number);
}

function isSame(left, right) {
  return left !== undefined && left.tag === right.tag && left.modifiedAt === right.modifiedAt
    && left.device === right.device && left.type === right.type;
}
