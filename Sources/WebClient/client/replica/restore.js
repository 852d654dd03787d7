import { atTag, generationOf, reach, readToken } from "../changeToken.js";
import { limits } from "../limits.js";
import { keyOf, lostVersion } from "../record.js";
import { lostRanges, precedes } from "./lostTags.js";
import { reconcile, rebase } from "./reconciling.js";
import { waiting } from "./outbox.js";
import { bringBackSealed, loseRecord } from "./sealedVersions.js";

/** Detects a restore by an answer of another generation than the cursor's. The answer does not show
 * how far back the relay went: the greatest held tag is recorded. */
export function detectRestoreByAnswer(state, answer) {
  const seenIn = generationOf(answer.token);
  recordGeneration(state, seenIn);
  const known = generationOf(state.cursor) ?? state.lostCursor?.seenIn;
  if (!known || known === seenIn) return false;
  if (state.preRestoreTag?.seenIn === seenIn) return true;
  // Records held back arrived before the answer, and are applied after it.
  const heldBack = Math.max(0, ...state.overtaken.map((record) => record.tag));
  const tag = Math.max(state.transaction.greatestTag(), heldBack);
  state.setNote("preRestoreTag", { tag, seenIn });
  return true;
}

/** Detects a restore by a page. A restored relay still accepts a cursor that its backup covers, and
 * answers with pages of a new generation. But saves of this device beyond that cursor may be lost:
 * the relay is asked with a token that includes them. If there is no such token, a snapshot is
 * needed. */
export function detectRestoreByPage(state, page) {
  const seenIn = generationOf(page.token);
  const cursor = state.cursor;
  if (!cursor) return detectRestoreBySnapshot(state, seenIn);
  if (generationOf(cursor) === seenIn) return false;
  const { sequence } = readToken(cursor);
  const held = greatestTagBefore(state, seenIn);
  const confirmed = Math.max(sequence, reach(page.since));
  if (held > confirmed) {
    if (held > reach(cursor)) forgetCursor(state, sequence, seenIn);
    return true;
  }
  // While the store's cursor stays behind (`moveCursor`), a crash may set the device back to it:
  // records that arrived since do not count as held before the restore.
  state.setNote("preRestoreTag", { tag: held, seenIn });
  if (!state.lostCursor) return false;
  // This fetch was only for possible losses: the snapshot is still required.
  state.setNote("lostCursor", { token: cursor, seenIn });
  state.moveTo({ kind: "nothing" });
  return true;
}

/** Detects a restore by the first page of a snapshot, if its generation differs from that of the
 * device's former position: records that the snapshot does not name may be lost rather than
 * deleted. The relay reports how far back it went only to requests for changes after that
 * position. */
function detectRestoreBySnapshot(state, seenIn) {
  recordGeneration(state, seenIn);
  const lostCursor = state.lostCursor;
  if (state.position.kind !== "nothing" || !lostCursor?.seenIn || lostCursor.seenIn === seenIn) {
    return false;
  }
  state.moveTo({ kind: "cursor", token: lostCursor.token });
  return true;
}

/** Records the history of a snapshot, for the case that it is not completed: a restart would leave
 * records of this history without a position in it, and a restored relay could not be noticed. */
export function recordHistory(state, token) {
  if (state.lostCursor) return;
  state.setNote("lostCursor", { token: atTag(token, 0), seenIn: generationOf(token) });
}

/** Records the relay's generation after it did not know the cursor, and so did not report its
 * history. The first answer after that shows the generation; another generation later shows another
 * restore. */
function recordGeneration(state, seenIn) {
  const { lostCursor } = state;
  if (lostCursor && !lostCursor.seenIn) {
    state.setNote("lostCursor", { token: lostCursor.token, seenIn });
  }
}

/** Discards an invalid cursor: a snapshot follows. `restoredThrough`: the relay has what was read
 * up to this tag, null if nothing is lost; `lostThrough`: nothing beyond this tag is lost, null if
 * the relay does not report it; `generation`: the generation in which it reported this. The store
 * has no cursor until a whole snapshot is complete, so that a crash before that restarts it. */
export function forgetCursor(state, restoredThrough, generation, lostThrough = null) {
  const cursor = state.cursor;
  if (cursor) state.setNote("lostCursor", { token: cursor, seenIn: generationOf(cursor) });
  if (restoredThrough !== null) {
    const held = Math.min(greatestTagBefore(state, generation), lostThrough ?? Infinity);
    recordLosses(state, [[restoredThrough, held]]);
    // An earlier relay that does not know the cursor does not report its history; an answer may
    // have shown it before.
    const seenIn = generation ?? state.preRestoreTag?.seenIn ?? null;
    if (state.lostCursor) state.setNote("lostCursor", { token: state.lostCursor.token, seenIn });
  }
  state.setNote("preRestoreTag", null);
  state.overtaken = [];
  state.answered = null;
  state.moveTo({ kind: "nothing" });
}

