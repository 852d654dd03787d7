import { bool, member, members, text } from "../../json/jsonValue.js";
import { dateOf } from "../universalTime.js";
import { compareText } from "../../json/utf8.js";
import { recordsOf } from "../edit.js";
import { copyName, wholeNumber, within } from "../../model/mergeParts.js";

/** `checkbox`: done or not done. `count`: done a number of times. */
export const habitKinds = Object.freeze(["checkbox", "count"]);

/** Habits and their days, as stored on one device. */
export class HabitContents {
  #days;

  constructor(state) {
    /** Sorted by title, then name. */
    this.habits = recordsOf(state, "Habit").map(habitOf).sort(byTitle);
    this.#days = new Map(
      recordsOf(state, "CheckIn").map((record) => [record.name, checkInDay(record.fields)]));
  }

  /**
   * Returns the state of a habit's day: done or not, and the count.
   * @param {number} day since 1970-01-01
   */
  day(habit, day) {
    return this.#days.get(checkInName(habit.name, day)) ?? { isDone: false, total: 0n };
  }

  /** True if the goal of the day is reached. */
  isReached(habit, day) {
    const { isDone, total } = this.day(habit, day);
    return habit.kind === "checkbox" ? isDone : total >= habit.target;
  }

  /**
   * Returns the number of consecutive days up to today on which the goal was reached. Today does
   * not break the streak, because it is not over. The loop ends at a day without a check-in: each
   * day that counts has one.
   */
  streak(habit, today) {
    const last = this.isReached(habit, today) ? today : today - 1;
    let days = 0;
    while (this.isReached(habit, last - days)) days += 1;
    return days;
  }
}

/** Reads a habit from a record. `target`, the goal per day, is at least 1. */
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

/** Reads a day from a check-in's fields; `total` is the sum over all devices, never below 0. */
export function checkInDay(fields) {
  const total = sum(member(fields, "counts")) - sum(member(fields, "undone"));
  return { isDone: bool(fields, "done") ?? false, total: total > 0n ? total : 0n };
}

/** Returns a bounded sum: another program may have written any numbers. */
function sum(counts) {
  return members(counts).reduce((total, [, count]) => {
    const next = within(total + (wholeNumber(count) ?? 0n));
    return next > 0n ? next : 0n;
  }, 0n);
}

/** Returns the name of the record for one day of a habit. */
export const checkInName = (habit, day) => copyName(habit, `/${dateOf(day)}`);
