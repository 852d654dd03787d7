import { namesUnsealedFiles } from "../../model/fileReference.js";
import { isRing, keysInRing, sealedZonesIn } from "../../sealing/keyRing.js";
import { SealingKeys } from "../../sealing/sealingKeys.js";
import { SealFault, ZoneSeal } from "../../sealing/zoneSeal.js";
import { keyOf, standsForLost } from "../record.js";
import { EditError } from "./editing.js";
import { recordOf, waiting } from "./outbox.js";
import { includesPlain, makeSealed } from "./plainZones.js";
import { readAgain } from "./restore.js";
import { storedSeals } from "./sealedZones.js";
import { noteOwnVersions } from "./writer.js";

// The boundary of sealed zones: keys, and records of the relay (`SealedZones`).

/**
 * Adopts keys, of zones that are sealed from now on. Returns false if the device has had them.
 *
 * @param {any} stored `SealingKeys.storedValue`
 */
export function adoptSeals(state, stored) {
  if (!state.identity) throw refused("the device has no account yet; join one first");
  return writeSeals(state, checkedSeals(state, stored));
}

/**
 * Returns the keys that the device has with these. Writes nothing.
 *
 * @param {any} stored `SealingKeys.storedValue`
 * @param {{replacesPlain?: boolean}} [options] `replacesPlain`: for keys of an account that seals
 *   these zones already. Plain records of them are then not refused. In an account that has always
 *   sealed them, they are foreign: the device drops them, and seals its own changes that wait. In
 *   one that had plain zones before (`ZoneSet.only`), they are the zone's records.
 * @throws {EditError} if they cannot be adopted
 */
export function checkedSeals(state, stored, { replacesPlain = false } = {}) {
  const keys = SealingKeys.ofStored(stored);
  if (!keys) throw refused("the keys are not those of a device; pair it again");
  const { held } = state.sealing;
  const adopted = held?.replacedBy(keys) ?? keys;
  if (held && !held.sealed?.isEmpty && !adopted.includes(held)) {
    throw refused("this device has sealed records, and their key is not among the new ones; "
      + "sign out here first");
  }
  for (const zone of state.sealing.lock.zones) checkOpening(state, adopted.zoneKeys(zone));
  for (const zone of newlySealed(state, adopted)) {
    if (replacesPlain) checkSent(state, zone);
    else checkZone(state, adopted.zoneKeys(zone));
  }
  return adopted;
}

/** Writes what `checkedSeals` has returned for the same options. Returns false if the device has
 * had these keys. */
export function writeSeals(state, adopted, { replacesPlain = false } = {}) {
  const { sealing, transaction } = state;
  if (sealing.held?.isSame(adopted)) return false;
  for (const zone of newlySealed(state, adopted)) {
    if (replacesPlain && adopted.sealed?.isOnly) {
      makeSealed(state, zone);
    } else {
      if (replacesPlain) forgetPlainVersions(state, zone);
      removeRead(state, zone);
    }
  }
  sealing.adopt(adopted);
  sealing.retryConflicts();
  transaction.setValue(storedSeals.keys, adopted.storedValue);
  if (transaction.value(storedSeals.locked)) storeUnreadable(state);
  readAgain(state);
  return true;
}

const refused = (words) => new EditError("refused", words);

/** Returns the zones with records or changes that the new keys seal, and the held ones do not. */
function newlySealed({ sealing, transaction }, keys) {
  return [...transaction.zones].filter((zone) => keys.zoneKeys(zone) && !sealing.isSealed(zone));
}

/** Checks that the keys open some of what the relay has in a locked zone. `keys`: null if the zone
 * stays locked. */
function checkOpening({ sealing }, keys) {
  const missing = keys ? sealing.missingKeysOf(keys.zone) : new Set();
  if (missing.size > 0 && !keys.generations.some(({ id }) => missing.has(id))) {
    throw refused(`zone ${keys.zone} is sealed with a key that is not among these; use a code of a `
      + "device that shows its records");
  }
}

/** Checks that nothing of the zone has left the device unsealed. */
function checkZone({ transaction }, keys) {
  const { zone } = keys;
  const entries = transaction.outbox.entries().filter((entry) => entry.zone === zone);
  const haveLeft = entries.some(({ state, firstSent, base }) =>
    state.kind === "sent" || state.kind === "parked" || typeof firstSent === "number"
      || (base && (base.tag > 0 || standsForLost(base))));
  const seal = new ZoneSeal(keys);
  const areSealed = transaction.allRecords(zone).every((record) =>
    transaction.outbox.open(keyOf(record)) || seal.open(record).record);
  if (haveLeft || !areSealed) {
    throw refused(`zone ${zone} has records here that are not sealed; sign out here first`);
  }
  if (entries.some(namesUnsealedFiles)) {
    throw refused(`zone ${zone} has files that are not sealed`);
  }
}

