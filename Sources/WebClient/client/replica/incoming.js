import { isRing } from "../../sealing/keyRing.js";
import {
  atTag, covers, generationOf, isSamePlace, knowing, reach, reached, readToken,
} from "../changeToken.js";
import { limits } from "../limits.js";
import { isSameVersion, keyOf, lostVersion, nothingAt } from "../record.js";
import { applyAnswer } from "./answers.js";
import { trim } from "./editing.js";
import { sealAwaitedZones, sealFurtherZones } from "./furtherZones.js";
import { takeHandovers } from "./keyHandover.js";
import { hasLostTag, isLost } from "./lostTags.js";
import { knownTag, knows } from "./outbox.js";
import {
  bringBackOver, detectLosses, detectLossesAfter, detectLossesByPage, detectRestoreByPage,
  endRestore, forgetCursor, readAgain, recordHistory,
} from "./restore.js";
import { completed, reconcile, rebase } from "./reconciling.js";
import { applyOpened, loseRecord, rebaseOnTag, restoreAtRelay } from "./sealedVersions.js";
import { arrivedRecords, forgetUnreadable, lockSealedAccount } from "./sealing.js";
import { restampAll } from "./stamps.js";

/**
 * Applies messages of the relay in the order of arrival: pages of changes, and answers to batches.
 * One transaction with the cursor that covers them. Idempotent.
 *
 * @param {({kind: "page", page: object, isReadAhead?: boolean} | {kind: "answer", id: string,
 *   answer: object, isLink: boolean})[]} arrivals `isReadAhead`: the page is left to the relay if
 *   there are local changes, because relay time may not be known yet
 */
export function applyArrivals(state, arrivals, clock) {
  restampAll(state, clock);
  const applied = state.newApplied();
  for (const arrival of arrivals) {
    if (arrival.kind === "page") {
      const { page, isReadAhead = false } = arrival;
      if (isReadAhead && state.transaction.outbox.size > 0) continue;
      if (isApplied(state, page.token)) continue;
      const reachBefore = reach(state.cursor);
      applyPage(state, page, applied);
      endPage(state, page, reachBefore, applied);
    } else {
      applyAnswer(state, arrival.id, arrival.answer, applied);
      advanceByAnswer(state, arrival.answer, arrival.isLink, applied);
      applyOvertaken(state, applied);
      if (sealAwaitedZones(state)) applied.foundGap = true;
    }
  }
  const written = state.transaction.writtenZones;
  for (const { zone } of state.apps) if (written.has(zone)) state.zonesToTrim.add(zone);
  endRestore(state);
  recordSyncTime(state, applied, clock);
  if (state.overtaken.length === 0 && (applied.isAtEnd || applied.isLinked)) trim(state, clock);
  applied.position = state.position;
  return applied;
}

function applyPage(state, page, applied) {
  if (!isStart(state, page) && !overlaps(state, page)) {
    // A page that ends at the device's position brings nothing new.
    if (!isSamePlace(state.cursor, page.token)) applied.foundGap = true;
    return;
  }
  if (detectRestoreByPage(state, page)) {
    applied.foundGap = true;
    return;
  }
  const isSnapshot = state.cursor === null;
  if ((page.lostTags ?? []).length > 0) state.sealing.retryConflicts();
  if (!isSnapshot && detectLossesByPage(state, page)) {
    const seenIn = generationOf(page.token);
    forgetCursor(state, null, seenIn);
    // The relay has accepted the lost cursor in this history.
    if (state.lostCursor) state.setNote("lostCursor", { token: state.lostCursor.token, seenIn });
    applied.foundGap = true;
    return;
  }
  if (state.position.kind === "nothing") {
    state.beginSnapshot();
    forgetUnreadable(state);
    detectLosses(state, page.lostTags ?? []);
    detectLossesAfter(state, page.token);
  }
  const arrivals = arrivedRecords(state, page, isSnapshot);
  for (const arrived of arrivals) {
    applyArrived(state, arrived, isSnapshot, applied);
    if (isSnapshot && !arrived.isMissing) {
      state.transaction.markNamed(keyOf(arrived), state.snapshot);
    }
  }
  lockSealedAccount(state, arrivals);
  const hasNewKeys = takeHandovers(state, arrivals);
  const sealsMore = (hasNewKeys || arrivals.some(isRing)) && sealFurtherZones(state);
  if (sealsMore || (hasNewKeys && state.sealing.hasUnreadable)) {
    // What could not be read is read again, with the new keys.
    readAgain(state);
    applied.foundGap = true;
    return;
  }
  if (isSnapshot && page.more) {
    recordHistory(state, page.token);
    state.position = { kind: "snapshot", token: page.token };
    return;
  }
  if (isSnapshot) finishSnapshot(state, applied);
  moveCursor(state, page.token);
}

