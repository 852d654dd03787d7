import { equal, frozen, isObject, member, members, setting } from "../../json/jsonValue.js";
import { faultOfName, faultOfSetFields, faultOfZone, fitsRecord, sizeOf } from "../fields.js";
import { limits } from "../limits.js";
import {
  areChunks, chunksBeside, chunksNamed, namesUnsealedFiles,
} from "../../model/fileReference.js";
import { shown } from "../../model/stamps.js";
import { keyOf, lostVersion, standsForLost } from "../record.js";
import { explanationOfEdit } from "../scope.js";
import { changedLineage, newLineage, resolvedLineage, withLineage } from "./lineage.js";
import { recordOf, waiting } from "./outbox.js";
import { loseRecord } from "./sealedVersions.js";
import { recordOffset, restampAll, stampAfter } from "./stamps.js";

/** Edit that cannot be made or kept. `code` is for programs, the message for a person. */
export class EditError extends Error {
  constructor(code, message, options) {
    super(message, options);
    this.name = "EditError";
    this.code = code;
  }
}

/**
 * Change of one record by a person's action. `fields`: null deletes it. `stamp`: relay time of the
 * action if the fields contain it too; later than the record's own. `seen`: for an edit of another
 * tab, the version on which it was made, null if there was none. `chunks`: those that the writer
 * names beside the references in the fields; the record's own stay if it is missing.
 *
 * @typedef {{zone: string, name: string, type: string, fields: object | null, chunks?: string[],
 *   stamp?: number, seen?: {modifiedAt: number, device: string} | null}} Edit
 */

/**
 * Local first: edits are written to the records and to the outbox in one transaction, without the
 * network. Either all edits are made or none.
 *
 * @param {(context: object) => Edit[]} make
 */
export function changeRecords(state, make, clock) {
  restampAll(state, clock);
  makeDueEditsOfAll(state, clock);
  const { transaction } = state;
  const edits = editsOf(make, {
    record: (zone, name) => frozen(shown(alive(transaction.record(keyOf({ zone, name }))))),
    records: (zone, type) => transaction.records(zone, type).map((it) => frozen(shown(it))),
    stamp: (zone, name) => stampAfter(state, transaction.record(keyOf({ zone, name })), clock),
    now: clock.relayTime,
    device: state.device,
  });
  checkForms(state, edits);
  const changes = edits.map((edit) => changeOf(state, edit, clock));
  checkFiles(state, changes);
  checkRoom(state, changes);
  return changes.map((change) => frozen(shown(writeChange(state, change, clock))));
}

/** Returns the change that an edit makes: with its stamp, and the stamps of its fields. */
function changeOf(state, { zone, name, type, fields, chunks, stamp }, clock) {
  const held = state.transaction.record(keyOf({ zone, name }));
  const named = fields === null ? [] : chunks ?? chunksBeside(held);
  const least = held ? state.merging.newestStamp(held) + 1 : -Infinity;
  const change = { zone, name, type: fields === null ? held.type : type, fields, chunks: named,
    stamp: Math.max(stamp ?? clock.relayTime, least) };
  const stamped = state.merging.stamped(change, held);
  return { ...change, fields: stamped, chunks: chunksNamed(named, stamped) };
}

/** Makes what was edited before the join edits of this device. `before`: the device that they
 * name. The fields of an app with rules in code must name no device before the join. */
export function adoptEdits(state, before) {
  const { transaction } = state;
  for (const old of transaction.outbox.entries()) {
    const entry = { ...old, fields: state.merging.renamed(old, before) };
    if (old.timeMade) entry.timeMade = { ...old.timeMade, device: state.device };
    transaction.putEntry(entry);
    transaction.put(recordOf(entry, state.device, 0));
  }
}

/** Returns the edits of `make`. If it throws an error, nothing is changed. */
export function editsOf(make, context) {
  const edits = madeBy(make, context);
  if (!Array.isArray(edits) || !Array.from(edits).every(isObject)) {
    throw new EditError("badEdit", "a change is a list of edits, and is not async");
  }
  return edits;
}

function madeBy(make, context) {
  try {
    return copied(make(context));
  } catch (error) {
    if (error instanceof EditError) throw error;
    const reason = typeof error === "string" ? error : error?.message;
    throw new EditError("refused", reason ?? "the change threw what is no Error", { cause: error });
  }
}

