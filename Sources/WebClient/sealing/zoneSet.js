import { compareText } from "../json/utf8.js";
import { isName } from "../model/name.js";

/**
 * Zones that an account's keys seal: all but some, also those that an app makes later, in an
 * account that was sealed when it was made; or some alone, in one that had plain zones before. A
 * zone that is among them once stays among them.
 */
export class ZoneSet {
  #isAllBut;
  #zones;

  /** Called by `allBut` and `only`. */
  constructor(isAllBut, zones) {
    this.#isAllBut = isAllBut;
    this.#zones = new Set(zones);
    Object.freeze(this);
  }

  /** Every zone but these. @param {Iterable<string>} zones */
  static allBut(zones) { return new ZoneSet(true, zones); }

  /** These zones alone. @param {Iterable<string>} zones */
  static only(zones) { return new ZoneSet(false, zones); }

  static empty = ZoneSet.only([]);

  get isEmpty() { return !this.#isAllBut && this.#zones.size === 0; }

  /** True if these are some zones alone. */
  get isOnly() { return !this.#isAllBut; }

  has(zone) { return this.#zones.has(zone) !== this.#isAllBut; }

  /** True if all zones of the other set are in this one. @param {ZoneSet} other */
  includes(other) {
    if (!other.#isAllBut) return [...other.#zones].every((zone) => this.has(zone));
    return this.#isAllBut && [...this.#zones].every((zone) => !other.has(zone));
  }

  /** @param {ZoneSet} other */
  union(other) {
    if (!this.#isAllBut && !other.#isAllBut) {
      return ZoneSet.only([...this.#zones, ...other.#zones]);
    }
    const [all, others] = this.#isAllBut ? [this, other] : [other, this];
    return ZoneSet.allBut([...all.#zones].filter((zone) => !others.has(zone)));
  }

  /** The form in which records and devices keep it: one member of an object. */
  get member() {
    const zones = [...this.#zones].sort(compareText);
    return this.#isAllBut ? { plain: zones } : { only: zones };
  }

  /** Returns the set of an object with that member; null if it has none, both, or other values.
   * @param {any} object */
  static ofMember(object) {
    const { plain, only } = object ?? {};
    const isOne = Array.isArray(plain) !== Array.isArray(only);
    const zones = Array.isArray(plain) ? plain : only;
    if (!isOne || !zones.every(isName)) return null;
    return new ZoneSet(Array.isArray(plain), zones);
  }
}
