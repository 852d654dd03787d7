import { equal } from "../../json/jsonValue.js";
import { chunksIn, chunksNamed } from "../../model/fileReference.js";
import { fittingName } from "../fields.js";
import { limits } from "../limits.js";
import {
  fingerprint, isSameVersion, keyOf, nothingAt, plain, standsForLost,
} from "../record.js";
import { newLineage, resolvedLineage, withLineage } from "./lineage.js";
import { hasLostTag, isLost, precedes, precedesLoss } from "./lostTags.js";
import { knownTag, recordOf, waiting } from "./outbox.js";

/** Returns the relay's version with the stamps that it lacks, by comparison with the version that
 * it replaces. The author of a version may not have known one that the relay has lost: what only
 * that one had was not removed. An old version, which another device saves after the relay has
 * forgotten that it had it, stays as it is. */
export function completed(state, server, replaced) {
  const isKnown = replaced && server.tag > replaced.tag && !isLost(state, replaced);
  const stamped = isKnown ? state.merging.completed(server, replaced) : server;
  if (stamped === server) return server;
  const print = fingerprint(server);
  const isOld = print !== fingerprint(replaced)
    && state.transaction.ancestors(keyOf(server)).includes(print);
  return isOld ? server : stamped;
}

/** Reconciles a local change with the relay's version: acknowledges, rebases, drops or merges the
 * change, or asks the person. */
export function reconcile(state, entry, server, applied) {
  if (isAcknowledged(state, entry, server)) {
    state.transaction.removeEntry(entry);
    state.transaction.put(server);
    return;
  }
  if (isMadeOnTop(state, entry, server) || isMadeOnAncestor(state, entry, server)) {
    rebase(state, entry, server);
    return;
  }
  if (isIncluded(entry, server)) {
    state.transaction.removeEntry(entry);
    accept(state, server);
    return;
  }
  let change = entry;
  let resolution;
  const isBaseIncluded = !!entry.base && server.includes?.includes(fingerprint(entry.base));
  if (entry.base && hasLostTag(state.restore, entry.base.tag) && !isBaseIncluded) {
    resolution = state.merging.resolveLost(entry, entry.base, server);
    // The author of the relay's present version may not have known the base.
    change = { ...entry, base: nothingAt(entry, entry.type) };
  } else {
    resolution = state.merging.resolve(entry, server);
  }
  resolve(state, change, server, resolution, applied);
}

/** Applies the resolution of a conflict. `entry`: the local change; in a sealed zone, with the
 * relay's version as `asked` of its lineage. `replaces`: the relay's version must be
 * replaced, also by the same content. */
export function resolve(state, entry, server, resolution, applied, replaces = false) {
  applied.conflicts += 1;
  if (resolution.ask) awaitDecision(state, entry, server);
  else merge(state, entry, server, resolution, replaces);
}

function awaitDecision(state, entry, server) {
  state.transaction.putEntry({
    ...entry, state: { kind: "asking", server: plain(server) }, group: null,
    base: server.tag === 0 ? plain(server) : entry.base,
  });
}

function merge(state, entry, server, { merged, copies }, replaces) {
  const { transaction } = state;
  transaction.removeEntry(entry);
  const isServers = !replaces && equal(merged, server.fields)
    && !state.merging.isLaterSame(entry, server);
  const wanted = [];
  for (const copy of copies) collectCopies(state, copy, entry, server, wanted);
  const group = isServers || wanted.length === 0 ? null : transaction.outbox.nextNumber;
  // Copies first: they have the smaller numbers (see `ungroup`).
  for (const copy of wanted) putCopy(state, copy, group);
  if (isServers) {
    // The relay's version wins.
    if (server.tag > 0) accept(state, server, entry.lineage?.asked);
    else transaction.removeRecord(keyOf(entry));
    return;
  }
  // The stamp is the newer of the two, so that a third version, made before the merge, is compared
  // with the time of the edits and not with the time of the merge. A version that only the relay's
  // has made keeps its stamp: a change that was made on it is newer. So does, in a sealed zone, one
  // that is saved again.
  const isMadeByServer = equal(merged, server.fields) && !equal(merged, entry.fields);
  const isOwn = entry.lineage && equal(merged, entry.fields) && !equal(merged, server.fields);
  const newer = isOwn ? entry.modifiedAt : Math.max(entry.modifiedAt, server.modifiedAt);
  const put = {
    number: transaction.outbox.allocateNumber(), zone: entry.zone, name: entry.name,
    type: entry.fields === null ? server.type : entry.type, fields: merged,
    chunks: chunksOf(merged, entry, server),
    modifiedAt: isMadeByServer ? server.modifiedAt : newer, isStampTrusted: true,
    base: plain(server), state: waiting, group, ...withLineage(resolvedLineage(entry.lineage)),
  };
  transaction.putEntry(put);
  transaction.put(
    recordOf(put, state.device, server.tag), 0, [transaction.record(keyOf(entry)), server]);
}

/** Accepts the relay's version. `version`: which one it is, in a sealed zone. */
export function accept(state, server, version = null) {
  state.transaction.put(server, 0, [state.transaction.record(keyOf(server))], version);
}

/** True if the local change was made on this version, or on a later one: after a restore of the
 * relay, another device that has not seen the later one has saved it again. */
export function isMadeOnAncestor(state, entry, server) {
  if (server.tag === 0 || server.modifiedAt > entry.modifiedAt) return false;
  const print = fingerprint(server);
  return !asksAboutOther(state, entry) && print !== fingerprint(entry)
    && state.transaction.ancestors(keyOf(entry)).includes(print);
}

