import { bool, member, members, text } from "../../json/jsonValue.js";
import { dateOf, dayOf } from "../universalTime.js";
import { compareText } from "../../json/utf8.js";
import { recordsOf } from "../edit.js";
import { copyName, wholeNumber, within } from "../../model/mergeParts.js";
import { HabitList, listName } from "./habitList.js";
import { habitStatistics } from "./habitStatistics.js";

/** `checkbox`: done or not done. `count`: done a number of times. */
export const habitKinds = Object.freeze(["checkbox", "count"]);

/** Habits and their days, as stored on one device. */
export class HabitContents {
  #days;
  /** Days on which something was done, by their habit's part of the records' names. */
  #doneDays = null;

  constructor(state) {
    const list = new HabitList(
      recordsOf(state, "HabitList").find(({ name }) => name === listName)?.fields);
    /** First the habits in use, then the archived ones; each by place, then by title, then by
     * name. */
    this.habits = recordsOf(state, "Habit").map((record) => habitOf(record, list)).sort(inOrder);
    this.#days = new Map(
      recordsOf(state, "CheckIn").map((record) => [record.name, checkInDay(record.fields)]));
  }

  get inUse() { return this.habits.filter((habit) => !habit.isArchived); }

  get archived() { return this.habits.filter((habit) => habit.isArchived); }

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

  /** Returns the days of a habit on which something was done, in order.
   * @returns {{day: number, isReached: boolean}[]} */
  doneDays(habit) {
    this.#doneDays ??= this.#readDoneDays();
    const days = this.#doneDays.get(stemOf(checkInName(habit.name, 0))) ?? [];
    return days.map((day) => ({ day, isReached: this.isReached(habit, day) }));
  }

  statistics(habit, today) { return habitStatistics(this.doneDays(habit), today); }

  #readDoneDays() {
    const found = new Map();
    for (const [name, { isDone, total }] of this.#days) {
      const day = isDone || total > 0n ? dayOf(name.slice(-dateLength)) : undefined;
      if (day === undefined || !name.endsWith(`/${dateOf(day)}`)) continue;
      const stem = stemOf(name);
      if (!found.has(stem)) found.set(stem, []);
      found.get(stem).push(day);
    }
    for (const days of found.values()) days.sort((one, other) => one - other);
    return found;
  }
}

/** Length of `2026-03-01`. */
const dateLength = 10;

/** Returns the name of a day's record without the day. */
const stemOf = (name) => name.slice(0, -dateLength - 1);

/** Reads a habit from a record. `target`, the goal per day, is at least 1; `place` is that in the
 * order that a person has made. */
export function habitOf(record, list = new HabitList(undefined)) {
  const target = wholeNumber(member(record.fields, "target")) ?? 1n;
  const kind = text(record.fields, "kind");
  return {
    name: record.name,
    title: text(record.fields, "title") ?? "",
    kind: habitKinds.includes(kind) ? kind : "checkbox",
    target: target > 1n ? target : 1n,
    isArchived: list.isArchived(record.name), place: list.place(record.name),
  };
}

function inOrder(one, other) {
  if (one.isArchived !== other.isArchived) return one.isArchived ? 1 : -1;
  if (one.place !== other.place) {
    if (one.place === undefined || other.place === undefined) {
      return one.place === undefined ? 1 : -1;
    }
    return one.place < other.place ? -1 : 1;
  }
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
