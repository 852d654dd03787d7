import { timerStatistics } from "../../apps/timer/timerStatistics.js";
import { t, tCount } from "../language/language.js";
import { lastPeriods } from "../text/periods.js";
import { duration, shortDay, shortMonthName, yearName } from "../text/time.js";

/** Lengths of a period that a person chooses, and how many are shown. */
export const statisticsUnits = [
  { unit: "day", words: () => t("Days"), one: () => t("Day"), count: 7 },
  { unit: "week", words: () => t("Weeks"), one: () => t("Week"), count: 8 },
  { unit: "month", words: () => t("Months"), one: () => t("Month"), count: 12 },
  { unit: "year", words: () => t("Years"), one: () => t("Year"), count: 5 },
];

const labels = {
  day: ({ name }) => shortDay(name),
  week: ({ name }) => t("Week {number}", { number: Number(name.slice(6)) }),
  month: ({ name }) => shortMonthName(name),
  year: ({ name }) => yearName(name),
};

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
    head: one(),
    rows: periods.reverse().map((period) => ({
      key: period.name, label: labels[unit](period), pomodoros: String(period.pomodoros),
      time: period.milliseconds === 0 ? "–" : duration(period.milliseconds),
      share: period.pomodoros / most,
    })),
    note: without > 0
      ? tCount(without,
        "{count} pomodoro of the total has no day: an earlier version did not keep it.",
        "{count} pomodoros of the total have no day: an earlier version did not keep it.")
      : "",
  };
}