/** True if the relay's version was made on the entry's own version, which the relay has lost: the
 * entry saves it again. */
function isIncluded(entry, server) {
  return server.tag > 0 && entry.state.kind === "waiting"
    && (server.includes ?? []).includes(fingerprint(entry));
}

/** True if the person is being asked about a version that the relay still has. */
function asksAboutOther({ restore }, { state }) {
  return state.kind === "asking" && state.server.tag > 0
    && !hasLostTag(restore, state.server.tag);
}

/** Returns the chunks of files that merged fields name: those of the references in them, and those
 * of the version with these fields. */
function chunksOf(merged, entry, server) {
  if (merged === null) return [];
  const named = equal(merged, server.fields) ? server.chunks : entry.chunks;
  // Of references that the merge has dropped, the account need not keep the content.
  const dropped = new Set([...chunksIn(entry.fields), ...chunksIn(server.fields)]);
  return chunksNamed((named ?? []).filter((chunk) => !dropped.has(chunk)), merged);
}

/** True if the relay's version is this change: it was acknowledged, or another device has saved the
 * same lost version again. */
function isAcknowledged(state, entry, server) {
  // A merge has the stamp of the newer side, so the stamp alone does not identify a version.
  if (server.tag === 0 || server.modifiedAt !== entry.modifiedAt) return false;
  return equal(entry.fields, server.fields)
    && (server.device === state.device || server.type === entry.type);
}

/** True if the relay's version is the change as it was sent before. The relay may also have
 * versions of this device that are unknown here, if the browser's storage was restored from a
 * backup. */
function isEarlierVersion(state, server, { firstSent = null, modifiedAt }) {
  return server.device === state.device && firstSent !== null
    && firstSent <= server.modifiedAt && server.modifiedAt < modifiedAt;
}

/** True if the relay's version precedes the change, or repeats its base: there is no conflict. */
function isMadeOnTop(state, entry, server) {
  const { restore } = state;
  if (asksAboutOther(state, entry)) return false;
  const wasLost = hasLostTag(restore, knownTag(entry));
  // Only a relay that has lost the base reports no record in its place.
  if (server.tag === 0) return wasLost;
  // Tags grow. A version older than the base comes from a restored relay, unless that relay has
  // nothing of what gave the base its tag: its tags may be smaller then.
  const tag = entry.base?.tag ?? 0;
  const isOlder = hasLostTag(restore, tag) ? precedes(restore, server.tag, tag) : server.tag < tag;
  if (isOlder) return true;
  // This device saved it, but the answer was lost: the waiting change was made after that.
  if (isEarlierVersion(state, server, entry)) return true;
  if (restore && precedesLoss(restore, server.tag)) {
    // Once the snapshot is complete, nothing refers to a lost version by its tag.
    const isBack = restore.isSnapshotDone && entry.base !== null && standsForLost(entry.base);
    if (wasLost || isBack) return true;
  }
  return entry.base !== null && entry.base.tag > 0 && isSameVersion(entry.base, server);
}

/** Makes `server` the base of the change. */
export function rebase(state, entry, server) {
  const { transaction } = state;
  const put = { ...entry, base: plain(server) };
  if (entry.state.kind === "asking" && hasLostTag(state.restore, entry.state.server.tag)) {
    // The person may still choose the version that the relay has lost; see `decide`.
    put.state = { kind: "asking", server: { ...entry.state.server, tag: 0 } };
  }
  transaction.putEntry(put);
  const held = transaction.record(keyOf(entry));
  if (held) transaction.put({ ...held, tag: server.tag }, 0, [server]);
}

/** Collects the changes that save a copy; none if it exists already. If another record has its
 * name, such as a copy of a version of the same instant, neither is overwritten: the two are merged
 * as any two versions. */
function collectCopies(state, copy, entry, server, wanted, depth = 0) {
  const name = fittingName(copy.name);
  const key = keyOf({ zone: entry.zone, name });
  const held = state.transaction.record(key);
  if (held && equal(copy.fields, held.fields)) return;
  let change = {
    number: state.transaction.outbox.allocateNumber(), zone: entry.zone, name,
    type: entry.fields === null ? server.type : entry.type, fields: copy.fields,
    chunks: chunksIn(copy.fields), modifiedAt: Math.max(entry.modifiedAt, server.modifiedAt),
    isStampTrusted: true, base: null, state: waiting,
  };
  let further = [];
  const steps = Math.max(depth, wanted.length);
  if (held && !held.deleted && steps < limits.copiesOfOneMerge) {
    const resolution = state.merging.resolve(change, held);
    if (!resolution.ask) {
      change = { ...change, fields: resolution.merged };
      further = resolution.copies;
    }
  }
  change.base = held ?? null;
  if (held) change.modifiedAt = Math.max(change.modifiedAt, held.modifiedAt + 1);
  if (!equal(change.fields, held?.fields ?? null)) wanted.push({ change, held });
  for (const next of further) collectCopies(state, next, entry, server, wanted, depth + 1);
}

function putCopy(state, { change, held }, group) {
  const { transaction } = state;
  const put = { ...change, group, ...withLineage(newLineage(state, change)) };
  const open = transaction.outbox.open(keyOf(change));
  if (open) {
    put.base = open.base;
    transaction.removeEntry(open);
  }
  transaction.putEntry(put);
  transaction.put(recordOf(put, state.device, held?.tag ?? 0), 0, [held]);
}
