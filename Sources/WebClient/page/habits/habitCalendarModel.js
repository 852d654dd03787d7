import { dateOf, dayOf } from "../../apps/universalTime.js";
import { longDate, plural, weekday } from "../text/time.js";

/** Years before today's that the calendar shows. */
const yearsBack = 20;

export const monthOf = (date) => date.slice(0, 7);

/** Returns the month that is `count` after another: `2026-03`. */
export function monthAfter(month, count) {
  const [year, number] = month.split("-").map(Number);
  const months = year * 12 + number - 1 + count;
  return `${String(Math.floor(months / 12)).padStart(4, "0")}-${padded((months % 12) + 1)}`;
}

const padded = (number) => String(number).padStart(2, "0");

/** Returns the month's name with the year: `March 2026`. */
export const monthName = (month) => longDate(`${month}-01`).replace(/^1 /, "");

/** First month that the calendar shows. */
export const firstMonth = (today) => monthAfter(monthOf(today), -12 * yearsBack);

/** Returns the date that is `count` days after another, within the days that the calendar shows. */
export function dateAfter(date, count, today) {
  const first = dayOf(`${firstMonth(today)}-01`);
  return dateOf(Math.min(Math.max(dayOf(date) + count, first), dayOf(today)));
}

/** Returns the same day of another month, or that month's last one, within the calendar. */
export function dateInMonth(date, count, today) {
  const month = monthAfter(monthOf(date), count);
  const last = lastDay(month);
  return dateAfter(`${month}-${padded(Math.min(Number(date.slice(8)), last))}`, 0, today);
}

const lastDay = (month) => dayOf(`${monthAfter(month, 1)}-01`) - dayOf(`${month}-01`);

/**
 * Returns a month of a habit, in weeks that begin on Monday. A week has a null for each day of
 * another month. `done` of `past` days have reached the goal.
 *
 * @param {import("../../apps/habits/habitContents.js").HabitContents} contents
 */
export function habitMonth(contents, habit, month, today, chosen) {
  const first = dayOf(`${month}-01`);
  const days = Array.from({ length: lastDay(month) }, (_, at) =>
    calendarDay(contents, habit, first + at, today, chosen));
  // 1970-01-01 was a Thursday.
  const before = (((first + 3) % 7) + 7) % 7;
  const cells = [...Array(before).fill(null), ...days];
  cells.push(...Array((7 - cells.length % 7) % 7).fill(null));
  const past = days.filter(({ isFuture }) => !isFuture);
  const done = past.filter(({ isDone }) => isDone).length;
  return {
    key: month, month, name: monthName(month), done, past: past.length,
    sum: past.length === 0 ? "" : `${done} of ${plural(past.length, "day")}`,
    weeks: Array.from({ length: cells.length / 7 }, (_, at) => cells.slice(7 * at, 7 * at + 7)),
    hasPrevious: month > firstMonth(today), hasNext: month < monthOf(today),
  };
}

function calendarDay(contents, habit, day, today, chosen) {
  const date = dateOf(day);
  const { total } = contents.day(habit, day);
  const isDone = contents.isReached(habit, day);
  const isFuture = date > today;
  const state = isFuture ? "not yet"
    : habit.kind === "count" ? `${total} of ${habit.target}${isDone ? ", done" : ""}`
    : isDone ? "done" : "not done";
  return {
    date, number: String(Number(date.slice(8))), isDone, isBegun: total > 0n, isFuture,
    isToday: date === today, isChosen: date === chosen,
    label: `${weekday(date)}, ${longDate(date)}: ${state}`,
  };
}

/** Returns the twelve months of a year. */
export function habitYear(contents, habit, year, today) {
  const months = Array.from({ length: 12 }, (_, at) =>
    habitMonth(contents, habit, `${year}-${padded(at + 1)}`, today, null));
  const [done, past] = ["done", "past"].map((name) =>
    months.reduce((sum, month) => sum + month[name], 0));
  return {
    key: year, year, months, sum: past === 0 ? "" : `${done} of ${plural(past, "day")}`,
    hasPrevious: `${year}-01` > firstMonth(today), hasNext: year < today.slice(0, 4),
  };
}

/** Returns the figures of `lockstep habits stats`, each as a name, a text, and a note. */
export function figureTexts({ streak, longestStreak, longestSince, reached, days, ratePercent,
  reachedInAll }) {
  return [
    ["Streak", plural(streak, "day"), ""],
    ["Longest streak", plural(longestStreak, "day"),
      longestSince === null ? "" : `from ${longDate(longestSince)}`],
    ["Last 30 days", ratePercent === null ? "–" : `${ratePercent} %`,
      ratePercent === null ? "nothing done yet" : `${reached} of ${plural(days, "day")}`],
    ["In all", plural(reachedInAll, "day"), ""],
  ];
}
