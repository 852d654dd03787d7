import { int64, serialize } from "../../changes/json.js";
import { isDeleted } from "../../changes/resolver.js";
import { compareText } from "../../changes/utf8.js";

/**
 * Order of two versions by age. True if `version` is newer: it has the greater
 * `(modifiedAt, device)`. Devices are compared by their UTF-8 bytes.
 *
 * One device never gives two versions of a record the same timestamp, so this order decides between
 * any two changes by Lockstep devices. If other programs created two equal stamps, the bytes of the
 * content decide: the result must be the same on every device, also with local and server swapped.
 */
export function isNewer(version, other) {
  const [stamp, otherStamp] = [instant(version), instant(other)];
  if (stamp !== otherStamp) return stamp > otherStamp;
  const order = compareText(version.device, other.device);
  if (order !== 0) return order > 0;
  return compareText(content(version), content(other)) > 0;
}

/** Returns the time at which a version was made. @returns {bigint} */
export function instant(version) {
  const stamp = int64(version.modifiedAt);
  if (stamp === undefined) throw new TypeError("modifiedAt is a whole number of milliseconds");
  return stamp;
}

/** Text of the content. A delete has none and sorts below any other version. */
function content(version) {
  return isDeleted(version) ? "" : serialize(version.fields);
}

/** Both sides, ordered by age. A rule that uses only these names is symmetric. */
export function sides({ local, server }) {
  return isNewer(local, server)
    ? { newer: local, older: server }
    : { newer: server, older: local };
}