/** Checks that no change of the zone is on its way to the relay. */
function checkSent({ transaction }, zone) {
  const isSent = ({ state, zone: other }) => state.kind === "sent" && other === zone;
  if (transaction.outbox.entries().some(isSent)) {
    throw refused(`a change of zone ${zone} is on its way to the relay without a seal; try again, `
      + "or sign out here first");
  }
}

/** Makes the changes that wait new ones, whatever they were made on: that was not sealed. */
function forgetPlainVersions(state, zone) {
  const { transaction } = state;
  for (const entry of transaction.outbox.entries().filter((it) => it.zone === zone)) {
    if (entry.fields === null) {
      transaction.removeEntry(entry);
      transaction.removeRecord(keyOf(entry));
      continue;
    }
    const { lineage, ...change } = entry;
    const made = { ...change, state: waiting, base: null, firstSent: null };
    transaction.putEntry(made);
    transaction.put(recordOf(made, state.device, 0));
  }
}

/** Removes the records that have arrived before the keys: the snapshot that follows brings them.
 * Changes that no relay has seen stay, and are sealed when they are sent. */
function removeRead({ transaction }, zone) {
  for (const record of transaction.allRecords(zone)) {
    const key = keyOf(record);
    if (!transaction.outbox.open(key)) transaction.removeRecord(key);
  }
}

/** Reads again what could not be read, at a person's request. */
export function retryUnreadable(state) {
  state.sealing.retryConflicts();
  if (state.sealing.hasUnreadable) readAgain(state);
}

/** Forgets what could not be read, at the beginning of a snapshot: it brings all of it again, and
 * does not name what the relay has deleted since. */
export function forgetUnreadable(state) {
  state.sealing.retryConflicts();
  if (state.sealing.forgetUnreadable()) storeUnreadable(state);
}

function storeUnreadable(state) {
  const { sealing, transaction } = state;
  transaction.setValue(storedSeals.unreadable, sealing.storedUnreadable);
  storeLock(state);
}

function storeLock({ sealing, transaction }) {
  transaction.setValue(storedSeals.locked, sealing.lock.storedValue);
}

/** Locks the sealed zones if a page shows that the account is sealed, and this device has no keys.
 *
 * @param {Arrived[]} arrivals */
export function lockSealedAccount(state, arrivals) {
  const { held, lock } = state.sealing;
  const sealsNothing = held === null || held.sealed?.isEmpty;
  if (!sealsNothing || state.scope?.zones) return;
  for (const record of arrivals) {
    // What opens with the device's keys is sealed by them (`sealFurtherZones`).
    if (!isRing(record) || (held && keysInRing(record.fields, held.account.current).keys)) continue;
    lock.addAccount(sealedZonesIn(record.fields));
    storeLock(state);
  }
}

// from the relay

/**
 * News of a relay about one record: a plain record; one of a sealed zone, `record` with its
 * `version`; or `isMissing`, if the relay has deleted a record of a sealed zone that this device
 * holds. No device has: a deletion is a sealed record.
 *
 * @typedef {import("../record.js").Record
 *   | {zone: string, name: string, tag: number, record: import("../record.js").Record,
 *     version: import("../../sealing/recordVersion.js").RecordVersion}
 *   | {zone: string, name: string, tag: number, isMissing: true}} Arrived
 */

/** Returns a record of the relay as an `Arrived`, or its fault. */
function opened(state, seal, record) {
  const { record: found, fault } = seal.open(record);
  if (fault) return { fault };
  const { version, ...rest } = found;
  noteOwnVersions(state, version);
  return { arrived: { zone: rest.zone, name: rest.name, tag: rest.tag, record: rest, version } };
}

/**
 * Returns the records of a page, those of sealed zones opened, and without those that must not be
 * taken.
 *
 * @returns {Arrived[]}
 */