/** Returns edits that share nothing with the caller, who may change its objects later; what is no
 * list of edits as it is. */
function copied(edits) {
  if (!Array.isArray(edits) || !Array.from(edits).every(isObject)) return edits;
  return edits.map((edit) => ({ ...edit, fields: copyOf(edit.fields) }));
}

/** Functions and symbols have no copy, nor do proxies; JSON has none of them. */
function copyOf(fields) {
  try {
    return structuredClone(fields);
  } catch (error) {
    const fault = faultOfSetFields(fields) ?? "the fields have no copy; give plain objects";
    throw new EditError("badEdit", fault, { cause: error });
  }
}

const alive = (record) => (record && !record.deleted ? record : null);

function checkForms(state, edits) {
  if (edits.length > limits.editsOfOneChange) {
    throw new EditError("tooMany",
      `a change has at most ${limits.editsOfOneChange} edits; make several changes`);
  }
  const keys = new Set();
  for (const edit of edits) {
    checkNames(edit);
    const ownFault = state.merging.zoneFault(edit.zone);
    if (ownFault) throw new EditError("refused", ownFault);
    checkScope(state, edit.zone);
    checkLock(state, edit.zone);
    const key = keyOf(edit);
    if (keys.has(key)) throw new EditError("badEdit", "a change names a record twice");
    keys.add(key);
    const held = state.transaction.record(key);
    checkEdit(edit, held);
    const fault = edit.fields === null ? null : state.merging.kindFault(edit, held);
    if (fault) throw new EditError("wrongKind", fault);
  }
}

function checkScope(state, zone) {
  if (state.mayWrite(zone)) return;
  throw new EditError("outOfScope", explanationOfEdit(state.scope, zone));
}

function checkLock({ sealing }, zone) {
  if (!sealing.isLocked(zone)) return;
  throw new EditError("refused", `the records of zone ${zone} are sealed, and this device does not `
    + "have the account's keys; join again with a whole code of a device that has them");
}

function checkFiles({ sealing }, changes) {
  for (const change of changes) {
    if (sealing.isSealed(change.zone) && namesUnsealedFiles(change)) {
      throw new EditError("refused", `the zone ${change.zone} is sealed, and a file of the record `
        + "is not; send the file again with this device");
    }
  }
}

function checkRoom({ transaction, sealing }, changes) {
  const { outbox } = transaction;
  let entries = outbox.size;
  let bytes = outbox.bytes;
  for (const change of changes) {
    const key = keyOf(change);
    const size = sealing.relaySize(change);
    if (!fitsRecord(size)) {
      throw new EditError("tooLarge",
        "a record has at most 1 MiB as JSON; shorten it, or share it among several records");
    }
    if (!outbox.open(key)) entries += 1;
    bytes += size + sizeOf(transaction.record(key)?.fields);
  }
  if (entries > limits.outboxRecords || bytes > limits.outboxBytes) {
    throw new EditError("outboxFull", "too many changes wait for the relay; connect first");
  }
}

function checkNames({ zone, name }) {
  const fault = faultOfZone(zone) ?? faultOfName(name);
  if (fault) throw new EditError("badEdit", fault);
}

function checkEdit({ type, fields, chunks, stamp, seen }, held) {
  const fault = fields === null ? null : faultOfName(type) ?? faultOfSetFields(fields);
  if (fault) throw new EditError("badEdit", fault);
  if (fields === null && !alive(held)) {
    throw new EditError("nothingToDelete", "there is no record of that name to delete");
  }
  if (stamp !== undefined && !Number.isSafeInteger(stamp)) {
    throw new EditError("badEdit", "a stamp is a whole number of milliseconds");
  }
  if (chunks !== undefined && !areChunks(chunks)) {
    throw new EditError("badEdit", "chunks are a list of SHA-256 hashes in lower case");
  }
  if (seen === undefined) return;
  const now = alive(held);
  if (now?.modifiedAt !== seen?.modifiedAt || now?.device !== seen?.device) {
    throw new EditError("stale", "the record was changed meanwhile");
  }
}

