import { serialize } from "../../changes/json.js";
import { merged } from "../../changes/resolver.js";
import { compareText } from "../../changes/utf8.js";
import { changeOutlivesDelete } from "../merge/changeOutlivesDelete.js";
import { sides } from "../merge/newerWins.js";
import { setMerge, union } from "../merge/setMerge.js";
import { TimerState, concurrencyMilliseconds, further } from "./timerModel.js";

/**
 * Two devices changed the timer, neither having seen the other's change.
 *
 * The edits of both sides are merged as a set, and the few that are concurrent with one another are
 * all kept, in order of preference. To keep only the winner of each pair would make the outcome
 * depend on the order in which the changes reach the relay.
 *
 * An edit that time made counts as its person's act (see `TimerEdit`): it is not told apart from
 * it, and is as old. Of two versions of one act the one further along is kept.
 *
 * @type {import("../../changes/resolver.js").Resolver}
 */
export const timerResolver = Object.freeze({
  takesNewestStamp: false,

  resolve(conflict) {
    const standing = changeOutlivesDelete(conflict);
    if (standing) return standing;
    const { newer: newerVersion, older: olderVersion } = sides(conflict);
    const base = TimerState.of(conflict.base?.fields);
    const newer = TimerState.of(newerVersion.fields);
    const older = TimerState.of(olderVersion.fields);
    const identity = (edit) => edit.identity;
    let kept = setMerge(base.edits, newer.edits, older.edits, identity);
    if (kept.length === 0) kept = union(newer.edits, older.edits, identity);
    const furthest = new Map();
    for (const edit of [...newer.edits, ...older.edits]) {
      const known = furthest.get(edit.identity);
      furthest.set(edit.identity, known ? further(known, edit) : edit);
    }
    // Fields that no rule names travel with the newer version.
    return merged(newer.with({
      edits: candidates(kept.map((edit) => furthest.get(edit.identity))),
      completedPomodoros: newer.completedPomodoros > older.completedPomodoros
        ? newer.completedPomodoros : older.completedPomodoros,
    }).fields);
  },
});

/** The edits whose acts are concurrent with the newest act, the one to be shown first. */
export function candidates(edits) {
  const newest = greatest(edits.map((edit) => edit.actTimestamp));
  const kept = edits.filter((edit) => newest - edit.actTimestamp <= concurrencyMilliseconds);
  const instant = greatest(kept.map((edit) => edit.timestamp));
  return kept
    .map((edit) => ({
      edit, rank: rank(edit.phase), timeLeft: edit.remainingAt(instant),
      actTimestamp: edit.actTimestamp,
    }))
    .sort(order)
    .map(({ edit }) => edit);
}

/** undefined where there is none. */
const greatest = (instants) =>
  instants.reduce((one, other) => (one > other ? one : other), instants[0]);

/** A state that only a later version knows stands last: this version could not show it. */
function rank(phase) {
  const place = ["focus", "breakTime", "snooze", "idle"].indexOf(phase);
  return place < 0 ? 4 : place;
}

/** By the state's priority, then the least time left, the newest act, the greatest device. */
function order(one, other) {
  if (one.rank !== other.rank) return one.rank - other.rank;
  if (one.timeLeft !== other.timeLeft) return one.timeLeft < other.timeLeft ? -1 : 1;
  if (one.actTimestamp !== other.actTimestamp) {
    return one.actTimestamp > other.actTimestamp ? -1 : 1;
  }
  const [edit, otherEdit] = [one.edit, other.edit];
  const devices = compareText(otherEdit.deviceID, edit.deviceID);
  if (devices !== 0) return devices;
  // No device makes two edits at one instant; whoever did gets one order everywhere all the same.
  return compareText(serialize(otherEdit.object), serialize(edit.object));
}
