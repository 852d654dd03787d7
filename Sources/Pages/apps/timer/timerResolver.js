import { serialize } from "../../changes/json.js";
import { merged } from "../../changes/resolver.js";
import { compareText } from "../../changes/utf8.js";
import { changeOutlivesDelete } from "../merge/changeOutlivesDelete.js";
import { sides } from "../merge/newerWins.js";
import { setMerge, union } from "../merge/setMerge.js";
import { TimerState } from "./timerModel.js";

/** Beyond this many milliseconds an edit is not concurrent with a newer one: the newer wins. */
const concurrencyMilliseconds = 5_000n;

/**
 * Two devices changed the timer, neither having seen the other's change.
 *
 * The edits of both sides are merged as a set, and the few that are concurrent with one another are
 * all kept, in order of preference. To keep only the winner of each pair would make the outcome
 * depend on the order in which the changes reach the relay.
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
    // Fields that no rule names travel with the newer version.
    return merged(newer.with({
      edits: candidates(kept),
      completedPomodoros: newer.completedPomodoros > older.completedPomodoros
        ? newer.completedPomodoros : older.completedPomodoros,
    }).fields);
  },
});

/** The edits that are concurrent with the newest, the one to be shown first. */
export function candidates(edits) {
  if (edits.length === 0) return [];
  const newest = edits.map((edit) => edit.timestamp).reduce((a, b) => (a > b ? a : b));
  return edits
    .filter((edit) => newest - edit.timestamp <= concurrencyMilliseconds)
    .map((edit) => ({ edit, rank: rank(edit.phase), timeLeft: edit.remainingAt(newest) }))
    .sort(order)
    .map(({ edit }) => edit);
}

/** A state that only a later version knows stands last: this version could not show it. */
function rank(phase) {
  const place = ["focus", "breakTime", "snooze", "idle"].indexOf(phase);
  return place < 0 ? 4 : place;
}

/** By the state's priority, then the least time left, the newest timestamp, the greatest device. */
function order(one, other) {
  if (one.rank !== other.rank) return one.rank - other.rank;
  if (one.timeLeft !== other.timeLeft) return one.timeLeft < other.timeLeft ? -1 : 1;
  const [edit, otherEdit] = [one.edit, other.edit];
  if (edit.timestamp !== otherEdit.timestamp) {
    return edit.timestamp > otherEdit.timestamp ? -1 : 1;
  }
  const devices = compareText(otherEdit.deviceID, edit.deviceID);
  if (devices !== 0) return devices;
  // No device makes two edits at one instant; whoever did gets one order everywhere all the same.
  return compareText(serialize(otherEdit.object), serialize(edit.object));
}
