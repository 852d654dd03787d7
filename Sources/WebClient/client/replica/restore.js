import { generationOf, reach, readToken } from "../changeToken.js";
import { limits } from "../limits.js";
import { keyOf, lostVersion } from "../record.js";
import { settle, stand } from "./settling.js";
import { waiting } from "./outbox.js";

/**
 * A relay that came back from a backup has lost what was saved after it. What this device holds of
 * that goes back through the outbox, as changes made on what the relay has now.
 *
 * Three notes, kept in the store so that a crash leaves them standing:
 * - `restore` `{lost, least, isSnapshotDone}`: the relay may have lost the tags of each range
 *   `[after, through]` of `lost`; greater ones than the last are given by the relay as it is now.
 *   Up to the tag `least` nothing is lost, nor was by an earlier restore from which something is
 *   still to be brought back.
 * - `heldBefore` `{tag, seenIn}`: the greatest tag that was held when the first answer of a
 *   generation showed that the relay was restored.
 * - `former` `{token, seenIn}`: where the device stood before it lost its cursor, and the
 *   generation in which the relay has told, of this place, how far back it went (null: not which).
 */
export const notes = { restore: "restore", heldBefore: "restore.held", former: "cursor.former" };

/** The relay may have lost the version of this tag. Once the snapshot is done nothing in the device
 * refers to such a version by its tag any more. */
export function hasLostTag(restore, tag) {
  return !!restore && !restore.isSnapshotDone && lostRanges(restore).some(isIn(tag));
}

const isIn = (tag) => ([after, through]) => tag > after && tag <= through;

/** What an earlier version of this program has noted has one range, named by its ends. */
const lostRanges = ({ lost, through, held }) => lost ?? [[through, held]];

/** What is on the relay at this tag was there before the backup was made. */
export const precedesLoss = (restore, tag) => tag > 0 && tag <= restore.least;

/** An answer of another generation than the cursor's shows that the relay was restored, but not how
 * far back: what is held by then is noted. */
export function noticeRestoreByAnswer(state, answer) {
  const seenIn = generationOf(answer.token);
  noteHistory(state, seenIn);
  const known = generationOf(state.cursor) ?? state.former?.seenIn;
  if (!known || known === seenIn) return false;
  if (state.heldBefore?.seenIn === seenIn) return true;
  // What is held back came before the answer, and is taken after it.
  const heldBack = Math.max(0, ...state.overtaken.map((record) => record.tag));
  const tag = Math.max(state.ledger.greatestTag(), heldBack);
  state.note("heldBefore", { tag, seenIn });
  return true;
}

/** A restored relay still follows a cursor that its backup covers, by pages of a new generation.
 * But what this device saved beyond that cursor may be lost: the relay is asked by a token that
 * tells of it. Where there is none, a snapshot is needed. */
export function noticeRestoreByPage(state, page) {
  const seenIn = generationOf(page.token);
  const cursor = state.cursor;
  if (!cursor) return noticeRestoreBySnapshot(state, seenIn);
  if (generationOf(cursor) === seenIn) return false;
  const { sequence } = readToken(cursor);
  const held = greatestTagBefore(state, seenIn);
  const vouched = Math.max(sequence, reach(page.since));
  if (held > vouched) {
    if (held > reach(cursor)) forgetCursor(state, sequence, seenIn);
    return true;
  }
  // While the store's cursor stays behind (`move`), a crash may bring the device back to it: what
  // came since is not what was held before.
  state.note("heldBefore", { tag: held, seenIn });
  if (!state.former) return false;
  // It was asked for the sake of what it may have lost alone: the snapshot is still owed.
  state.note("former", { token: cursor, seenIn });
  state.moveTo({ kind: "nothing" });
  return true;
}

/** The first page of a snapshot that is of another generation than the place where the device stood
 * before: what it does not name may be lost rather than deleted. How far back the relay went is
 * told to those who ask for what came after that place. */
function noticeRestoreBySnapshot(state, seenIn) {
  noteHistory(state, seenIn);
  const former = state.former;
  if (state.position.kind !== "nothing" || !former?.seenIn || former.seenIn === seenIn) {
    return false;
  }
  state.moveTo({ kind: "cursor", token: former.token });
  return true;
}

/** A relay that did not know the cursor has not said in which history it is: the first word after
 * that does, and another one later shows that it went back once more. */
function noteHistory(state, seenIn) {
  const { former } = state;
  if (former && !former.seenIn) state.note("former", { token: former.token, seenIn });
}

