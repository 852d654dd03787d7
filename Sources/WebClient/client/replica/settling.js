import { equal } from "../../changes/json.js";
import { fittingName } from "../fields.js";
import { limits } from "../limits.js";
import { isSameVersion, keyOf, nothingAt, standsForLost } from "../record.js";
import { knownTag, recordOf, waiting } from "./outbox.js";
import { hasLostTag, precedesLoss } from "./restore.js";

/** A local change meets the relay's version. */
export function settle(state, entry, server, applied) {
  if (isAcknowledged(state, entry, server)) {
    state.ledger.removeEntry(entry);
    state.ledger.put(server);
    return;
  }
  if (isMadeOnTop(state, entry, server)) {
    stand(state, entry, server);
    return;
  }
  let change = entry;
  let resolution;
  if (entry.base && hasLostTag(state.restore, entry.base.tag)) {
    resolution = state.merging.resolveLost(entry, entry.base, server);
    // What the relay has now was made by somebody who may not have known that version.
    change = { ...entry, base: nothingAt(entry, entry.type) };
  } else {
    resolution = state.merging.resolve(entry, server);
  }
  applied.conflicts += 1;
  if (resolution.ask) ask(state, change, server);
  else merge(state, change, server, resolution);
}

function ask(state, entry, server) {
  state.ledger.putEntry({
    ...entry, state: { kind: "asking", server }, group: null,
    base: server.tag === 0 ? server : entry.base,
  });
}

function merge(state, entry, server, { merged, copies }) {
  const { ledger } = state;
  ledger.removeEntry(entry);
  const isServers = equal(merged, server.fields) && !state.merging.isLaterSame(entry, server);
  const wanted = [];
  for (const copy of copies) collect(state, copy, entry, server, wanted);
  const group = isServers || wanted.length === 0 ? null : ledger.outbox.nextNumber;
  // Copies first: they have the smaller numbers (see `ungroup`).
  for (const copy of wanted) putCopy(state, copy, group);
  if (isServers) {
    // The relay's version stands.
    if (server.tag > 0) ledger.put(server);
    else ledger.removeRecord(keyOf(entry));
    return;
  }
  // Its stamp is the newer of the two, so that a third version, made between them and now, is
  // compared with what was made, not with when it was merged.
  const put = {
    number: ledger.outbox.takeNumber(), zone: entry.zone, name: entry.name,
    type: entry.fields === null ? server.type : entry.type, fields: merged,
    chunks: chunksOf(merged, entry, server),
    modifiedAt: Math.max(entry.modifiedAt, server.modifiedAt), isStampTrusted: true, base: server,
    state: waiting, group,
  };
  ledger.putEntry(put);
  ledger.put(recordOf(put, state.device, server.tag));
}

/** The pieces of files that merged fields name: those of the version whose fields they are. */
function chunksOf(merged, entry, server) {
  return equal(merged, server.fields) ? server.chunks ?? [] : entry.chunks ?? [];
}

/** The relay's version is this very change: it was acknowledged, or another device had the same to
 * bring back. */
function isAcknowledged(state, entry, server) {
  if (server.tag === 0 || server.modifiedAt !== entry.modifiedAt) return false;
  return server.device === state.device
    || (server.type === entry.type && equal(entry.fields, server.fields));
}

/** True where the relay's version is the change as it was sent before. Other versions of this
 * device may stand there that it knows nothing of: its storage came back from a backup. */
function isEarlierVersion(state, server, { firstSent = null, modifiedAt }) {
  return server.device === state.device && firstSent !== null
    && firstSent <= server.modifiedAt && server.modifiedAt < modifiedAt;
}

/** The relay's version came before the change, or is its base over again: nothing conflicts. */
function isMadeOnTop(state, entry, server) {
  const { restore } = state;
  if (entry.state.kind === "asking") {
    const { tag } = entry.state.server;
    if (tag > 0 && !hasLostTag(restore, tag)) return false;
  }
  const wasLost = hasLostTag(restore, knownTag(entry));
  // Only a relay that has lost the base shows nothing in its place.
  if (server.tag === 0) return wasLost;
  // Tags grow. An older version than the base is that of a restored relay.
  if (server.tag < (entry.base?.tag ?? 0)) return true;
  // This device saved it, though the answer was lost: what waits here was made after that.
  if (isEarlierVersion(state, server, entry)) return true;
  if (restore && precedesLoss(restore, server.tag)) {
    // Once the snapshot is here, nothing refers to what was lost by its tag.
    const isBack = restore.isSnapshotDone && entry.base !== null && standsForLost(entry.base);
    if (wasLost || isBack) return true;
  }
  return entry.base !== null && entry.base.tag > 0 && isSameVersion(entry.base, server);
}

/** The change is one of `server` from here on. */
export function stand(state, entry, server) {
  const { ledger } = state;
  const put = { ...entry, base: server };
  if (entry.state.kind === "asking" && hasLostTag(state.restore, entry.state.server.tag)) {
    // The person may still choose what the relay has lost; see `decide`.
    put.state = { kind: "asking", server: { ...entry.state.server, tag: 0 } };
  }
  ledger.putEntry(put);
  const held = ledger.record(keyOf(entry));
  if (held) ledger.put({ ...held, tag: server.tag });
}

/** Nothing where the copy is here already. Where another stands under its name, such as that of a
 * version of the same instant, none is written over: the two meet as any two versions do. */
function collect(state, copy, entry, server, wanted, depth = 0) {
  const name = fittingName(copy.name);
  const key = keyOf({ zone: entry.zone, name });
  const held = state.ledger.record(key);
  if (held && equal(copy.fields, held.fields)) return;
  let change = {
    number: state.ledger.outbox.takeNumber(), zone: entry.zone, name,
    type: entry.fields === null ? server.type : entry.type, fields: copy.fields, chunks: [],
    modifiedAt: Math.max(entry.modifiedAt, server.modifiedAt), isStampTrusted: true, base: null,
    state: waiting,
  };
  let further = [];
  const steps = Math.max(depth, wanted.length);
  if (held && !held.deleted && steps < limits.copiesOfOneMerge) {
    const met = state.merging.resolve(change, held);
    if (!met.ask) {
      change = { ...change, fields: met.merged };
      further = met.copies;
    }
  }
  change.base = held ?? null;
  if (held) change.modifiedAt = Math.max(change.modifiedAt, held.modifiedAt + 1);
  if (!equal(change.fields, held?.fields ?? null)) wanted.push({ change, held });
  for (const next of further) collect(state, next, entry, server, wanted, depth + 1);
}

function putCopy(state, { change, held }, group) {
  const { ledger } = state;
  const put = { ...change, group };
  const open = ledger.outbox.open(keyOf(change));
  if (open) {
    put.base = open.base;
    ledger.removeEntry(open);
  }
  ledger.putEntry(put);
  ledger.put(recordOf(put, state.device, held?.tag ?? 0));
}
