import { limits } from "../../changes/limits.js";
import { byteCount, prefix, width } from "../../changes/utf8.js";

/**
 * Returns a name for a copy left by a conflict, or for a record that belongs to another one: `stem`
 * followed by `suffix`. Cuts the stem if the name would exceed `nameBytes`.
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
