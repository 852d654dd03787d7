import { compareText } from "../../json/utf8.js";
import { isName } from "../../model/name.js";
import { keysZone } from "../../sealing/keyRing.js";

/** Zones that are locked (`SealedZones`): some, or all of an account but some. */
export class ZoneLock {
  #zones;
  /** Zones that are not locked although the account is; null: the account is not.
   * @type {Set<string> | null} */
  #plainZones;

  /** @param {any} stored `storedValue`; another form locks nothing: the records do so again */
  constructor(stored) {
    this.#zones = new Set(namesIn(stored?.zones));
    this.#plainZones = Array.isArray(stored?.allBut) ? new Set(namesIn(stored.allBut)) : null;
  }

  get isEmpty() { return this.#zones.size === 0 && this.#plainZones === null; }

  /** Zones that were locked one by one. */
  get zones() { return [...this.#zones].sort(compareText); }

  has(zone) {
    if (this.#zones.has(zone)) return true;
    return this.#plainZones !== null && zone !== keysZone && !this.#plainZones.has(zone);
  }

  /** Returns true if the zone was not among `zones` before. */
  add(zone) {
    if (this.#zones.has(zone)) return false;
    this.#zones.add(zone);
    return true;
  }

  /** @param {Iterable<string>} plainZones */
  lockAllBut(plainZones) { this.#plainZones = new Set(plainZones); }

  /** Opens what these keys open.
   * @param {import("../../sealing/sealingKeys.js").SealingKeys} keys */
  open(keys) {
    for (const zone of this.#zones) if (keys.zoneKeys(zone)) this.#zones.delete(zone);
    if (keys.account) this.#plainZones = null;
  }

  /** undefined if nothing is locked. */
  get storedValue() {
    if (this.isEmpty) return undefined;
    const all = this.#plainZones && { allBut: [...this.#plainZones].sort(compareText) };
    return { zones: this.zones, ...all };
  }
}

const namesIn = (list) => (Array.isArray(list) ? list.filter(isName) : []);