export function arrivedRecords(state, page, isSnapshot) {
  const { sealing } = state;
  const arePlain = sealing.isEmpty && !sealing.hasUnreadable
    && page.changes.every((record) => ZoneSeal.keyIdOf(record) === null);
  if (arePlain) return page.changes;
  const arrivals = [];
  const withheld = [];
  let hasNoted = false;
  for (const record of page.changes) {
    const seal = sealing.seal(record.zone);
    if (!seal) {
      const plainFault = faultOfPlain(state, record);
      if (plainFault) hasNoted = noteLocked(state, record, plainFault) || hasNoted;
      else arrivals.push(record);
      continue;
    }
    const { arrived, fault } = opened(state, seal, record);
    if (arrived) arrivals.push(arrived);
    else withheld.push(record);
    // A tombstone hides nothing that could be read, and a plain record from before the zone was
    // sealed nothing that is not held.
    const isKnown = arrived || record.deleted
      || (fault.kind === "notSealed" && includesPlain(state, record));
    if (sealing.note(record, isKnown ? null : fault)) hasNoted = true;
    if (arrived && sealing.noteIncluded(arrived)) hasNoted = true;
  }
  if (hasNoted) storeUnreadable(state);
  for (const { zone, name, record } of heldOf(state, withheld)) {
    if (record.deleted) arrivals.push({ zone, name, tag: record.tag, isMissing: true });
    else if (isSnapshot) state.transaction.markNamed(keyOf({ zone, name }), state.snapshot);
  }
  return arrivals;
}

/** Returns the fault of a record of a zone of which the device has no keys; null if it may be
 * taken. */
function faultOfPlain({ sealing }, record) {
  const keyId = ZoneSeal.keyIdOf(record);
  if (keyId !== null) return new SealFault("unknownKey", keyId);
  return sealing.isLocked(record.zone) ? new SealFault("notSealed") : null;
}

/** Locks the record's zone. Returns true if that changed what is stored. */
function noteLocked({ sealing }, record, fault) {
  const isNews = sealing.lock.add(record.zone);
  return sealing.note(record, record.deleted ? null : fault) || isNews;
}

/** Returns those of the relay's records that this device holds, with their names here. */
function heldOf({ sealing, transaction }, records) {
  const places = new Map();
  for (const zone of new Set(records.map((record) => record.zone))) {
    const entries = transaction.outbox.entries().filter((entry) => entry.zone === zone);
    for (const place of [...transaction.allRecords(zone), ...entries]) {
      places.set(sealing.relayKey(place), place);
    }
  }
  return records.filter((record) => places.has(keyOf(record))).map((record) => {
    const { zone, name } = places.get(keyOf(record));
    return { zone, name, record };
  });
}

/**
 * Returns the relay's result for each entry of a batch, with opened records. `kind`: `saved` (with
 * the `tag`), `refused` (`refusal`), `conflict` (`server`), `opened` (`arrived`: the relay's other
 * version, in a sealed zone), `absent` (the relay has no record, in a sealed zone), `unreadable`
 * (the relay's other version cannot be read), `omitted`.
 */
export function openedResults(state, results, entries) {
  const byName = new Map();
  for (const result of results) if (!byName.has(result.name)) byName.set(result.name, result);
  return entries.map((entry) => {
    const seal = state.sealing.seal(entry.zone);
    const result = byName.get(seal ? seal.name(entry.name) : entry.name);
    if (!result) return { entry, kind: "omitted" };
    if (result.error) return { entry, kind: "refused", refusal: result.error };
    if (!result.conflict) {
      return { entry, kind: result.tag > 0 ? "saved" : "omitted", tag: result.tag };
    }
    if (!seal) return { entry, ...plainConflict(state, result.conflict) };
    return { entry, ...openedConflict(state, seal, entry, result.conflict) };
  });
}

function plainConflict(state, server) {
  const { sealing } = state;
  const fault = faultOfPlain(state, server);
  if (!fault) return { kind: "conflict", server };
  if (sealing.lock.add(server.zone)) storeUnreadable(state);
  sealing.noteConflict(keyOf(server), fault);
  return { kind: "unreadable" };
}

function openedConflict(state, seal, entry, server) {
  const { sealing } = state;
  if (server.deleted) return { kind: "absent" };
  const key = sealing.relayKey(entry);
  const { arrived, fault } = keyOf(server) === key ? opened(state, seal, server)
    : { fault: new SealFault("altered") };
  if (!arrived) {
    sealing.noteConflict(key, fault);
    return { kind: "unreadable" };
  }
  if (sealing.note(server, null)) storeUnreadable(state);
  return { kind: "opened", arrived };
}
