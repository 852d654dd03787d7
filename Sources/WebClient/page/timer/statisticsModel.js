import { timerStatistics } from "../../apps/timer/timerStatistics.js";
import { lastPeriods } from "../text/periods.js";
import { duration, longDate, plural, weekday } from "../text/time.js";

/** Lengths of a period that a person chooses, and how many are shown. */
export const statisticsUnits = [
  { unit: "day", words: "Days", one: "Day", count: 7 },
  { unit: "week", words: "Weeks", one: "Week", count: 8 },
  { unit: "month", words: "Months", one: "Month", count: 12 },
  { unit: "year", words: "Years", one: "Year", count: 5 },
];

const labels = {
  day: ({ name }) => `${weekday(name).slice(0, 3)} ${shortDate(name)}`,
  week: ({ name }) => `Week ${Number(name.slice(6))}`,
  month: ({ name }) => longDate(`${name}-01`).slice(2).replace(/^(\w{3})\w*/, "$1"),
  year: ({ name }) => name,
};

const shortDate = (name) => longDate(name).replace(/ \d+$/, "").replace(/(\w{3})\w*$/, "$1");

/**
 * Returns the rows of the timer's statistics, the current period first. `share`: length of the bar,
 * from 0 to 1.
 */
export function statisticsModel(state, now, unit) {
  const { count, one } = statisticsUnits.find((it) => it.unit === unit);
  const { periods, withDay, completedPomodoros } = timerStatistics(
    state, lastPeriods(unit, count, now), now);
  const most = Math.max(1, ...periods.map(({ pomodoros }) => pomodoros));
  const without = completedPomodoros - withDay;
  return {
    head: one,
    rows: periods.reverse().map((period) => ({
      key: period.name, label: labels[unit](period), pomodoros: String(period.pomodoros),
      time: period.milliseconds === 0 ? "–" : duration(period.milliseconds),
      share: period.pomodoros / most,
    })),
    note: without > 0
      ? `${plural(without, "pomodoro")} of the total ${without === 1 ? "has" : "have"} no day: `
        + "an earlier version did not keep it."
      : "",
  };
}
