import { dateOf, dayOf } from "../../apps/universalTime.js";
import { t, tCount } from "../language/language.js";
import { longDate, longDay, monthName } from "../text/time.js";

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
    sum: sumText(done, past.length),
    weeks: Array.from({ length: cells.length / 7 }, (_, at) => cells.slice(7 * at, 7 * at + 7)),
    hasPrevious: month > firstMonth(today), hasNext: month < monthOf(today),
  };
}

/** Returns the text about the days that have reached the goal; empty if none has come. */
const sumText = (done, past) => (past === 0 ? ""
  : tCount(past, "{done} of {count} day", "{done} of {count} days", { done }));

function calendarDay(contents, habit, day, today, chosen) {
  const date = dateOf(day);
  const { total } = contents.day(habit, day);
  const isDone = contents.isReached(habit, day);
  const isFuture = date > today;
  return {
    date, number: String(Number(date.slice(8))), isDone, isBegun: total > 0n, isFuture,
    isToday: date === today, isChosen: date === chosen,
    label: dayLabel(habit, { date, total, isDone, isFuture }),
  };
}

function dayLabel({ kind, target }, { date, total, isDone, isFuture }) {
  const day = longDay(date);
  if (isFuture) return t("{day}: not yet", { day });
  if (kind !== "count") return isDone ? t("{day}: done", { day }) : t("{day}: not done", { day });
  return isDone ? t("{day}: {total} of {target}, done", { day, total, target })
    : t("{day}: {total} of {target}", { day, total, target });
}

/** Returns the twelve months of a year. */
export function habitYear(contents, habit, year, today) {
  const months = Array.from({ length: 12 }, (_, at) =>
    habitMonth(contents, habit, `${year}-${padded(at + 1)}`, today, null));
  const [done, past] = ["done", "past"].map((name) =>
    months.reduce((sum, month) => sum + month[name], 0));
  return {
    key: year, year, months, sum: sumText(done, past),
    hasPrevious: `${year}-01` > firstMonth(today), hasNext: year < today.slice(0, 4),
  };
}

/** Returns the figures of `lockstep habits stats`, each as a name, a text, and a note. */
export function figureTexts({ streak, longestStreak, longestSince, reached, days, ratePercent,
  reachedInAll }) {
  return [
    [t("Streak"), dayCount(streak), ""],
    [t("Longest streak"), dayCount(longestStreak),
      longestSince === null ? "" : t("from {date}", { date: longDate(longestSince) })],
    [t("Last 30 days"), ratePercent === null ? "–" : t("{percent} %", { percent: ratePercent }),
      ratePercent === null ? t("nothing done yet") : sumText(reached, days)],
    [t("In all"), dayCount(reachedInAll), ""],
  ];
}

const dayCount = (count) => tCount(count, "{count} day", "{count} days");
