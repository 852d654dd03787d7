import { chunksIn } from "../../model/fileReference.js";
import { SealFault } from "../../sealing/zoneSeal.js";
import { keyOf, standsForLost } from "../record.js";
import { EditError } from "./editing.js";
import { readAgain } from "./restore.js";
import { areGenerations, storedSeals } from "./sealedZones.js";
import { noteOwnVersions } from "./writer.js";

// The boundary of sealed zones: keys, and records of the relay (`SealedZones`).

/**
 * Adopts keys of zones, which are sealed from now on. Returns false if the device has had them.
 *
 * @param {import("../../sealing/accountKeys.js").ZoneKeys[]} list
 */
export function adoptSeals(state, list) {
  if (!state.identity) throw refused("the device has no account yet; join one first");
  if (new Set(list.map(({ zone }) => zone)).size < list.length) {
    throw refused("the keys of a zone are given twice; give them once");
  }
  for (const keys of list) checkAdoption(state, keys);
  const { sealing, transaction } = state;
  const added = list.filter((keys) => !sealing.has(keys));
  if (added.length === 0) return false;
  for (const keys of added) {
    if (!sealing.isSealed(keys.zone)) removeSealed(state, keys.zone);
    sealing.adopt(keys);
  }
  sealing.retryConflicts();
  transaction.setValue(storedSeals.keys, sealing.storedKeys);
  readAgain(state);
  return true;
}

const refused = (words) => new EditError("refused", words);

function checkAdoption({ sealing, transaction }, keys) {
  const { zone } = keys;
  if (!areGenerations(keys.generations)) {
    throw refused(`the keys of zone ${zone} are not those of a device; pair it again`);
  }
  if (sealing.isSealed(zone)) {
    if (sealing.isExtension(keys)) return;
    throw refused(`zone ${zone} is sealed with a key that is not among the new ones`);
  }
  const entries = transaction.outbox.entries().filter((entry) => entry.zone === zone);
  const haveLeft = entries.some(({ state, firstSent, base }) =>
    state.kind === "sent" || state.kind === "parked" || typeof firstSent === "number"
      || (base && (base.tag > 0 || standsForLost(base))));
  const seal = sealing.sealOf(keys);
  const areSealed = transaction.allRecords(zone).every((record) =>
    transaction.outbox.open(keyOf(record)) || seal.open(record).record);
  if (haveLeft || !areSealed) throw refused(`zone ${zone} has records that are not sealed`);
  if (entries.some(({ chunks = [], fields }) => chunks.length + chunksIn(fields).length > 0)) {
    throw refused(`zone ${zone} has files, which cannot be sealed yet`);
  }
}

/** Removes records that arrived sealed before the keys: the snapshot that follows brings them.
 * Changes that no relay has seen stay, and are sealed when they are sent. */
function removeSealed({ transaction }, zone) {
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

function storeUnreadable({ sealing, transaction }) {
  transaction.setValue(storedSeals.unreadable, sealing.storedUnreadable);
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
  if (sealing.isEmpty) return page.changes;
  const arrivals = [];
  const withheld = [];
  let hasNoted = false;
  for (const record of page.changes) {
    const seal = sealing.seal(record.zone);
    if (!seal) {
      arrivals.push(record);
      continue;
    }
    const { arrived, fault } = opened(state, seal, record);
    if (arrived) arrivals.push(arrived);
    else withheld.push(record);
    // A tombstone hides nothing that could be read.
    const noted = arrived || record.deleted ? null : fault;
    if (sealing.note(keyOf(record), noted)) hasNoted = true;
  }
  if (hasNoted) storeUnreadable(state);
  for (const { zone, name, record } of heldOf(state, withheld)) {
    if (record.deleted) arrivals.push({ zone, name, tag: record.tag, isMissing: true });
    else if (isSnapshot) state.transaction.markNamed(keyOf({ zone, name }), state.snapshot);
  }
  return arrivals;
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
    if (!seal) return { entry, kind: "conflict", server: result.conflict };
    return { entry, ...openedConflict(state, seal, entry, result.conflict) };
  });
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
  if (sealing.note(key, null)) storeUnreadable(state);
  return { kind: "opened", arrived };
}
