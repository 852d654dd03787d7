import { int64, isNumber, member } from "../changes/json.js";
import { dayOf } from "../changes/universalTime.js";
import { wellFormed } from "../changes/utf8.js";
import { EditRefusal } from "./editRefusal.js";

// What an action must say. Whoever writes them is a program, so the sentence says which word is
// wrong.

/** @throws {EditRefusal} */
export function word(action, name) {
  const value = member(action, name);
  if (typeof value !== "string") throw new EditRefusal(`${name} must be a text`);
  // A text field may hold half a character, which no other device could read.
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

/** The number of a day that is written as 2026-03-01. @throws {EditRefusal} */
export function goodDay(date) {
  const day = dayOf(date);
  if (day === undefined) throw new EditRefusal("that is no day; write it as 2026-03-01");
  return day;
}

/** Whether a text shows nothing. */
export const isBlank = (text) => /^\p{White_Space}*$/u.test(text);