/** Applies a person's decision on a conflict. */
export function decide(state, decision, clock) {
  const { zone, name, keepLocal } = checkedDecision(decision);
  const { transaction } = state;
  const key = keyOf({ zone, name });
  const entry = transaction.outbox.open(key);
  if (entry?.state.kind !== "asking") {
    throw new EditError("nothingToDecide", "nothing is asked about that record");
  }
  const { server } = entry.state;
  // A version of tag 0 is one that the relay has lost, or means that the record is gone; the base
  // is then what the relay has.
  const isThere = server.tag > 0;
  const isSealed = state.sealing.isSealed(zone);
  const hasNothing = server.deleted && (entry.base?.tag ?? 0) === 0;
  if (!keepLocal && (isThere || hasNothing || isSealed)) {
    transaction.removeEntry(entry);
    if (!isThere && !isSealed) {
      transaction.removeRecord(key);
      return server;
    }
    transaction.put(server, 0, [transaction.record(key)], entry.lineage?.asked);
    // Meanwhile the relay has gone back behind that version, or has deleted it.
    if (isSealed && !isThere) loseRecord(state, key);
    return server;
  }
  checkScope(state, zone);
  // The decision is a new edit, made with knowledge of both versions.
  if (!clock.isTrusted) recordOffset(state, clock);
  const held = transaction.record(key);
  const decided = {
    ...entry, state: waiting, isStampTrusted: clock.isTrusted,
    modifiedAt: Math.max(entry.modifiedAt + 1, stampAfter(state, held, clock),
      stampAfter(state, server, clock)),
    base: isThere ? server : entry.base,
    ...withLineage(resolvedLineage(changedLineage(entry.lineage))),
  };
  if (isSealed && !isThere) decided.base = { ...server, tag: entry.base?.tag ?? 0 };
  if (!keepLocal) {
    Object.assign(decided, { type: server.type, fields: server.fields,
      chunks: server.chunks ?? [] });
  }
  decided.fields = state.merging.chosen(decided, server);
  transaction.putEntry(decided);
  const record = recordOf(decided, state.device, decided.base?.tag ?? 0);
  transaction.put(record, 0, [held, server]);
  return record;
}

function checkedDecision(decision) {
  const isNamed = [decision?.zone, decision?.name].every((it) => typeof it === "string");
  if (isNamed && typeof decision.keepLocal === "boolean") return decision;
  throw new EditError("badEdit",
    "a decision is {zone, name, keepLocal}; keepLocal is true for this device's version, and "
    + "false for the relay's");
}

/** Makes the edits that are due, one after the other if one leads to the next. */
export function makeDueEdits(state, isConnected, clock) {
  if (!state.identity) return;
  restampAll(state, clock);
  const { transaction, due } = state;
  for (let count = 0; count < limits.dueEdits; count += 1) {
    const first = due.first(state.device, { isConnected, isClockTrusted: clock.isTrusted });
    if (!first || first.time > clock.relayTime) return;
    const held = transaction.record(first.key);
    const edit = state.dueEdit(held);
    if (edit && edit.dueAt !== due.dueAt(first.key)) {
      // The record was stamped again just now, and its due time has moved with it.
      due.set(first.key, edit);
      continue;
    }
    if (!edit || !hasRoomFor(state, { ...held, fields: edit.fields })) {
      // If there is no room, the edit is made when this record is next examined.
      due.set(first.key, null);
      continue;
    }
    const next = state.dueEdit(makeDueEdit(state, held, edit, clock));
    // An edit that leads to itself would be repeated for ever.
    due.set(first.key, equal(next, edit) ? null : next);
  }
}

/** Makes the due edits of all records before a person's edit. */
function makeDueEditsOfAll(state, clock) {
  for (const key of state.due.keys()) {
    for (let count = 0; count < limits.dueEdits; count += 1) {
      const held = state.transaction.record(key);
      const edit = state.dueEdit(held);
      if (!edit || !(clock.isTrusted || edit.owner === state.device)) break;
      if (edit.dueAt > stampAfter(state, held, clock)) break;
      if (!hasRoomFor(state, { ...held, fields: edit.fields })) break;
      makeDueEdit(state, held, edit, clock);
    }
  }
}

