import { limits } from "../../changes/limits.js";
import { byteCount, prefix, width } from "../../changes/utf8.js";

/**
 * A name for the copy that a conflict leaves, or for a record that belongs to another: `stem` and
 * what tells it apart; of a long stem as much as a record's name has room for.
 */
export function copyName(stem, suffix) {
  const room = limits.nameBytes - byteCount(suffix);
  let bytes = 0;
  let count = 0;
  for (const scalar of prefix(stem, limits.nameBytes)) {
    bytes += width(scalar.codePointAt(0));
    if (bytes > room) break;
    count += 1;
  }
  return prefix(stem, count) + suffix;
}