/** Records if the page was the last one. If the cursor has a tag of an answer now that it did not
 * have when the page was requested (`reachBefore`), the relay is asked for it. */
function endPage({ cursor }, page, reachBefore, applied) {
  const isLast = !page.more && isSamePlace(cursor, page.token);
  const isAsked = reach(cursor) <= Math.max(reachBefore, reach(page.token));
  applied.isAtEnd = isLast && isAsked;
  if (isLast && !isAsked) applied.foundGap = true;
}

/** True if the page begins at the device's position. */
function isStart(state, page) {
  const { token = null } = state.position;
  if (token === null || page.since === null) return token === null && page.since === null;
  return isSamePlace(token, page.since);
}

/** True if the page ends before the cursor: it was applied already. */
function isApplied(state, token) {
  return state.cursor !== null && covers(state.cursor, token) && !isSamePlace(state.cursor, token);
}

/** True if the page begins before the cursor and ends after it: its known part is skipped by the
 * tags. */
function overlaps(state, page) {
  const { cursor } = state;
  return cursor !== null && page.since !== null && covers(cursor, page.since)
    && covers(page.token, cursor) && !isSamePlace(page.token, cursor);
}

/** Moves the cursor if the answer begins at it. An answer that begins after the cursor shows that
 * other devices have saved in between. Its token is then kept until a cursor covers it, and is part
 * of the token sent to the relay. */
function advanceByAnswer(state, answer, isLink, applied) {
  const { cursor } = state;
  if (cursor === null) {
    state.answered = answer.token;
    return;
  }
  const isReverted = showsReversal(cursor, answer);
  if (isLink && isSamePlace(cursor, answer.since) && !isReverted) {
    applied.isLinked = true;
    moveCursor(state, answer.token);
  } else if (!covers(cursor, answer.token)) {
    if (isLink) applied.foundGap = true;
    const keepsHorizon = isReverted || isUnconfirmed(state);
    state.answered = answer.token;
    if (!keepsHorizon) state.position = { kind: "cursor", token: withAnswered(state, cursor) };
  }
}

/** True if the batch was given tags on both sides of one that the device knows: the relay's store
 * has reverted. The relay reports what it has lost to a request that names the known tag. */
function showsReversal(cursor, { since, token }) {
  if (generationOf(cursor) !== generationOf(token)) return false;
  return reach(since) < reach(cursor) && reach(cursor) < reach(token);
}

/** True if the cursor's horizon is not the tag of an answer. If the relay's store has reverted to a
 * state before it, it may have records that the device has passed over, and reports this only to a
 * request that names the horizon. Tags of answers are held, and a page reports those that are
 * lost. */
function isUnconfirmed({ cursor, answered }) {
  const { horizon } = readToken(cursor);
  return horizon !== null && horizon !== readToken(answered)?.sequence;
}

/** Returns the position, extended by answers beyond it. */
function withAnswered(state, token) {
  const { answered } = state;
  if (answered === null || generationOf(answered) !== generationOf(token)) return token;
  return knowing(token, readToken(answered)?.sequence ?? 0);
}

/** Moves the cursor. While a record is held back (`overtaken`), the store keeps a cursor that does
 * not cover it yet: a crash then costs a fetch. But this cursor is of the new history, too, which
 * has accepted it: what is received beyond it would else count, after a crash and another restore,
 * as received before the first one, and as lost. */
function moveCursor(state, token) {
  const to = { kind: "cursor", token: withAnswered(state, reached(token, state.cursor)) };
  if (readToken(to.token)?.horizon === null) state.answered = null;
  // A relay that was restored may have lost the record that a change was in conflict with.
  if (state.cursor !== null && generationOf(state.cursor) !== generationOf(to.token)) {
    state.sealing.retryConflicts();
    const stored = state.transaction.value("cursor");
    if (state.overtaken.length > 0 && stored) {
      storePosition(state, { kind: "cursor", token: atTag(to.token, readToken(stored).sequence) });
    }
  }
  if (state.overtaken.length === 0) storePosition(state, to);
  else state.position = to;
}

function storePosition(state, position) {
  state.moveTo(position);
  if (state.preRestoreTag?.seenIn === generationOf(position.token)) {
    state.setNote("preRestoreTag", null);
  }
}

