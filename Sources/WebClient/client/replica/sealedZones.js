import { equal } from "../../json/jsonValue.js";
import { hexBytes, is64Bits } from "../../sealing/hex.js";
import { plainVersion, RecordVersion } from "../../sealing/recordVersion.js";
import { SealingKeys } from "../../sealing/sealingKeys.js";
import { vectorEntriesMax, VersionVector } from "../../sealing/versionVector.js";
import { x25519Bytes } from "../../sealing/x25519.js";
import { ZoneSeal } from "../../sealing/zoneSeal.js";
import { ZoneSet } from "../../sealing/zoneSet.js";
import { sizeOf } from "../fields.js";
import { limits } from "../limits.js";
import { keyOf } from "../record.js";
import { StoreError } from "../store/memoryStore.js";
import { KeyMembers } from "./keyMembers.js";
import { ZoneLock } from "./zoneLock.js";

/** Names of the stored values. */
export const storedSeals = {
  keys: "seal.keys", unreadable: "seal.unreadable", writer: "seal.writer", locked: "seal.locked",
  privateKey: "seal.device", members: "seal.members", resealing: "seal.resealing",
};

/**
 * Reason that a record cannot be read, as it is stored: the kind of a `SealFault`, and the id of
 * the generation of keys that is missing, null for another fault. `tag`: that of a record that is
 * not sealed.
 *
 * @typedef {{kind: string, keyId: string | null, tag?: number}} Fault
 */

/**
 * Sealed zones: the replica works on opened records, and only sealed ones leave it. A relay cannot
 * make a valid record, but it can withhold, delete and repeat. So in a sealed zone
 *
 * - a record that does not open is neither taken nor overwritten: it is listed as unreadable, and
 *   local changes to it wait;
 * - a tombstone of the relay, or a record's absence from a snapshot, deletes nothing: what is held
 *   is saved again. A deletion is a sealed record (`ZoneSeal`);
 * - the versions that are sealed in the records (`RecordVersion`) decide which of two versions
 *   includes the other, and not their tags and times: a version that the held one includes is a
 *   former version, and the held one is saved again; versions that do not include each other are
 *   merged.
 *
 * A zone is *locked* once the relay has had a sealed record of it, or the record of the account's
 * keys, and this device has no keys: it takes nothing of the zone, and sends nothing, until it has
 * the keys.
 */
export class SealedZones {
  /** This replica as the writer of versions; null until it makes one. See `writer.js`.
   * @type {import("./writer.js").Writer | null} */
  writer = null;
  /** null if no zone is sealed. A zone that was sealed once is never taken for a plain one.
   * @type {SealingKeys | null} */
  #held = null;
  /** By zone, null for one that is not sealed; each made once. */
  #seals = new Map();
  /** Records at the relay that this device cannot read, by their keys there, with the fault: those
   * that came with the changes, and those that the relay has reported as conflicts with a change.
   * The latter are not stored: the change is tried again after a reload. */
  #unreadable = new Map();
  #conflicts = new Map();
  /** True if more of them were found than are listed. Until all are read again, no local change to
   * an unlisted record can replace one: the relay refuses it as a conflict. */
  #hasMore = false;
  /** @type {ZoneLock} */
  lock;
  /** Zones that another device has sealed, and this one will, once their changes in flight are
   * answered. */
  awaited = ZoneSet.empty;
  /** This device's own key, for new keys of the account; null until it has one.
   * @type {Uint8Array | null} */
  privateKey;
  /** @type {KeyMembers} */
  members;
  /** Names of records at the relay, computed once each. */
  #relayNames = new Map();

  /**
   * @param {{keys?: any, unreadable?: any, writer?: any, locked?: any, privateKey?: any,
   *   members?: any}} stored `keys`:
   *   `SealingKeys.storedValue`, undefined if no zone is sealed; `unreadable`: `storedUnreadable`;
   *   `writer`: made anew if it is not readable; `locked`: `ZoneLock.storedValue`;
   *   `privateKey`: in hexadecimal; `members`: `KeyMembers.storedValue`
   * @throws {StoreError} if the keys are not readable: without them, the device would send the
   *   records of a sealed zone as they are
   */
  constructor({ keys, unreadable, writer, locked, privateKey, members }) {
    this.lock = new ZoneLock(locked);
    this.privateKey = privateKeyIn(privateKey);
    this.members = new KeyMembers(members);
    this.#restoreUnreadable(unreadable);
    if (keys === undefined) return;
    const held = SealingKeys.ofStored(keys);
    if (!held) {
      throw new StoreError("failed", "the keys of this device's sealed zones are not readable; "
        + "sign out here, and pair the device again");
    }
    this.adopt(held);
    if (isWriter(writer)) this.writer = writer;
  }

