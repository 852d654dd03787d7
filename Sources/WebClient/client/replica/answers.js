import { advice, blamesContent, mayPass } from "../refusal.js";
import { keyOf, nothingAt } from "../record.js";
import { recordOf, waiting } from "./outbox.js";
import { noticeRestoreByAnswer } from "./restore.js";
import { settle } from "./settling.js";

/** What the relay answered to a batch. */
export function applyAnswer(state, id, answer, applied) {
  const frozen = state.ledger.outbox.frozen;
  if (frozen?.id !== id) return;
  applied.hasAnswer = true;
  const isRestored = noticeRestoreByAnswer(state, answer);
  if (isRestored) applied.foundGap = true;
  const unanswered = [...frozen.entries];
  for (const result of answer.results) {
    const at = unanswered.findIndex((entry) => entry.name === result.name);
    if (at < 0) continue;
    const [entry] = unanswered.splice(at, 1);
    if (result.conflict) conflict(state, entry, result.conflict, isRestored, applied);
    else if (result.error) refuse(state, entry, result.error, applied);
    else acknowledge(state, entry, result.tag);
  }
  // An answer that leaves some out is no answer for those: they go again.
  for (const entry of unanswered) reopen(state, entry);
}

/** The whole batch was turned down. */
export function refuseBatch(state, id, refusal) {
  const frozen = state.ledger.outbox.frozen;
  if (frozen?.id !== id) return;
  const isOneThing = frozen.entries.length === 1 || typeof frozen.entries[0].group === "number";
  for (const entry of frozen.entries) {
    if (isOneThing && blamesContent(refusal)) park(state, entry, refusal);
    else reopen(state, entry, refusal.code !== "clockAhead");
  }
}

/** The batch is one change, and is too large for what stands between here and the relay: it waits
 * until it is tried again, and others go on. */
export function setAside(state, id) {
  const frozen = state.ledger.outbox.frozen;
  if (frozen?.id !== id) return;
  for (const entry of frozen.entries) {
    const open = reopen(state, entry);
    state.setAside.set(open.number, open.modifiedAt);
  }
}

/** Parked changes have another try. */
export function reopenParked(state, isMeant) {
  for (const entry of state.ledger.outbox.entries()) {
    if (entry.state.kind === "parked" && isMeant(entry)) {
      state.ledger.putEntry({ ...entry, state: waiting });
    }
  }
}

/** Parked records that may be taken by now have another try. */
export function retryParked(state) {
  reopenParked(state, (entry) => mayPass(entry.state.refusal));
}

function acknowledge(state, entry, tag) {
  const { ledger } = state;
  ledger.removeEntry(entry);
  const saved = recordOf(entry, state.device, tag);
  const later = ledger.outbox.open(keyOf(entry));
  if (!later) {
    ledger.put(saved);
    return;
  }
  const put = { ...later, base: saved };
  // What the person is asked about stands there no more.
  if (later.state.kind === "asking" && later.state.server.tag < tag) {
    put.state = { kind: "asking", server: saved };
  }
  ledger.putEntry(put);
  ledger.put(recordOf(put, state.device, tag));
}

function conflict(state, entry, server, isRestored, applied) {
  const isOwn = server.device === state.device && server.modifiedAt === entry.modifiedAt
    && server.tag > 0;
  if (isOwn) {
    acknowledge(state, entry, server.tag);
    return;
  }
  const open = reopen(state, entry);
  // Which of the two came first cannot be told before the relay has said how far back it went.
  if (isRestored) return;
  // A conflict with a tombstone that is no longer kept names no type worth keeping.
  settle(state, open, server.tag === 0 ? { ...server, type: entry.type } : server, applied);
}

function refuse(state, entry, refusal, applied) {
  switch (advice(refusal)) {
    case "stampAnew":
      applied.clockAhead = true;
      reopen(state, entry, false);
      break;
    case "fetchFirst":
      // What stands there was too large to be told with the answer: it comes with the changes.
      if (refusal.code === "conflictTooLarge") applied.foundGap = true;
      reopen(state, entry);
      break;
    case "retry":
      applied.retryLater = refusal;
      reopen(state, entry);
      break;
    default:
      park(state, entry, refusal);
  }
}

/** Takes an entry back that did not land. An edit made on top of it replaces it: nobody else has
 * seen it, so that edit was made on what this one was made on. Only what time made others may have
 * made too, and that stays known. */
function reopen(state, entry, trusted = true) {
  const { ledger } = state;
  // It may yet land, with what was sent before: a deletion of it must reach the relay too.
  const base = entry.base ?? nothingAt(entry, entry.type);
  const firstSent = entry.firstSent ?? entry.modifiedAt;
  let open = { ...entry, state: waiting, isStampTrusted: trusted, base, firstSent };
  const later = ledger.outbox.open(keyOf(entry));
  if (later) {
    ledger.removeEntry(entry);
    open = { ...later, base, firstSent, timeMade: later.timeMade ?? entry.timeMade ?? null,
      group: entry.group ?? null };
  }
  ledger.putEntry(open);
  return open;
}

/** Refused for good: it waits for the person. An edit made on top of it gets its own try. */
function park(state, entry, refusal) {
  if (state.ledger.outbox.open(keyOf(entry))) {
    reopen(state, entry);
    return;
  }
  state.ledger.putEntry({ ...entry, state: { kind: "parked", refusal }, group: null });
}