/** The cursor leads nowhere any more: a snapshot follows. `restoredThrough`: the relay has what was
 * read up to this tag, null where nothing is lost; `lostThrough`: it lost nothing beyond this one,
 * null where it does not say so; `generation`: in which it said it. Until a whole
 * snapshot is here the store has no cursor, so that a crash on the way begins it anew. */
export function forgetCursor(state, restoredThrough, generation, lostThrough = null) {
  const cursor = state.cursor;
  if (cursor) state.note("former", { token: cursor, seenIn: generationOf(cursor) });
  if (restoredThrough !== null) {
    const held = Math.min(greatestTagBefore(state, generation), lostThrough ?? Infinity);
    noteLosses(state, [[restoredThrough, held]]);
    // An earlier relay that does not know the cursor does not say in which history it is; an
    // answer may have said it before.
    const seenIn = generation ?? state.heldBefore?.seenIn ?? null;
    if (state.former) state.note("former", { token: state.former.token, seenIn });
  }
  state.note("heldBefore", null);
  state.overtaken = [];
  state.answered = null;
  state.moveTo({ kind: "nothing" });
}

/** Notes the versions that are held with tags which the relay's history has passed over: they were
 * given by a relay whose store has gone back since. Who was away meanwhile, or has saved before it
 * read, is told of it by nothing else. True where there are such, and a snapshot is needed. */
export function noticeLosses(state, ranges) {
  if (ranges.length === 0) return false;
  const held = state.ledger.tags().sort((a, b) => a - b);
  let next = 0;
  // Both rise.
  const lost = ranges.filter(([after, through]) => {
    while (next < held.length && held[next] <= after) next += 1;
    return next < held.length && held[next] <= through;
  });
  if (lost.length > 0) noteLosses(state, lost);
  return lost.length > 0;
}

function noteLosses(state, lost) {
  const least = Math.min(...lost.map(([after]) => after));
  const found = { lost, least, isSnapshotDone: false };
  state.note("restore", state.restore ? joined(state.restore, found) : found);
}

/** The relay came back once more, before all was brought back. Where the snapshot of the first time
 * is here, what the device has taken since is lost only if it was lost this time. */
function joined(known, found) {
  const least = Math.min(known.least, found.least);
  if (known.isSnapshotDone) return { ...found, least };
  return { ...found, least, lost: [...lostRanges(known), ...found.lost].slice(-limits.tagGaps) };
}

function greatestTagBefore(state, generation) {
  const { heldBefore } = state;
  if (heldBefore && (!generation || heldBefore.seenIn === generation)) return heldBefore.tag;
  return state.ledger.greatestTag();
}

export function isLost(state, held) {
  return hasLostTag(state.restore, held.tag) || state.ledger.isLost(keyOf(held));
}

/** More of what is lost fits into the outbox. Half of that is left to the person. */
export function hasRoom(state) {
  const { outbox } = state.ledger;
  return outbox.size < limits.outboxRecords / 2 && outbox.bytes < limits.outboxBytes / 2;
}

/** What the relay has lost goes into the outbox, some of it at a time. */
export function bringBack(state) {
  if (!state.mayBringBack) return;
  const lost = state.ledger.lostRecords(limits.pageRecords, limits.pageBytes);
  state.hasLost = lost.length > 0;
  for (const held of lost) {
    if (!hasRoom(state)) return;
    stand(state, entryFor(state, held), lostVersion(held));
  }
}

/** The relay has lost what is held, and has `server` instead. Where there is no room for it, it
 * waits, and learns of the server's version by a conflict. */
export function bringBackOver(state, held, server, applied) {
  if (!hasRoom(state)) {
    state.hasLost = true;
    state.ledger.lose(keyOf(held));
    return;
  }
  const entry = entryFor(state, held);
  const { restore } = state;
  // A device whose cursor was taken back knows more than its cursor tells; a relay that does not
  // know the cursor at all counts anew.
  const isOlder = restore && (precedesLoss(restore, server.tag)
    || (restore.least > 0 && server.tag > 0 && server.tag < held.tag));
  if (isOlder) stand(state, entry, server);
  else settle(state, entry, server, applied);
}

function entryFor(state, held) {
  return {
    number: state.ledger.outbox.takeNumber(), zone: held.zone, name: held.name, type: held.type,
    fields: held.fields, chunks: held.chunks ?? [], modifiedAt: held.modifiedAt,
    isStampTrusted: true, base: lostVersion(held), state: waiting,
  };
}

/** All that was lost is acknowledged anew. */
export function endRestore(state) {
  if (!state.restore?.isSnapshotDone || state.hasLost) return;
  if (state.ledger.outbox.summary.unsent === 0) state.note("restore", null);
}