  get isEmpty() { return this.#held === null; }

  /** Keys of the sealed zones; null if none is sealed. */
  get held() { return this.#held; }

  /** @param {SealingKeys} keys */
  adopt(keys) {
    this.#held = keys;
    this.#seals.clear();
    this.lock.open(keys);
  }

  isLocked(zone) { return this.lock.has(zone) && !this.isSealed(zone); }

  /** Returns the ids of the generations with which unreadable records of the zone are sealed. */
  missingKeysOf(zone) {
    const faults = [...this.#all].filter(([key]) => placeOf(key).zone === zone);
    return new Set(faults.map(([, { keyId }]) => keyId).filter((id) => id !== null));
  }

  /** Returns the seal of a zone; null if the zone is not sealed. @returns {ZoneSeal | null} */
  seal(zone) {
    if (!this.#held) return null;
    let seal = this.#seals.get(zone);
    if (seal === undefined) {
      const keys = this.#held.zoneKeys(zone);
      seal = keys ? new ZoneSeal(keys) : null;
      if (this.#seals.size >= limits.zoneSealsKept) this.#seals.clear();
      this.#seals.set(zone, seal);
    }
    return seal;
  }

  isSealed(zone) { return this.seal(zone) !== null; }

  // records

  /** Returns the record's key at the relay. */
  relayKey({ zone, name }) {
    const seal = this.seal(zone);
    if (!seal) return keyOf({ zone, name });
    const key = keyOf({ zone, name });
    let relayKey = this.#relayNames.get(key);
    if (relayKey === undefined) {
      relayKey = keyOf({ zone, name: seal.name(name) });
      if (this.#relayNames.size >= limits.relayNamesKept) this.#relayNames.clear();
      this.#relayNames.set(key, relayKey);
    }
    return relayKey;
  }

  /** Returns the bytes of the fields that the relay would store, at most. */
  relaySize({ zone, name, type, fields }) {
    const seal = this.seal(zone);
    return seal ? seal.sealedLength({ name, type, fields, version: fullVersion }) : sizeOf(fields);
  }

  // what cannot be read

  /** True if the relay is known to have records that the device cannot read. */
  get hasUnreadable() {
    return this.#unreadable.size > 0 || this.#hasMore || this.#conflicts.size > 0
      || !this.lock.isEmpty || !this.awaited.isEmpty;
  }

  /** True if the relay has a version of this record that the device cannot read, or may have
   * one. */
  isUnreadable(record) {
    const { zone } = record;
    const isSealed = this.isSealed(zone);
    if (!isSealed && (this.lock.has(zone) || this.awaited.has(zone))) return true;
    if (!this.hasUnreadable || !isSealed) return false;
    const key = this.relayKey(record);
    return this.#unreadable.has(key) || this.#conflicts.has(key);
  }

  /** Their number; one more stands for those that are not listed. */
  get unreadableCount() { return this.#all.size + (this.#hasMore ? 1 : 0); }

  /** Returns the first of them, with their names at the relay. */
  firstUnreadable(count) {
    return sorted(this.#all).slice(0, count)
      .map(([key, { kind, keyId }]) => ({ ...placeOf(key), kind, keyId }));
  }

  get #all() { return new Map([...this.#conflicts, ...this.#unreadable]); }

  /**
   * Notes that a record at the relay can be read (null), or cannot be. Returns true if that changed
   * what is stored.
   *
   * @param {{zone: string, name: string, tag: number}} record
   * @param {import("../../sealing/zoneSeal.js").SealFault | null} fault
   */
  note(record, fault) {
    const key = keyOf(record);
    this.#conflicts.delete(key);
    if (!fault) return this.#unreadable.delete(key);
    const isPlain = fault.kind === "notSealed";
    const noted = { ...faultOf(fault), ...isPlain && { tag: record.tag } };
    if (equal(this.#unreadable.get(key), noted)) return false;
    if (!this.#unreadable.has(key) && this.#unreadable.size >= limits.unreadableRecords) {
      const isNews = !this.#hasMore;
      this.#hasMore = true;
      return isNews;
    }
    this.#unreadable.set(key, noted);
    return true;
  }

  /** Notes that this version of a record includes the one that is not sealed, if the relay has one.
   * Returns true if that changed what is stored. */
  noteIncluded({ zone, name, version }) {
    if (this.#unreadable.size === 0) return false;
    const key = keyOf({ zone, name });
    const plain = plainVersion(this.#unreadable.get(key)?.tag ?? 0);
    return plain !== null && version.vector.names(plain.id) && this.#unreadable.delete(key);
  }

  noteConflict(key, fault) { this.#conflicts.set(key, faultOf(fault)); }

  retryConflicts() { this.#conflicts.clear(); }

  /** Forgets what came with the changes. Returns true if there was any. */
  forgetUnreadable() {
    if (this.#unreadable.size === 0 && !this.#hasMore) return false;
    this.#unreadable.clear();
    this.#hasMore = false;
    return true;
  }

  get storedUnreadable() {
    const records = sorted(this.#unreadable).map(
      ([key, { kind, keyId, ...tag }]) => ({ ...placeOf(key), fault: kind, key: keyId, ...tag }));
    return { more: this.#hasMore, records };
  }

  #restoreUnreadable(stored) {
    this.#hasMore = stored?.more === true;
    for (const { zone, name, fault: kind, key: keyId, ...tag } of stored?.records ?? []) {
      this.#unreadable.set(keyOf({ zone, name }), { kind, keyId, ...tag });
    }
  }
}

/** Version of the greatest length: a change's own is known only when it is sent. */
const fullVersion = new RecordVersion({ writer: "f".repeat(16), number: 1 },
  new VersionVector(Array.from({ length: vectorEntriesMax }, (_, index) =>
    ({ writer: index.toString(16).padStart(16, "0"), number: 1 }))));

/** Returns null for another form: the device then makes another key. */
function privateKeyIn(stored) {
  const bytes = typeof stored === "string" ? hexBytes(stored) : null;
  return bytes?.length === x25519Bytes ? bytes : null;
}

const isWriter = (value) => is64Bits(value?.id) && Number.isSafeInteger(value.greatest)
  && value.greatest >= 0;

const sorted = (faults) => [...faults].sort(([one], [other]) => (one < other ? -1 : 1));

const faultOf = ({ kind, keyId }) => ({ kind, keyId: keyId ?? null });

function placeOf(key) {
  const at = key.indexOf("\n");
  return { zone: key.slice(0, at), name: key.slice(at + 1) };
}
