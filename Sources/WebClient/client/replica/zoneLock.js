import { compareText } from "../../json/utf8.js";
import { isName } from "../../model/name.js";
import { keysZone } from "../../sealing/keyRing.js";
import { ZoneSet } from "../../sealing/zoneSet.js";

/** Zones that are locked (`SealedZones`): those of which sealed records have come, and those that
 * the record of the account's keys names. */
export class ZoneLock {
  #zones;
  #account;

  /** @param {any} stored `storedValue`; another form locks nothing: the records do so again */
  constructor(stored) {
    this.#zones = new Set(namesIn(stored?.zones));
    this.#account = ZoneSet.ofMember(stored) ?? ZoneSet.empty;
  }

  get isEmpty() { return this.#zones.size === 0 && this.#account.isEmpty; }

  /** Zones of which sealed records have come. */
  get zones() { return [...this.#zones].sort(compareText); }

  has(zone) { return this.#zones.has(zone) || (zone !== keysZone && this.#account.has(zone)); }

  /** Returns true if the zone was not among `zones` before. */
  add(zone) {
    if (this.#zones.has(zone)) return false;
    this.#zones.add(zone);
    return true;
  }

  /** Locks further zones of the account. @param {ZoneSet} sealed */
  addAccount(sealed) { this.#account = this.#account.union(sealed); }

  /** Opens what these keys open.
   * @param {import("../../sealing/sealingKeys.js").SealingKeys} keys */
  open(keys) {
    for (const zone of this.#zones) if (keys.zoneKeys(zone)) this.#zones.delete(zone);
    if (keys.account) this.#account = ZoneSet.empty;
  }

  /** undefined if nothing is locked. */
  get storedValue() {
    return this.isEmpty ? undefined : { zones: this.zones, ...this.#account.member };
  }
}

const namesIn = (list) => (Array.isArray(list) ? list.filter(isName) : []);
