import { integer, member, members } from "../../json/jsonValue.js";
import { wholeNumber } from "../../model/mergeParts.js";
import { isDeleted } from "../../model/resolver.js";
import { limits } from "../limits.js";
import { dateOf } from "../universalTime.js";
import { afterZero } from "./timerMachine.js";

/**
 * Completed focuses of one day: the record `focuses-2026-03-01` of the type `FocusDay`, with the
 * day in UTC on which they ended:
 *
 *     {"focuses": {"<end>-<device>": <length>}}
 *
 * `end` is the relay time at which the countdown reached zero, and `device` the device of the edit
 * that ran out. Both follow from the timer's record, and so does the length: every device that
 * notices the end writes the same member, so no focus is counted twice. All times are milliseconds.
 */
export const focusDayType = "FocusDay";

const field = "focuses";
const prefix = "focuses-";
const deviceBytes = 64;
const lengthMost = BigInt(limits.timerMilliseconds);
const dayMilliseconds = 86_400_000n;

/**
 * Returns what the end of the shown countdown adds to the record of its day; undefined if it is not
 * a focus of a known length.
 *
 * @param {import("./timerModel.js").TimerState} state
 */
export function focusAddition(state) {
  const { shown } = state;
  if (shown?.phase !== "focus" || shown.zeroAt === undefined) return undefined;
  if (new TextEncoder().encode(shown.deviceID).length > deviceBytes) return undefined;
  const length = shown.duration ?? wholeNumber(member(shown.act, "remaining")) ?? 0n;
  if (length <= 0n || length > lengthMost) return undefined;
  return {
    name: prefix + dateOf(Number(shown.zeroAt / dayMilliseconds)), type: focusDayType, field,
    member: [`${shown.zeroAt}-${shown.deviceID}`, integer(length)],
  };
}

/**
 * Returns the focuses of all days, in the order of their ends, with those whose end no device has
 * written yet.
 *
 * @param {object[]} records
 * @param {import("./timerModel.js").TimerState} state the timer's record
 * @param {number} instant relay time; later ends do not count
 * @returns {{endedAt: number, length: number}[]}
 */
export function focuses(records, state, instant) {
  const known = new Map();
  for (const record of records) {
    if (record.type !== focusDayType || isDeleted(record)) continue;
    for (const [name, value] of members(member(record.fields, field))) add(known, name, value);
  }
  const now = BigInt(instant);
  for (let it = state; it?.shown?.zeroAt !== undefined && it.shown.zeroAt <= now;
    it = afterZero(it)) {
    const addition = focusAddition(it);
    if (addition) add(known, ...addition.member);
  }
  return [...known.values()].filter(({ endedAt }) => endedAt <= instant)
    .sort((left, right) => left.endedAt - right.endedAt || left.length - right.length);
}

/** Adds a focus that is not known; leaves out what no focus can be. */
function add(known, name, value) {
  const end = /^(\d{1,16})-/.exec(name);
  const length = wholeNumber(value);
  if (known.has(name) || !end || length === undefined) return;
  if (length <= 0n || length > lengthMost) return;
  known.set(name, { endedAt: Number(end[1]), length: Number(length) });
}