function makeDueEdit(state, held, edit, clock) {
  const record = writeChange(state, {
    zone: held.zone, name: held.name, type: held.type, fields: edit.fields,
    chunks: chunksNamed(chunksBeside(held), edit.fields),
    stamp: stampAfter(state, held, clock), isMadeByTime: true,
  }, clock);
  if (edit.addition) addMember(state, held.zone, edit.addition, clock);
  return record;
}

/** Writes what a due edit adds to another record. Nothing is written if the record has it, so an
 * edit that several devices make, or one makes twice, adds it once. */
function addMember(state, zone, { name, type, field, member: [title, value] }, clock) {
  const held = state.transaction.record(keyOf({ zone, name }));
  const fields = shown(alive(held))?.fields ?? {};
  const object = member(fields, field);
  if (member(object, title) !== undefined || members(object).length >= limits.dueAdditions) return;
  const added = setting(fields, { [field]: setting(object, { [title]: value }) });
  const chunks = chunksBeside(held);
  const change = { zone, name, type, fields: added, chunks, stamp: stampAfter(state, held, clock) };
  const stamped = state.merging.stamped(change, held);
  const whole = { ...change, fields: stamped, chunks: chunksNamed(chunks, stamped) };
  // If there is no room, the edit stands without it.
  if (hasRoomFor(state, whole)) writeChange(state, whole, clock);
}

function hasRoomFor({ transaction: { outbox }, sealing }, change) {
  const size = sealing.relaySize(change);
  return outbox.size < limits.outboxRecords && fitsRecord(size)
    && outbox.bytes + size <= limits.outboxBytes;
}

/** Removes surplus records of types with a maximum count. Requires that the device is caught up,
 * and holds nothing back: with stale records it would remove what other devices still need. */
export function trim(state, clock) {
  for (const app of state.merging.apps) {
    if (!state.zonesToTrim.has(app.zone) || !state.mayWrite(app.zone)) continue;
    state.zonesToTrim.delete(app.zone);
    for (const type of app.boundedTypes ?? []) {
      const { zone } = app;
      for (const name of app.surplus(type, state.transaction.records(zone, type))) {
        const held = state.transaction.record(keyOf({ zone, name }));
        if (!alive(held) || !hasRoomFor(state, { ...held, fields: null })) continue;
        writeChange(state, {
          zone, name, type, fields: null, chunks: [], stamp: stampAfter(state, held, clock),
        }, clock);
      }
    }
  }
}

/** Writes a local change: into the open entry, or into a new one. */
export function writeChange(state, change, clock) {
  const { zone, name, type, fields, chunks, stamp, isMadeByTime } = change;
  if (!clock.isTrusted) recordOffset(state, clock);
  const { transaction } = state;
  const key = keyOf({ zone, name });
  const held = transaction.record(key);
  const isLost = transaction.isLost(key);
  const sent = transaction.outbox.sent(key);
  const open = transaction.outbox.open(key);
  const entry = open ? { ...open, ...withLineage(changedLineage(open.lineage)) } : {
    number: transaction.outbox.allocateNumber(), zone, name, state: waiting,
    base: baseOf(state, { held, isLost, sent }), ...withLineage(newLineage(state, { zone, name })),
  };
  if (entry.state.kind === "parked") entry.state = waiting;
  Object.assign(entry, { type, fields, chunks, modifiedAt: stamp });
  entry.isStampTrusted = clock.isTrusted;
  if (isMadeByTime) entry.timeMade = recordOf(entry, state.device, 0);
  const record = recordOf(entry, state.device, isLost ? 0 : held?.tag ?? 0);
  if (fields === null && !entry.base && !sent && entry.state.kind === "waiting") {
    // Created and deleted before it was sent.
    transaction.removeEntry(entry);
    transaction.removeRecord(key);
    return record;
  }
  transaction.putEntry(entry);
  // Other devices may hold the version in the entry: the relay had it, or has it unanswered.
  const isElsewhere = !open || !!state.restore || typeof open.firstSent === "number"
    || (!!open.base && standsForLost(open.base));
  transaction.put(record, 0, isElsewhere ? [held] : []);
  return record;
}

function baseOf(state, { held, isLost, sent }) {
  const base = sent ? recordOf(sent, state.device, 0) : held ?? null;
  if (!isLost) return base;
  return state.sealing.isSealed(held.zone) ? { ...base, tag: 0 } : lostVersion(held);
}
