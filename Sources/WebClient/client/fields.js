import { depthMax, isNumber, isObject, serialize } from "../json/jsonValue.js";
import { canonicalNumber, isNumberText } from "../json/jsonDecimal.js";
import { limits } from "../model/limits.js";
import { isName } from "../model/name.js";
import { stampsMember } from "../model/stamps.js";
import { byteCount, hasLoneSurrogate, width } from "../json/utf8.js";

/** Fields never change after they are stored, so their size is computed once. */
const sizes = new WeakMap();

/** Bytes of `fields` as JSON; 0 for a delete. */
export function sizeOf(fields) {
  if (!fields) return 0;
  let size = sizes.get(fields);
  if (size === undefined) {
    size = byteCount(serialize(fields));
    sizes.set(fields, size);
  }
  return size;
}

/** True if fields of this size, in bytes, fit into a record. */
export const fitsRecord = (size) => size <= limits.recordBytes;

/** Returns the reason that a value cannot be a record's fields; null if it can. */
export function faultOfFields(fields) {
  if (!isObject(fields)) return "a record's fields must be a JSON object";
  for (const [name, value] of Object.entries(fields)) {
    const fault = hasLoneSurrogate(name) ? nameFault : faultOfValue(value, 2);
    if (fault) return sentence(name, fault);
  }
  return null;
}

/** Returns the reason that an item has no copy: a field that is nested too deeply, or that holds
 * itself. Stops at the first. */
export function faultOfDepth(item) {
  const field = Object.entries(item).find(([, value]) => isTooDeep(value, 2));
  return field ? sentence(field[0], depthFault) : null;
}

const sentence = (name, fault) =>
  (hasLoneSurrogate(name) ? `a field ${nameFault}` : `the field ${serialize(name)} ${fault}`);

const nameFault = "has a name that is no Unicode";
const depthFault = "is nested too deeply, or holds itself";

function isTooDeep(value, depth) {
  if (typeof value !== "object" || value === null || isNumber(value)) return false;
  return depth > depthMax || Object.values(value).some((part) => isTooDeep(part, depth + 1));
}

/** The same for fields that a person's edit sets: the stamps of the fields are not among them. */
export function faultOfSetFields(fields) {
  const fault = faultOfFields(fields);
  if (fault || !Object.hasOwn(fields, stampsMember)) return fault;
  return `the field "${stampsMember}" is reserved for stamps; leave it out`;
}

/** Returns the fault of a field as the rest of a sentence about it. */
function faultOfValue(value, depth) {
  if (isNumber(value)) return faultOfNumber(value);
  switch (typeof value) {
    case "boolean": return null;
    case "string": return hasLoneSurrogate(value) ? "holds a text that is no Unicode" : null;
    case "object": break;
    default: return `holds a value of type ${typeof value}, which JSON does not have`;
  }
  if (value === null) return null;
  if (!Array.isArray(value) && !isObject(value)) return "holds an object that is not plain";
  if (depth > depthMax) return depthFault;
  if (Array.isArray(value) && hasHole(value)) {
    return "holds an array with a hole, which JSON does not have; remove the element whole";
  }
  for (const [name, item] of Object.entries(value)) {
    const fault = hasLoneSurrogate(name) ? nameFault : faultOfValue(item, depth + 1);
    if (fault) return fault;
  }
  return null;
}

function hasHole(array) {
  for (let index = 0; index < array.length; index += 1) {
    if (!Object.hasOwn(array, index)) return true;
  }
  return false;
}

/** An exact number made by a page must be in canonical form, like those that were parsed. */
function faultOfNumber(value) {
  if (typeof value === "number") {
    return Number.isFinite(value) ? null : "holds a number that is not finite";
  }
  const isCanonical = isNumberText(value.text) && canonicalNumber(value.text) === value.text;
  return isCanonical ? null : "holds an exact number that is not in its one form";
}

/** Returns the reason that a text cannot name a zone, record or type; null if it can. */
export function faultOfName(name) {
  if (isName(name)) return null;
  return `a name has 1 to ${limits.nameBytes} bytes of UTF-8 and no control characters`;
}

/** The same for a zone that this device writes. Requests have its name in their path. */
export function faultOfZone(name) {
  if (name !== "." && name !== "..") return faultOfName(name);
  return 'a zone cannot be named "." or "..": browsers remove these from the path of a request';
}

/** Shortens a composed name that is too long. Keeps the end, which is unique. */
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
