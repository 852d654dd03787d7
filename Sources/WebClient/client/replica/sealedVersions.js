import { compareText } from "../../json/utf8.js";
import { isSameVersion, keyOf, nothingAt } from "../record.js";
import {
  areSame, changedLineage, lineageOn, noVector, versionOf,
} from "./lineage.js";
import { waiting } from "./outbox.js";
import { accept, resolve } from "./reconciling.js";

// Versions of records in sealed zones. Their order comes from what is sealed in them alone, their
// version vectors; tags and what a relay says of a restore are used only to send a change to it.

/** Applies the relay's version of a record that has no change in flight. */
export function applyOpened(state, server, isSnapshot, applied) {
  const { transaction } = state;
  const key = keyOf(server);
  const entry = transaction.outbox.open(key);
  if (entry) {
    // A page may have been made before the version that the device knows.
    const isOld = !isSnapshot && server.tag <= (entry.base?.tag ?? 0);
    if (!isOld || !entry.lineage?.made.covers(server.vector)) {
      reconcileOpened(state, entry, server, applied);
    }
    return;
  }
  const { record, vector } = server;
  const snapshot = isSnapshot ? state.snapshot : 0;
  const held = transaction.record(key);
  if (!held) {
    transaction.put(record, snapshot, [], vector);
    return;
  }
  const known = transaction.vector(key) ?? noVector;
  const completed = state.merging.completed(record, held);
  if (areSame(vector, known)) {
    if (isSameVersion(completed, held)) {
      transaction.put({ ...held, tag: record.tag }, snapshot, [], known);
      return;
    }
  } else if (vector.covers(known)) {
    transaction.put(completed, snapshot, [], vector);
    return;
  }
  const isFormer = known.covers(vector) && !areSame(known, vector);
  if (isFormer && !isSnapshot && record.tag <= held.tag) return;
  if (!state.mayWrite(record.zone)) {
    // It cannot save a merge: of two versions that do not include each other, it shows the later.
    if (!isFormer && isLater(record, held)) transaction.put(record, snapshot, [], vector);
    return;
  }
  if (!transaction.outbox.hasRoomForLost) {
    loseRecord(state, key);
    return;
  }
  const again = entryBringingBack(state, held, known, isFormer ? record.tag : 0);
  reconcileOpened(state, again, server, applied);
}

const isLater = (one, other) => (one.modifiedAt !== other.modifiedAt
  ? one.modifiedAt > other.modifiedAt : compareText(one.device, other.device) > 0);

/** Marks a held record that waits to be saved again. */
export function loseRecord(state, key) {
  state.transaction.markLost(key);
  state.hasLost = true;
}

/** Resolves a local change against the relay's version. */
export function reconcileOpened(state, entry, server, applied) {
  const { transaction } = state;
  const { record, vector } = server;
  const lineage = entry.lineage ?? lineageOn(noVector);
  const { asked, made } = lineage;
  if (asked && entry.state.kind === "asking" && asked.covers(vector)) {
    if (areSame(asked, vector)) {
      transaction.putEntry({ ...entry, state: { kind: "asking", server: record } });
    }
    return;
  }
  const isSame = isSameVersion(record, entry);
  const own = versionOf(lineage, state.device);
  const includesOwn = own !== null && vector.covers(own) && (!areSame(vector, own) || isSame);
  if (includesOwn || (isSame && vector.covers(made))) {
    transaction.removeEntry(entry);
    accept(state, record, vector);
  } else if (made.covers(vector)) {
    rebaseOnOpened(state, entry, lineage, server);
  } else if (isSame) {
    const joint = changedLineage(lineage, state.device);
    rebaseOnOpened(state, entry, { ...joint, made: joint.made.joined(vector) }, server);
  } else {
    merge(state, entry, lineage, server, applied);
  }
}

/** Rebases the change onto the relay's version, which it includes. */
function rebaseOnOpened(state, entry, lineage, { record, vector }) {
  const put = { ...entry, lineage };
  if (vector.covers(lineage.base)) {
    put.base = record;
    put.lineage = { ...lineage, base: vector };
  }
  rebaseOnTag(state, put, record.tag);
}

/** Makes `tag` the tag that the change replaces at the relay; 0: the relay has no record. What it
 * was made on stays. */
export function rebaseOnTag({ transaction }, entry, tag) {
  transaction.putEntry(entry.base ? { ...entry, base: { ...entry.base, tag } } : entry);
  const held = transaction.record(keyOf(entry));
  if (held) transaction.put({ ...held, tag });
}

function merge(state, entry, lineage, { record: server, vector }, applied) {
  const { merging } = state;
  const { base } = entry;
  const change = { ...entry, lineage: { ...changedLineage(lineage, state.device), asked: vector } };
  let record = server;
  let resolution;
  if (vector.covers(lineage.base)) {
    if (base && !base.deleted) record = merging.completed(server, base);
    resolution = merging.resolve(change, record);
  } else if (base && !(base.deleted && base.tag === 0)) {
    // The author of the relay's version did not know the base.
    resolution = merging.resolveLost(change, base, record);
    change.base = nothingAt(entry, entry.type);
  } else {
    change.base = null;
    resolution = merging.resolve(change, record);
  }
  // A version that does not include all that the change does is replaced, also by the same content.
  resolve(state, change, record, resolution, applied, !vector.covers(lineage.made));
}

/** Saves again a held record that the relay has deleted, with this tag. */
export function restoreAtRelay(state, { zone, name, tag }) {
  if (!state.mayWrite(zone)) return;
  const { transaction } = state;
  const key = keyOf({ zone, name });
  const entry = transaction.outbox.open(key);
  if (entry) {
    if ((entry.base?.tag ?? 0) <= tag) rebaseOnTag(state, entry, 0);
    return;
  }
  const held = transaction.record(key);
  if (held && held.tag <= tag) loseRecord(state, key);
}

/** Puts a held record, which the relay lacks, into the outbox. */
export function bringBackSealed(state, held) {
  const vector = state.transaction.vector(keyOf(held)) ?? noVector;
  rebaseOnTag(state, entryBringingBack(state, held, vector, 0), 0);
}

/** `tag`: that of the relay's version in its place; 0: none. */
function entryBringingBack(state, held, vector, tag) {
  return {
    number: state.transaction.outbox.allocateNumber(), zone: held.zone, name: held.name,
    type: held.type, fields: held.fields, chunks: held.chunks ?? [], modifiedAt: held.modifiedAt,
    isStampTrusted: true, base: { ...held, tag }, state: waiting, lineage: lineageOn(vector),
  };
}
