import { int64, isNumber, member } from "../changes/json.js";
import { dayOf } from "../changes/universalTime.js";
import { wellFormed } from "../changes/utf8.js";
import { EditRefusal } from "./editRefusal.js";

// Readers of an action's members. Actions come from programs, so the error names the wrong member.

/** @throws {EditRefusal} */
export function word(action, name) {
  const value = member(action, name);
  if (typeof value !== "string") throw new EditRefusal(`${name} must be a text`);
  // A text field may hold half a surrogate pair, which no other device could read.
  return wellFormed(value);
}

/** @returns {bigint} @throws {EditRefusal} */
export function whole(action, name) {
  const value = member(action, name);
  const isFinite = typeof value !== "number" || Number.isFinite(value);
  const number = isNumber(value) && isFinite ? int64(value) : undefined;
  if (number === undefined) throw new EditRefusal(`${name} must be a whole number`);
  return number;
}

/** Returns the day number of a date such as 2026-03-01. @throws {EditRefusal} */
export function goodDay(date) {
  const day = dayOf(date);
  if (day === undefined) throw new EditRefusal("that is no day; write it as 2026-03-01");
  return day;
}

/** True if a text is empty or only white space. */
export const isBlank = (text) => /^\p{White_Space}*$/u.test(text);
