import { isNumber, member, numberText, serialize } from "../../json/jsonValue.js";
import { compareText } from "../../json/utf8.js";
import { itemOf } from "./item.js";

/**
 * Items of a record type in order, kept up to date: a changed record costs a binary search, however
 * many there are.
 */
export class LiveList {
  #where;
  #compare;
  /** Items that are in the list, by id. */
  #items = new Map();
  #sorted = [];

  /** @param {{where?: (item: object) => boolean,
   *   sortBy?: string | ((left: object, right: object) => number)}} [options] */
  constructor({ where = () => true, sortBy = () => 0 } = {}) {
    this.#where = where;
    const compare = typeof sortBy === "string" ? byField(sortBy) : sortBy;
    // Two items of the same rank have an order too, the same on every device.
    this.#compare = (left, right) => compare(left, right) || compareText(left.id, right.id);
  }

  /** Fills the list. */
  fill(records) {
    this.#items = new Map(records.map(itemOf).filter(this.#where).map((item) => [item.id, item]));
    this.#sorted = [...this.#items.values()].sort(this.#compare);
  }

  /** Returns the items, in a new array. */
  get snapshot() { return this.#sorted.slice(); }

  /** Applies a changed record, without fields if it was deleted. Returns true if the list has
   * changed. */
  apply(record) {
    const known = this.#items.get(record.name);
    const item = record.fields === null ? undefined : itemOf(record);
    const isIn = item !== undefined && this.#where(item);
    if (!known && !isIn) return false;
    if (known) this.#sorted.splice(this.#indexOf(known), 1);
    if (isIn) {
      this.#sorted.splice(this.#lowerBound(item), 0, item);
      this.#items.set(record.name, item);
    } else {
      this.#items.delete(record.name);
    }
    return true;
  }

  remove(id) { return this.apply({ name: id, fields: null }); }

  #indexOf(item) {
    const index = this.#lowerBound(item);
    // A comparison of the app may not be an order.
    return this.#sorted[index] === item ? index : this.#sorted.indexOf(item);
  }

  /** Index of the first item that does not precede this one. */
  #lowerBound(item) {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(this.#sorted[middle], item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Orders by a field: false before true, then numbers, then texts by their code points, then all
 * else; items without the field last. */
function byField(name) {
  return (left, right) => compareValues(member(left, name), member(right, name));
}

function compareValues(left, right) {
  const [rank, otherRank] = [left, right].map(rankOf);
  if (rank !== otherRank) return rank - otherRank;
  switch (rank) {
    case 0: return Number(left) - Number(right);
    case 1: {
      const [one, other] = [left, right].map((it) => Number(numberText(it)));
      return one < other ? -1 : Number(one > other);
    }
    case 2: return compareText(left, right);
    case 3: return compareText(serialize(left), serialize(right));
    default: return 0;
  }
}

function rankOf(value) {
  if (value === undefined) return 4;
  if (typeof value === "boolean") return 0;
  if (isNumber(value)) return 1;
  return typeof value === "string" ? 2 : 3;
}
