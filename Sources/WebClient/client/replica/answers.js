import { equal } from "../../json/jsonValue.js";
import { advice, blamesContent, mayPass } from "../refusal.js";
import { keyOf, nothingAt } from "../record.js";
import { versionOf } from "./lineage.js";
import { isGrouped, parked, recordOf, waiting } from "./outbox.js";
import { detectRestoreByAnswer } from "./restore.js";
import { completed, reconcile } from "./reconciling.js";
import { reconcileOpened, rebaseOnTag } from "./sealedVersions.js";
import { openedResults } from "./sealing.js";

/** Applies the relay's answer to a batch. */
export function applyAnswer(state, id, answer, applied) {
  const frozen = state.transaction.outbox.frozen;
  if (frozen?.id !== id) return;
  applied.hasAnswer = true;
  const isRestored = detectRestoreByAnswer(state, answer);
  if (isRestored) applied.foundGap = true;
  for (const result of openedResults(state, answer.results, frozen.entries)) {
    applyResult(state, result, isRestored, applied);
  }
}

function applyResult(state, result, isRestored, applied) {
  const { entry } = result;
  switch (result.kind) {
    case "saved": acknowledge(state, entry, result.tag); break;
    case "refused": refuse(state, entry, result.refusal, applied); break;
    case "conflict": conflict(state, entry, result.server, isRestored, applied); break;
    case "opened": conflictOpened(state, entry, result.arrived, applied); break;
    case "absent":
      rebaseOnTag(state, returnToWaiting(state, entry), 0);
      pauseIfUnchanged(state, entry, applied);
      break;
    // Entries that the answer omits are sent again; those whose record cannot be read, once it can.
    case "unreadable": case "omitted": returnToWaiting(state, entry); break;
    default: throw new TypeError(`unknown result ${result.kind}`);
  }
}

/** Handles the refusal of a whole batch. */
export function refuseBatch(state, id, refusal) {
  const frozen = state.transaction.outbox.frozen;
  if (frozen?.id !== id) return;
  const isOneChange = frozen.entries.length === 1 || isGrouped(frozen.entries[0]);
  for (const entry of frozen.entries) {
    if (isOneChange && blamesContent(refusal)) park(state, entry, refusal);
    else returnToWaiting(state, entry, refusal.code !== "clockAhead");
  }
}

/** Sets aside a batch that is one change, and too large for an intermediary on the path to the
 * relay: it waits until it is retried, and others continue. */
export function setAside(state, id) {
  const frozen = state.transaction.outbox.frozen;
  if (frozen?.id !== id) return;
  for (const entry of frozen.entries) {
    const open = returnToWaiting(state, entry);
    state.setAside.set(open.number, open.modifiedAt);
  }
}

/** Returns the parked changes that `isSelected` selects to `waiting`. */
export function reopenParked(state, isSelected) {
  for (const entry of state.transaction.outbox.entries()) {
    if (entry.state.kind === "parked" && isSelected(entry)) {
      state.transaction.putEntry({ ...entry, state: waiting });
    }
  }
}

/** Retries parked records that may be accepted by now. */
export function retryParked(state) {
  reopenParked(state, (entry) => mayPass(entry.state.refusal));
}

function acknowledge(state, entry, tag) {
  const { transaction } = state;
  transaction.removeEntry(entry);
  const saved = recordOf(entry, state.device, tag);
  const version = versionOf(entry.lineage);
  const later = transaction.outbox.open(keyOf(entry));
  if (!later) {
    transaction.put(saved, 0, [], version);
    return;
  }
  const put = { ...later, base: saved };
  if (version && later.lineage) put.lineage = { ...later.lineage, base: version };
  // The version that the person is asked about has been replaced.
  if (later.state.kind === "asking" && later.state.server.tag < tag) {
    put.state = { kind: "asking", server: saved };
  }
  transaction.putEntry(put);
  transaction.put(recordOf(put, state.device, tag));
}

function conflict(state, entry, server, isRestored, applied) {
  const isOwn = server.device === state.device && server.modifiedAt === entry.modifiedAt
    && server.tag > 0 && equal(entry.fields, server.fields);
  if (isOwn) {
    acknowledge(state, entry, server.tag);
    return;
  }
  const open = returnToWaiting(state, entry);
  // The order of the two versions is unknown until the relay has reported how far back it went.
  if (isRestored) return;
  // A conflict with a tombstone that is no longer kept has no useful type.
  const there = server.tag === 0 ? { ...server, type: entry.type } : server;
  reconcile(state, open, completed(state, there, open.base), applied);
}

/** Handles the relay's report that it has another version of a record of a sealed zone. */
function conflictOpened(state, entry, server, applied) {
  const isOwn = versionOf(entry.lineage)?.isSame(server.version)
    && equal(entry.fields, server.record.fields);
  if (isOwn) {
    acknowledge(state, entry, server.tag);
    return;
  }
  reconcileOpened(state, returnToWaiting(state, entry), server, applied);
  pauseIfUnchanged(state, entry, applied);
}

/** Sends the change later if the relay has refused it for the very version that it was made on. */
function pauseIfUnchanged({ transaction }, entry, applied) {
  const open = transaction.outbox.open(keyOf(entry));
  if (open?.state.kind !== "waiting" || open.modifiedAt !== entry.modifiedAt) return;
  if ((open.base?.tag ?? 0) !== (entry.base?.tag ?? 0)) return;
  applied.retryLater = { code: "internalError",
    detail: "the relay reports a conflict with the version that it was told of" };
}

function refuse(state, entry, refusal, applied) {
  switch (advice(refusal)) {
    case "stampAnew":
      applied.clockAhead = true;
      returnToWaiting(state, entry, false);
      break;
    case "fetchFirst":
      // The relay's version was too large for the answer: it comes with the changes.
      if (refusal.code === "conflictTooLarge") applied.foundGap = true;
      returnToWaiting(state, entry);
      break;
    case "retry":
      applied.retryLater = refusal;
      returnToWaiting(state, entry);
      break;
    default:
      park(state, entry, refusal);
  }
}

/** Returns an unsaved entry to `waiting`. An edit made on top of the entry replaces it and gets its
 * base, because no other device has the entry. Due edits stay recorded in `timeMade`: other devices
 * may have made them too. */
function returnToWaiting(state, entry, trusted = true) {
  const { transaction } = state;
  // An earlier request may still save it: a later deletion must reach the relay too.
  const base = entry.base ?? nothingAt(entry, entry.type);
  const firstSent = entry.firstSent ?? entry.modifiedAt;
  let open = {
    ...entry, state: waiting, isStampTrusted: trusted, base, firstSent, includes: [],
  };
  const later = transaction.outbox.open(keyOf(entry));
  if (later) {
    transaction.removeEntry(entry);
    open = { ...later, base, firstSent, timeMade: later.timeMade ?? entry.timeMade ?? null,
      group: entry.group ?? null };
    if (entry.lineage && later.lineage) {
      const { base: madeOn, given } = entry.lineage;
      open.lineage = { ...later.lineage, base: madeOn, given };
    }
  }
  transaction.putEntry(open);
  return open;
}

/** Parks an entry that was refused for good: it waits for the person. An edit made on top of it is
 * tried separately. */
function park(state, entry, refusal) {
  if (state.transaction.outbox.open(keyOf(entry))) {
    returnToWaiting(state, entry);
    return;
  }
  state.transaction.putEntry(parked(entry, refusal));
}
