import { serialize } from "../../json/jsonValue.js";
import { compareText } from "../../json/utf8.js";
import { merged } from "../../model/resolver.js";
import { changeOutlivesDelete, setMerge, sides, union } from "../../model/mergeParts.js";
import { concurrencyMilliseconds, further, TimerState } from "./timerModel.js";

/**
 * Resolver for concurrent changes of the timer by two devices.
 *
 * Merges the edits of both sides as a set and keeps all that are concurrent with one another, in
 * order of preference. If only the winner of each pair were kept, the result would depend on the
 * order in which the changes reach the relay.
 *
 * An edit made by time counts as its person's act (see `TimerEdit`): it has the same identity and
 * the same age. Of two versions of one act, the one further along is kept.
 *
 * An act that another one replaced (`TimerEdit.replacedActs`) is not concurrent with that.
 *
 * @type {import("../../model/resolver.js").Resolver}
 */
export const timerResolver = Object.freeze({
  takesNewestStamp: false,

  resolve(conflict) {
    const resolution = changeOutlivesDelete(conflict);
    if (resolution) return resolution;
    const { newer: newerVersion, older: olderVersion } = sides(conflict);
    const base = TimerState.of(conflict.base?.fields);
    const newer = TimerState.of(newerVersion.fields);
    const older = TimerState.of(olderVersion.fields);
    const identity = (edit) => edit.identity;
    let kept = setMerge(base.edits, newer.edits, older.edits, identity);
    if (kept.length === 0) kept = union(newer.edits, older.edits, identity);
    const replaced = new Set(kept.flatMap((edit) => edit.replacedActs));
    kept = kept.filter((edit) => !replaced.has(edit.actName));
    const furthest = new Map();
    for (const edit of [...newer.edits, ...older.edits]) {
      const known = furthest.get(edit.identity);
      furthest.set(edit.identity, known ? further(known, edit) : edit);
    }
    // Fields that no rule names are taken from the newer version.
    return merged(newer.with({
      edits: candidates(kept.map((edit) => furthest.get(edit.identity))),
      completedPomodoros: newer.completedPomodoros > older.completedPomodoros
        ? newer.completedPomodoros : older.completedPomodoros,
    }).fields);
  },
});

/** Returns the edits whose acts are concurrent with the newest act, the one to show first. */
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

/** Returns undefined for an empty list. */
const greatest = (instants) =>
  instants.reduce((one, other) => (one > other ? one : other), instants[0]);

/** A state from a later version comes last: this version cannot show it. */
function rank(phase) {
  const place = ["focus", "breakTime", "snooze", "idle"].indexOf(phase);
  return place < 0 ? 4 : place;
}

/** Orders by the state's priority, then the least time left, the newest act, the greatest
 * device. */
function order(one, other) {
  if (one.rank !== other.rank) return one.rank - other.rank;
  if (one.timeLeft !== other.timeLeft) return one.timeLeft < other.timeLeft ? -1 : 1;
  if (one.actTimestamp !== other.actTimestamp) {
    return one.actTimestamp > other.actTimestamp ? -1 : 1;
  }
  const [edit, otherEdit] = [one.edit, other.edit];
  const devices = compareText(otherEdit.deviceID, edit.deviceID);
  if (devices !== 0) return devices;
  // No Lockstep device makes two edits at one instant. For other programs' edits the order must
  // still be the same on every device.
  return compareText(serialize(otherEdit.object), serialize(edit.object));
}
