import { int64, serialize } from "../../changes/json.js";
import { isDeleted } from "../../changes/resolver.js";
import { compareText } from "../../changes/utf8.js";

/**
 * Which of two versions is newer: the one with the greater `(modifiedAt, device)`, devices compared
 * by the bytes of their UTF-8.
 *
 * One device never stamps one record twice alike, so this decides between any two changes that
 * Lockstep's own devices make. Where others did stamp two alike, the bytes of the content decide:
 * the answer must be the same on every device, with local and server exchanged too.
 */
export function isNewer(version, other) {
  const [stamp, otherStamp] = [instant(version), instant(other)];
  if (stamp !== otherStamp) return stamp > otherStamp;
  const order = compareText(version.device, other.device);
  if (order !== 0) return order > 0;
  return compareText(content(version), content(other)) > 0;
}

/** When a version was made. @returns {bigint} */
export function instant(version) {
  const stamp = int64(version.modifiedAt);
  if (stamp === undefined) throw new TypeError("modifiedAt is a whole number of milliseconds");
  return stamp;
}

/** A delete has no content and stands below any other. */
function content(version) {
  return isDeleted(version) ? "" : serialize(version.fields);
}

/** The two sides by age. A rule that is written in these words alone is symmetric. */
export function sides({ local, server }) {
  return isNewer(local, server)
    ? { newer: local, older: server }
    : { newer: server, older: local };
}
