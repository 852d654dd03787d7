import { compareText } from "../../json/utf8.js";
import { isSameVersion, keyOf, nothingAt } from "../record.js";
import {
  changedLineage, isOfVersions, isRepeated, repeatedLineage, versionOf,
} from "./lineage.js";
import { waiting } from "./outbox.js";
import { accept, isMadeOnAncestor, resolve } from "./reconciling.js";
import { includesChange, lineageWithoutForks } from "./writer.js";

// Versions of records in sealed zones. Their order comes from what is sealed in them alone
// (`RecordVersion`); tags and what a relay says of a restore are used only to send a change to it.

/** Applies the relay's version of a record that has no change in flight. */
export function applyOpened(state, server, isSnapshot, applied) {
  const { transaction } = state;
  const key = keyOf(server);
  const entry = transaction.outbox.open(key);
  if (entry) {
    // A page may have been made before the version that the device knows.
    const isOld = !isSnapshot && server.tag <= (entry.base?.tag ?? 0);
    if (!isOld || !entry.lineage?.made.covers(server.version.vector)) {
      reconcileOpened(state, entry, server, applied);
    }
    return;
  }
  const { record, version } = server;
  const snapshot = isSnapshot ? state.snapshot : 0;
  const held = transaction.record(key);
  if (!held) {
    transaction.put(record, snapshot, [], version);
    return;
  }
  const known = transaction.version(key);
  const completed = state.merging.completed(record, held);
  const isSame = known !== null && version.isSame(known);
  if (isSame && isSameVersion(completed, held)) {
    transaction.put({ ...held, tag: record.tag }, snapshot, [], known);
    return;
  }
  if (known === null || (!isSame && version.includes(known))) {
    transaction.put(completed, snapshot, [], version);
    return;
  }
  const isFormer = !isSame && known.includes(version);
  if (isFormer && !isSnapshot && record.tag <= held.tag) return;
  if (!state.mayWrite(record.zone)) {
    // It cannot save a merge: of two versions that do not include each other, it shows the later.
    if (!isFormer && isLater(record, held)) transaction.put(record, snapshot, [], version);
    return;
  }
  if (!transaction.outbox.hasRoomForLost) {
    loseRecord(state, key);
    return;
  }
  reconcileOpened(state, entryBringingBack(state, held, known), server, applied);
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
  const { record, version } = server;
  const lineage = lineageWithoutForks(state, entry, version);
  const { asked, made } = lineage;
  if (asked && entry.state.kind === "asking" && asked.includes(version)) {
    const shown = asked.isSame(version) ? record : missing(entry.state.server);
    transaction.putEntry({ ...entry, state: { kind: "asking", server: shown } });
    return;
  }
  const isSame = isSameVersion(record, entry);
  // Two contents of one version come from a replica that was set back, and gave a number twice.
  const isTwin = !isSame && !!versionOf(lineage)?.isSame(version);
  if ((!isTwin && includesChange(state, version, lineage))
    || (isSame && version.vector.covers(made))) {
    transaction.removeEntry(entry);
    accept(state, record, version);
  } else if (!isTwin && made.covers(version.vector)) {
    rebaseOnOpened(state, entry, lineage, server);
  } else if (isSame || repeatsBase(entry, lineage, server)
    || (!isTwin && isMadeOnAncestor(state, entry, record))) {
    const joint = changedLineage(lineage);
    joint.made = joint.made.joined(version.vector);
    joint.isMerge = isSame || isOfVersions(lineage);
    rebaseOnOpened(state, entry, joint, server);
  } else {
    merge(state, entry, lineage, server, applied);
  }
}

/** True if the relay's version includes the base, and has its content: it is a merge that has kept
 * the base, and brings nothing new. */
const repeatsBase = ({ base }, lineage, { record, version }) => base !== null
  && isSameVersion(base, record) && lineage.base !== null && version.includes(lineage.base);

/** Returns the version without a tag: the relay has another one or none in its place. */
const missing = (record) => ({ ...record, tag: 0 });

/** Rebases the change onto the relay's version, which it includes. */
function rebaseOnOpened(state, entry, lineage, { record, version }) {
  const put = { ...entry, lineage };
  if (lineage.base === null || version.includes(lineage.base)) {
    put.base = record;
    put.lineage = { ...lineage, base: version };
  }
  rebaseOnTag(state, put, record.tag);
}

/** Makes `tag` the tag that the change replaces at the relay; 0: the relay has no record. What it
 * was made on stays. */
export function rebaseOnTag({ transaction }, entry, tag) {
  const put = { ...entry, base: entry.base && { ...entry.base, tag } };
  if (entry.state.kind === "asking") {
    put.state = { kind: "asking", server: missing(entry.state.server) };
  }
  transaction.putEntry(put);
  const held = transaction.record(keyOf(entry));
  if (held) transaction.put({ ...held, tag });
}

function merge(state, entry, lineage, { record: server, version }, applied) {
  const { merging } = state;
  const { base } = entry;
  const isMerge = isOfVersions(lineage);
  const change = { ...entry, lineage: { ...changedLineage(lineage), asked: version, isMerge } };
  const knowsBase = lineage.base === null
    || (!version.isSame(lineage.base) && version.includes(lineage.base));
  let record = server;
  let resolution;
  if (knowsBase) {
    if (base && !base.deleted) record = merging.completed(server, base);
    resolution = keepsBase(entry, lineage)
      ? { merged: record.fields, copies: [] } : merging.resolve(entry, record);
  } else if (isRepeated(lineage)) {
    // Two versions of which neither includes the other: both stay if the rule keeps copies.
    resolution = merging.resolve({ ...entry, base: null }, record);
  } else if (base && !(base.deleted && base.tag === 0)) {
    // The author of the relay's version did not know the base.
    resolution = merging.resolveLost(entry, base, record);
    change.base = nothingAt(entry, entry.type);
  } else {
    change.base = null;
    resolution = merging.resolve({ ...entry, base: null }, record);
  }
  // Other devices know a version that is saved again, and may know nothing of the change else.
  const known = isRepeated(lineage) ? change.lineage.made : lineage.made;
  // A version that does not include all of that is replaced, also by the same content.
  resolve(state, change, record, resolution, applied, !version.vector.covers(known));
}

/** True if the change is a merge that has kept its base. It was made to include another version,
 * and changes nothing: nothing that others have made of the base is in conflict with it, not even a
 * deletion. */
const keepsBase = (entry, lineage) => lineage.base !== null && entry.base !== null
  && isSameVersion(entry.base, entry);

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
  const known = state.transaction.version(keyOf(held));
  rebaseOnTag(state, entryBringingBack(state, held, known), 0);
}

/** Puts a held record, which the relay has, into the outbox. */
export function saveAgain(state, held) {
  const known = state.transaction.version(keyOf(held));
  rebaseOnTag(state, entryBringingBack(state, held, known), held.tag);
}

/** Returns a change that saves the held version again: the same one, so that no device takes it for
 * another. */
function entryBringingBack(state, held, version) {
  return {
    number: state.transaction.outbox.allocateNumber(), zone: held.zone, name: held.name,
    type: held.type, fields: held.fields, chunks: held.chunks ?? [], modifiedAt: held.modifiedAt,
    isStampTrusted: true, base: missing(held), state: waiting, lineage: repeatedLineage(version),
  };
}
