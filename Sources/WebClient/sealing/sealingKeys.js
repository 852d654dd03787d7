import { equal, isObject } from "../json/jsonValue.js";
import { compareText } from "../json/utf8.js";
import { isName } from "../model/name.js";
import { AccountKeys, generationsMax, KeyGeneration } from "./accountKeys.js";
import { base64url, base64urlBytes } from "./base64url.js";
import { ZoneSet } from "./zoneSet.js";

const keyBytes = 32;

/**
 * Keys that a device has. Those of an account seal a set of zones; those of some zones are for a
 * device that was paired for them alone, and other zones are not sealed.
 */
export class SealingKeys {
  #account;
  #sealed;
  #zones;

  /** Called by `ofAccount` and `ofZones`. */
  constructor(account, sealed, zones) {
    this.#account = account;
    this.#sealed = sealed;
    this.#zones = zones;
  }

  /** @param {AccountKeys} keys @param {ZoneSet} sealed zones that they seal */
  static ofAccount(keys, sealed) { return new SealingKeys(keys, sealed, null); }

  /** @param {import("./accountKeys.js").ZoneKeys[]} list each zone once */
  static ofZones(list) {
    const zones = new Map(list.map((keys) => [keys.zone, keys]));
    if (zones.size < list.length) throw new RangeError("the keys of a zone are given twice");
    return new SealingKeys(null, null, zones);
  }

  /** Keys of the whole account; null if these are the keys of some zones. */
  get account() { return this.#account; }

  /** Zones that the keys of an account seal; null if these are the keys of some zones.
   * @returns {ZoneSet | null} */
  get sealed() { return this.#sealed; }

  /** Returns the keys of an account with further zones that they seal; those of some zones as they
   * are. @param {ZoneSet} zones */
  sealing(zones) {
    return this.#account ? SealingKeys.ofAccount(this.#account, this.#sealed.union(zones)) : this;
  }

  /** Returns the keys of a zone; null if it is not sealed.
   * @returns {import("./accountKeys.js").ZoneKeys | null} */
  zoneKeys(zone) {
    if (!this.#account) return this.#zones.get(zone) ?? null;
    return this.#sealed.has(zone) ? this.#account.zoneKeys(zone) : null;
  }

  /** Returns the keys of those of the zones that are sealed; null if none is.
   * @param {Iterable<string>} zones */
  limitedTo(zones) {
    const list = [...new Set(zones)].map((zone) => this.zoneKeys(zone)).filter(Boolean);
    return list.length > 0 ? SealingKeys.ofZones(list) : null;
  }

  /** True if these keys open all that the others open, and leave no zone unsealed that these
   * seal. */
  includes(other) {
    if (!other.#account) {
      return [...other.#zones.values()].every((keys) =>
        isExtension(this.zoneKeys(keys.zone), keys));
    }
    if (!this.#account) return false;
    const [own, others] = [this.storedValue, other.storedValue];
    return own.names === others.names
      && others.generations.every((secret) => own.generations.includes(secret))
      && this.#sealed.includes(other.#sealed);
  }

  /** Returns these keys with the others in place of those that they have for the same zones. Two
   * devices of one account may each have keys that the other lacks; then all of them. */
  replacedBy(other) {
    const all = this.#account && other.#account && this.#account.joined(other.#account);
    if (all) return SealingKeys.ofAccount(all, this.sealed.union(other.sealed));
    if (this.#account || other.#account) return other;
    const zones = new Map([...this.#zones, ...other.#zones]);
    return SealingKeys.ofZones([...zones.values()]);
  }

  isSame(other) { return equal(this.storedValue, other.storedValue); }

  /** The form in which a device stores them: an object for an account's keys, a list for those of
   * zones. */
  get storedValue() {
    if (!this.#account) {
      return sorted(this.#zones.keys()).map((zone) => storedZone(this.#zones.get(zone)));
    }
    return {
      names: base64url(this.#account.nameSecret()),
      generations: this.#account.generations.map((it) => base64url(it.secret())),
      ...this.#sealed.member,
    };
  }

  /** Returns the keys; null if the value is not their stored form. @param {any} value */
  static ofStored(value) {
    if (!Array.isArray(value)) return isObject(value) ? accountOf(value) : null;
    const list = value.map(zoneOf);
    const zones = new Set(list.map((keys) => keys?.zone));
    const areValid = list.length > 0 && !list.includes(null) && zones.size === list.length;
    return areValid ? SealingKeys.ofZones(list) : null;
  }
}

const sorted = (texts) => [...texts].sort(compareText);

/** True if `keys` open all that `others` open, which are of the same zone. */
function isExtension(keys, others) {
  if (!keys) return false;
  const [own, held] = [storedZone(keys), storedZone(others)];
  return own.names === held.names
    && held.generations.every((one) => own.generations.some((other) => equal(one, other)));
}

const storedZone = ({ zone, nameKey, generations }) => ({
  zone, names: base64url(nameKey),
  generations: generations.map(({ id, key }) => ({ id, key: base64url(key) })),
});

function zoneOf(value) {
  if (!isObject(value) || !isName(value.zone) || !Array.isArray(value.generations)) return null;
  const nameKey = keyIn(value.names);
  const generations = value.generations.map((it) => ({ id: it?.id, key: keyIn(it?.key) }));
  const areValid = nameKey !== null && areGenerations(generations)
    && generations.every(({ id, key }) => typeof id === "string" && key !== null);
  return areValid ? { zone: value.zone, nameKey, generations } : null;
}

function accountOf(value) {
  const nameSecret = keyIn(value.names);
  const sealed = ZoneSet.ofMember(value);
  if (!nameSecret || !sealed || !Array.isArray(value.generations)) return null;
  const secrets = value.generations.map(keyIn);
  if (secrets.includes(null)) return null;
  const generations = secrets.map((secret) => new KeyGeneration(secret));
  if (!areGenerations(generations)) return null;
  return SealingKeys.ofAccount(new AccountKeys(nameSecret, generations), sealed);
}

/** True for the number of generations that a device keeps, each with an id of its own. */
function areGenerations(generations) {
  const ids = new Set(generations.map(({ id }) => id));
  return generations.length > 0 && generations.length <= generationsMax
    && ids.size === generations.length;
}

function keyIn(text) {
  const bytes = typeof text === "string" ? base64urlBytes(text) : null;
  return bytes?.length === keyBytes ? bytes : null;
}
