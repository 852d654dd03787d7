import { limits } from "./limits.js";
import { byteCount, hasLoneSurrogate } from "./utf8.js";

/**
 * Whether a text may name a zone, a record or a record type: 1 to 255 bytes of UTF-8 without
 * control characters. Two names are the same where their bytes are, which is where `===` says so.
 */
export function isName(text) {
  return (
    typeof text === "string" && text.length > 0 && byteCount(text) <= limits.nameBytes &&
    !/\p{Control}/u.test(text) && !hasLoneSurrogate(text)
  );
}
