import { keyOf } from "../record.js";

/**
 * A relay restored from a backup has lost later saves. Those that this device holds are saved again
 * through the outbox, as changes made on the relay's present versions.
 *
 * Three notes, stored so that they survive a crash:
 * - `restore` `{lost, least, newest, isSnapshotDone}`: the relay may have lost the tags of each
 *   range `[after, through]` of `lost`; tags greater than the last of these are of the relay's
 *   present history. Up to the tag `least` nothing is lost, nor was lost by an earlier restore
 *   whose records are not all saved again. `newest` is the account's newest tag when the snapshot
 *   began, if a greater one was held then; else null.
 * - `preRestoreTag` `{tag, seenIn}`: the greatest tag that was held when the first answer of a
 *   generation showed that the relay was restored.
 * - `lostCursor` `{token, seenIn}`: the device's position before it lost its cursor, and the
 *   generation in which the relay has reported, for this position, how far back it went (null: the
 *   generation is unknown).
 */
export const notes = {
  restore: "restore", preRestoreTag: "restore.held", lostCursor: "cursor.former",
};

/** True if the relay may have lost the version of this tag. Once the snapshot is complete, nothing
 * in the device refers to such a version by its tag. */
export function hasLostTag(restore, tag) {
  return !!restore && !restore.isSnapshotDone && lostRanges(restore).some(isIn(tag));
}

const isIn = (tag) => ([after, through]) => tag > after && tag <= through;

/** An earlier version of this program has stored one range, named by its ends. */
export const lostRanges = ({ lost, through, held }) => lost ?? [[through, held]];

/** True if the relay's version of this tag was there before the backup was made. */
export const precedesLoss = (restore, tag) => tag > 0 && tag <= restore.least;

/** True if the same holds for the relay's version and `held`, a tag that the relay has lost. A
 * device whose cursor was set back has read more than its cursor shows. A relay that does not know
 * the cursor at all has a new sequence of tags. A held tag that was greater than all of the relay's
 * is not comparable with its tags, because the relay's clock may have been set back. */
export const precedes = (restore, tag, held) => precedesLoss(restore, tag)
  || (restore.least > 0 && tag > 0 && tag < held && held <= (restore.newest ?? Infinity));

/** True if the relay may have lost the version that is held. False in zones in which this device
 * may change nothing: it follows the relay there. */
export function isLost(state, held) {
  if (!state.mayWrite(held.zone)) return false;
  return hasLostTag(state.restore, held.tag) || state.transaction.isLost(keyOf(held));
}
