import { bool, member, members, text } from "../../changes/json.js";
import { dateOf } from "../../changes/universalTime.js";
import { compareText } from "../../changes/utf8.js";
import { recordsOf } from "../edit.js";
import { copyName } from "../merge/copyName.js";
import { within, wholeNumber } from "../merge/wholeNumber.js";

/** `checkbox`: done, or not. `count`: done so many times. */
export const habitKinds = Object.freeze(["checkbox", "count"]);

/** The habits with their days, as one device has them. */
export class HabitBook {
  #days;

  constructor(state) {
    /** By title, then name. */
    this.habits = recordsOf(state, "Habit").map(habitOf).sort(byTitle);
    this.#days = new Map(
      recordsOf(state, "CheckIn").map((record) => [record.name, checkInDay(record.fields)]));
  }

  /** A day of a habit: whether it is done, and how often. @param {number} day since 1970-01-01 */
  day(habit, day) {
    return this.#days.get(checkInName(habit.name, day)) ?? { isDone: false, total: 0n };
  }

  /** Whether the day's aim is reached. */
  isReached(habit, day) {
    const { isDone, total } = this.day(habit, day);
    return habit.kind === "checkbox" ? isDone : total >= habit.target;
  }

  /**
   * On how many days without a gap the aim was reached, up to today: a day that is not over breaks
   * nothing. It ends where no check-in is: each day that counts has one.
   */
  streak(habit, today) {
    const last = this.isReached(habit, today) ? today : today - 1;
    let days = 0;
    while (this.isReached(habit, last - days)) days += 1;
    return days;
  }
}

/** A habit as it stands in a record; `target`, how often a day is the aim, is at least 1. */
export function habitOf(record) {
  const target = wholeNumber(member(record.fields, "target")) ?? 1n;
  const kind = text(record.fields, "kind");
  return {
    name: record.name,
    title: text(record.fields, "title") ?? "",
    kind: habitKinds.includes(kind) ? kind : "checkbox",
    target: target > 1n ? target : 1n,
  };
}

function byTitle(one, other) {
  return compareText(one.title, other.title) || compareText(one.name, other.name);
}

/** A day from a check-in's fields; `total` is the sum over all devices, never below 0. */
export function checkInDay(fields) {
  const total = sum(member(fields, "counts")) - sum(member(fields, "undone"));
  return { isDone: bool(fields, "done") ?? false, total: total > 0n ? total : 0n };
}

/** Bounded, whatever another program wrote. */
function sum(counts) {
  return members(counts).reduce((total, [, count]) => {
    const next = within(total + (wholeNumber(count) ?? 0n));
    return next > 0n ? next : 0n;
  }, 0n);
}

/** The name of the record of a habit's day. */
export const checkInName = (habit, day) => copyName(habit, `/${dateOf(day)}`);
