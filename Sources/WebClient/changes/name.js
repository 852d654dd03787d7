import { limits } from "./limits.js";
import { byteCount, hasLoneSurrogate } from "./utf8.js";

/**
 * True if a text is a valid name of a zone, a record or a record type: 1 to 255 bytes of UTF-8
 * without control characters. Two names are equal if their bytes are, which `===` decides.
 */
export function isName(text) {
  return (
    typeof text === "string" && text.length > 0 && byteCount(text) <= limits.nameBytes &&
    !/\p{Control}/u.test(text) && !hasLoneSurrogate(text)
  );
}
