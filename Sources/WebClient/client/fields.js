import { isNumber, isObject, serialize } from "../changes/json.js";
import { canonicalNumber, isNumberText } from "../changes/jsonDecimal.js";
import { limits } from "../changes/limits.js";
import { isName } from "../changes/name.js";
import { byteCount, hasLoneSurrogate, width } from "../changes/utf8.js";

/** Fields are never changed once they are held, so they are measured once. */
const sizes = new WeakMap();

/** Bytes of `fields` as JSON; 0 of a delete. */
export function sizeOf(fields) {
  if (!fields) return 0;
  let size = sizes.get(fields);
  if (size === undefined) {
    size = byteCount(serialize(fields));
    sizes.set(fields, size);
  }
  return size;
}

/** Whether a record has room for them. */
export const fitsRecord = (fields) => sizeOf(fields) <= limits.recordBytes;

/** Why these cannot be a record's fields; null where they can. */
export function faultOfFields(fields) {
  if (!isObject(fields)) return "a record's fields must be a JSON object";
  return faultOfValue(fields, 1);
}

function faultOfValue(value, depth) {
  if (isNumber(value)) return faultOfNumber(value);
  switch (typeof value) {
    case "boolean": return null;
    case "string": return hasLoneSurrogate(value) ? "a text in the fields is no Unicode" : null;
    case "object": break;
    default: return `the fields hold a ${typeof value}, which JSON does not have`;
  }
  if (value === null) return null;
  if (!Array.isArray(value) && !isObject(value)) return "the fields hold what is no JSON object";
  if (depth > limits.jsonDepth) return "a record's fields are nested too deeply";
  for (const [name, item] of Object.entries(value)) {
    const fault = hasLoneSurrogate(name) ? "a name is no Unicode" : faultOfValue(item, depth + 1);
    if (fault) return fault;
  }
  return null;
}

/** An exact number that a page has made itself has to have the form of those that were read. */
function faultOfNumber(value) {
  if (typeof value === "number") {
    return Number.isFinite(value) ? null : "a number in the fields is not finite";
  }
  const isCanonical = isNumberText(value.text) && canonicalNumber(value.text) === value.text;
  return isCanonical ? null : "an exact number in the fields is not in its one form";
}

/** Why this cannot name a zone, record or type; null where it can. */
export function faultOfName(name) {
  if (isName(name)) return null;
  return `a name has 1 to ${limits.nameBytes} bytes of UTF-8 and no control characters`;
}

/** A name that was made from a long one and more may be too long. Its end tells it apart. */
export function fittingName(name) {
  let start = name.length;
  let room = limits.nameBytes;
  while (start > 0) {
    const unit = name.charCodeAt(start - 1);
    const isPair = unit >= 0xdc00 && unit < 0xe000 && start > 1;
    const units = isPair ? 2 : 1;
    room -= isPair ? 4 : width(unit);
    if (room < 0) break;
    start -= units;
  }
  return name.slice(start);
}