/** Goes back to the beginning: a snapshot follows, which brings again what the device has not
 * taken. */
export function readAgain(state) {
  if (state.position.kind === "nothing") return;
  const { cursor } = state;
  if (cursor) state.setNote("lostCursor", { token: cursor, seenIn: generationOf(cursor) });
  state.overtaken = [];
  state.moveTo({ kind: "nothing" });
}

/** Detects held versions whose tags are in gaps of the relay's history: a relay whose store was
 * reset since has assigned them. A device that was offline meanwhile, or has saved before it read,
 * cannot detect this otherwise. Returns true if there are such versions, and a snapshot is
 * needed. */
export function detectLosses(state, ranges) {
  if (ranges.length === 0) return false;
  const held = state.transaction.tags().sort((a, b) => a - b);
  let next = 0;
  // Both lists are ascending.
  const lost = ranges.filter(([after, through]) => {
    while (next < held.length && held[next] <= after) next += 1;
    return next < held.length && held[next] <= through;
  });
  if (lost.length > 0) recordLosses(state, lost);
  return lost.length > 0;
}

/** Detects held versions that the relay has lost, by a page of changes. The token of a former
 * history could not name what was saved since the relay's restore: the relay may have lost it with
 * its disk. */
export function detectLossesByPage(state, page) {
  const isInGap = detectLosses(state, page.lostTags ?? []);
  if (generationOf(state.cursor) === generationOf(page.token)) return isInGap;
  return detectLossesAfter(state, page.token) || isInGap;
}

/** Detects held versions whose tags are greater than the account's newest tag at `token`, of the
 * first page of a snapshot or of another history. No save is answered between the request for a
 * page and the page, so a store that has reverted since assigned these tags. If a save is answered
 * meanwhile on another connection, the snapshot names its version. */
export function detectLossesAfter(state, token) {
  const [newest, greatest] = [reach(token), state.transaction.greatestTag()];
  if (greatest > newest) recordLosses(state, [[newest, greatest]], newest);
  return greatest > newest;
}

function recordLosses(state, lost, newest = null) {
  const least = Math.min(...lost.map(([after]) => after));
  const found = { lost, least, newest, isSnapshotDone: false };
  state.setNote("restore", state.restore ? joined(state.restore, found) : found);
}

/** Joins a later restore, if not everything was saved again. If the snapshot of the first restore
 * is complete, records that arrived since are lost only if the later restore lost them. */
function joined(known, found) {
  const least = Math.min(known.least, found.least);
  const both = Math.min(known.newest ?? Infinity, found.newest ?? Infinity);
  const newest = both === Infinity ? null : both;
  if (known.isSnapshotDone) return { ...found, least, newest };
  const lost = [...lostRanges(known), ...found.lost].slice(-limits.tagGaps);
  return { ...found, least, newest, lost };
}

function greatestTagBefore(state, generation) {
  const { preRestoreTag } = state;
  const isKnown = preRestoreTag && (!generation || preRestoreTag.seenIn === generation);
  if (isKnown) return preRestoreTag.tag;
  return state.transaction.greatestTag();
}

/** Moves some of what the relay has lost into the outbox. */
export function bringBack(state) {
  if (!state.mayBringBack) return;
  const lost = state.transaction.lostRecords(limits.pageRecords, limits.pageBytes);
  state.hasLost = lost.length > 0;
  for (const held of lost) {
    if (!state.transaction.outbox.hasRoomForLost) return;
    if (state.sealing.isSealed(held.zone)) bringBackSealed(state, held);
    else rebase(state, entryFor(state, held), lostVersion(held));
  }
}

/** Saves a held record again that the relay has lost; it has `server` instead. If there is no room,
 * the record waits, and a conflict brings the server's version later. */
export function bringBackOver(state, held, server, applied) {
  if (!state.transaction.outbox.hasRoomForLost) {
    loseRecord(state, keyOf(held));
    return;
  }
  const entry = entryFor(state, held);
  const { restore } = state;
  if (restore && precedes(restore, server.tag, held.tag)) rebase(state, entry, server);
  else reconcile(state, entry, server, applied);
}

function entryFor(state, held) {
  return {
    number: state.transaction.outbox.allocateNumber(), zone: held.zone, name: held.name,
    type: held.type, fields: held.fields, chunks: held.chunks ?? [], modifiedAt: held.modifiedAt,
    isStampTrusted: true, base: lostVersion(held), state: waiting,
  };
}

/** Ends the restore once all that was lost is acknowledged again. */
export function endRestore(state) {
  if (!state.restore?.isSnapshotDone || state.hasLost) return;
  if (state.transaction.outbox.summary.unsent === 0) state.setNote("restore", null);
}
