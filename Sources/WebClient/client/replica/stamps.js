import { equal } from "../../json/jsonValue.js";
import { limits } from "../limits.js";
import { keyOf } from "../record.js";
import { changedLineage, isOwnVersion, withLineage } from "./lineage.js";
import { recordOf } from "./outbox.js";

/**
 * Stamps are relay time. An edit made while relay time was unknown has an estimated stamp, and is
 * stamped again before it is sent.
 *
 * @typedef {{wall: number, offset: number, isTrusted: boolean, isMeasured: boolean,
 *   wallSteps: number, relayTime: number}} ClockReading
 */

/** Returns a stamp for a new edit: later than every known version of the record, however wrong the
 * clock is. */
export function stampAfter({ merging }, held, clock) {
  if (!held) return clock.relayTime;
  return Math.max(clock.relayTime, merging.newestStamp(held) + 1);
}

/** Records the offset that untrusted stamps are made with, so that they can be corrected by the
 * difference to the true offset. */
export function recordOffset(state, clock) {
  // A trusted offset varies by a few milliseconds; that is not worth a write.
  const isClose = Math.abs(clock.offset - state.assumedOffset) < limits.offsetNoteMilliseconds;
  if (clock.offset === state.assumedOffset || (clock.isTrusted && isClose)) return;
  state.transaction.setValue("clock.offset", clock.offset);
}

/** Follows a step of the wall clock: the offset of the estimates so far is converted to the new
 * wall clock, which the true offset will refer to. */
export function followSteps(state, clock) {
  if (clock.wallSteps === state.followedSteps) return;
  const moved = state.assumedOffset - (clock.wallSteps - state.followedSteps);
  state.followedSteps = clock.wallSteps;
  state.transaction.setValue("clock.offset", moved);
}

/** Corrects the stamps that were estimates, now that relay time is known, and those in the relay's
 * future. Entries in flight are not changed. */
export function restampAll(state, clock) {
  if (!clock.isTrusted) return;
  const shift = clock.offset - state.assumedOffset;
  for (const entry of state.transaction.outbox.entries()) {
    if (entry.isStampTrusted || entry.state.kind === "sent") continue;
    const left = rewind(state, entry, clock);
    if (left) restamp(state, left, shift, clock);
  }
  recordOffset(state, clock);
}

/** Undoes due edits that were made too early because this device's clock was ahead: other devices
 * would treat them as newer than all edits made until then. They are made again when they are due.
 * Returns null if nothing of the entry remains. */
function rewind(state, entry, clock) {
  const { base } = entry;
  if (entry.state.kind !== "waiting" || !entry.timeMade || !base) return entry;
  let made = base;
  let inTime = base;
  let isEarly = false;
  for (let count = 0; count < limits.dueEdits; count += 1) {
    const edit = state.merging.dueEdit(made);
    if (!edit) return entry;
    isEarly ||= edit.dueAt > clock.relayTime;
    made = { ...made, fields: edit.fields };
    if (!isEarly) inTime = made;
    if (equal(made.fields, entry.fields)) {
      return isEarly ? rewindTo(state, entry, inTime, base) : entry;
    }
  }
  return entry;
}

function rewindTo(state, old, inTime, base) {
  const { transaction } = state;
  const tag = transaction.record(keyOf(old))?.tag ?? base.tag;
  // A version that has left the device is not undone by silence.
  const mustBeSent = !!old.lineage && (isOwnVersion(old.lineage) || tag === 0);
  if (inTime === base && !mustBeSent) {
    transaction.removeEntry(old);
    transaction.put({ ...base, tag }, 0, [], old.lineage?.base);
    return null;
  }
  const entry = { ...old, fields: inTime.fields,
    ...withLineage(changedLineage(old.lineage)) };
  entry.timeMade = inTime === base ? null : recordOf(entry, state.device, 0);
  transaction.putEntry(entry);
  transaction.put(recordOf(entry, state.device, tag));
  return entry;
}

function restamp(state, old, shift, clock) {
  const { transaction } = state;
  const key = keyOf(old);
  const newest = Math.max(
    old.base?.modifiedAt ?? -Infinity, transaction.outbox.sent(key)?.modifiedAt ?? -Infinity,
  );
  const stamp = Math.max(Math.min(old.modifiedAt + shift, clock.relayTime), newest + 1);
  const entry = { ...old, isStampTrusted: true };
  if (stamp !== old.modifiedAt) {
    Object.assign(entry, withLineage(changedLineage(old.lineage)));
    entry.fields = state.merging.restamped(old, stamp);
    entry.modifiedAt = stamp;
    entry.timeMade = restampedTimeMade(state, old, stamp - old.modifiedAt);
    transaction.put(recordOf(entry, state.device, transaction.record(key)?.tag ?? 0));
  }
  transaction.putEntry(entry);
}

/** Returns the result of due edits after the entry's stamp moves by `shift` milliseconds. */
function restampedTimeMade(state, entry, shift) {
  const made = entry.timeMade;
  if (!made) return null;
  const to = made.modifiedAt + shift;
  const twin = { ...entry, fields: made.fields, modifiedAt: made.modifiedAt };
  return { ...made, fields: state.merging.restamped(twin, to), modifiedAt: to };
}