/** Applies the records that were held back, once the batch in flight is answered. */
export function applyOvertaken(state, applied) {
  if (state.overtaken.length === 0 || state.transaction.outbox.frozen) return;
  const arrivals = state.overtaken;
  state.overtaken = [];
  for (const arrived of arrivals) applyArrived(state, arrived, false, applied);
  if (state.cursor !== null) storePosition(state, state.position);
}

function applyArrived(state, arrived, isSnapshot, applied) {
  const key = keyOf(arrived);
  // The answer to the change in flight must be applied first: only the answer shows if this version
  // was made on top of the change or independently.
  if (state.transaction.outbox.sent(key)) {
    const held = state.overtaken.find((other) => keyOf(other) === key);
    if (held && held.tag >= arrived.tag) return;
    state.overtaken = state.overtaken.filter((other) => other !== held);
    state.overtaken.push(arrived);
    return;
  }
  if (arrived.isMissing) restoreAtRelay(state, arrived);
  else if (arrived.version) applyOpened(state, arrived, isSnapshot, applied);
  else applyRecord(state, arrived, isSnapshot, applied);
}

function applyRecord(state, arrived, isSnapshot, applied) {
  const { transaction } = state;
  const key = keyOf(arrived);
  const isNews = (known) => (isSnapshot ? arrived.tag !== known : arrived.tag > known);
  const entry = transaction.outbox.open(key);
  if (entry) {
    const server = completed(state, arrived, entry.base);
    const known = knownTag(entry);
    // A tag of a lost history may have been assigned again, to another version.
    const isAnother = hasLostTag(state.restore, known) && !knows(entry, server);
    if (isAnother || isNews(known)) reconcile(state, entry, server, applied);
    return;
  }
  const held = transaction.record(key);
  const server = completed(state, arrived, held);
  if (held && isLost(state, held) && !isSameVersion(held, server)) {
    bringBackOver(state, held, server, applied);
    return;
  }
  // Tags grow. Only the snapshot of a relay restored from a backup may bring a smaller one.
  if (isNews(held?.tag ?? 0)) transaction.put(server, isSnapshot ? state.snapshot : 0, [held]);
}

/** Handles records that the snapshot did not name: they are gone. Records with local edits stay,
 * and are sent to the relay; records that the relay has lost wait to be saved again. After a
 * restore of the relay, tombstones are kept. */
function finishSnapshot(state, applied) {
  const { transaction } = state;
  for (const record of transaction.unnamed(state.snapshot)) {
    const key = keyOf(record);
    if (transaction.outbox.holds(key)) {
      reconcileAbsent(state, key, applied);
    } else if (state.sealing.isSealed(record.zone)) {
      // No device has deleted it. A device that may change nothing keeps it, and so does one that
      // may no longer read the zone.
      if (state.mayWrite(record.zone)) loseRecord(state, key);
    } else if (state.sealing.isLocked(record.zone)) {
      // It may be there, sealed.
      continue;
    } else if (hasLostTag(state.restore, record.tag) && state.mayWrite(record.zone)) {
      loseRecord(state, key);
    } else if (!state.restore || !record.deleted) {
      // Snapshots name no tombstones. A still older copy of the relay, which lacks the deletion,
      // may be put back later.
      transaction.removeRecord(key);
    }
  }
  state.setNote("lostCursor", null);
  if (state.restore) state.setNote("restore", { ...state.restore, isSnapshotDone: true });
  state.position = { kind: "nothing" };
}

/** Handles a local change to a record that the relay does not have. */
function reconcileAbsent(state, key, applied) {
  const { outbox } = state.transaction;
  const entry = outbox.open(key);
  // The relay's answer decides about the change in flight, and about edits made on top of it.
  if (!entry || outbox.sent(key)) return;
  if (state.sealing.isSealed(entry.zone)) {
    rebaseOnTag(state, entry, 0);
    return;
  }
  const nothing = nothingAt(entry, entry.type);
  if (hasLostTag(state.restore, knownTag(entry))) {
    rebase(state, entry, lostVersion(entry.base ?? nothing));
  } else if (entry.state.kind === "asking" && entry.state.server.tag > 0) {
    // The record that the person was asked about was deleted since. Other changes meet the deletion
    // when they are sent.
    reconcile(state, entry, nothing, applied);
  }
}

/** Stores the time of the sync for the status of a later page; not worth a separate write each
 * time. */
function recordSyncTime(state, applied, clock) {
  const isOld = clock.relayTime - (state.lastSync ?? 0) > limits.syncNoteMilliseconds;
  if (!(state.transaction.hasChanges || isOld) || state.cursor === null || applied.foundGap) return;
  if (clock.isTrusted && state.transaction.outbox.summary.unsent === 0) {
    state.transaction.setValue("sync.last", clock.relayTime);
  }
}
