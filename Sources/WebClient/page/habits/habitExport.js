import { HabitContents } from "../../apps/habits/habitContents.js";
import { datedFigures } from "../../apps/habits/habitWeek.js";
import { dateOf, dayOf } from "../../apps/universalTime.js";
import { serialize } from "../../lockstep.js";

/**
 * Returns all habits with their days and figures, as the text of a JSON file. The archived ones are
 * included.
 *
 * @param {string} today as 2026-03-01, in the person's time zone
 */
export function habitsAsJSON(state, today) {
  const contents = new HabitContents(state);
  const habits = contents.habits.map((habit) => ({
    name: habit.name, title: habit.title, kind: habit.kind, target: Number(habit.target),
    archived: habit.isArchived, ...datedFigures(contents.statistics(habit, dayOf(today))),
    checkIns: dayRows(contents, habit),
  }));
  return `${serialize({ day: today, habits })}\n`;
}

/** Returns a row for each day on which something was done, as the text of a CSV file (RFC 4180). */
export function habitsAsCSV(state) {
  const contents = new HabitContents(state);
  const rows = contents.habits.flatMap((habit) => dayRows(contents, habit).map(
    ({ day, done, total }) =>
      [habit.title, habit.kind, habit.target, habit.isArchived, day, done, total]));
  const header = ["habit", "kind", "target", "archived", "day", "done", "total"];
  return [header, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

const dayRows = (contents, habit) => contents.doneDays(habit).map(({ day, isReached }) =>
  ({ day: dateOf(day), done: isReached, total: Number(contents.day(habit, day).total) }));

/** Returns the text of a cell. A spreadsheet would compute what begins like a formula, so an
 * apostrophe stands before it. */
function cell(value) {
  const text = String(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
