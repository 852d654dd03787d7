import { focuses } from "./focusDay.js";
import { timerOf } from "./timerApp.js";
import { advance } from "./timerMachine.js";

/**
 * Sums of completed focuses. They are the same as those of `lockstep timer stats`.
 *
 * @param {import("../edit.js").AppState} app
 * @param {{name: string, from: number}[]} periods one after the other without gaps; the last one
 *   ends at `now`
 * @param {number} now relay time, whole milliseconds
 */
export function timerStatistics(app, periods, now) {
  const state = timerOf(app);
  const all = focuses(app.records, state, now);
  const sums = periods.map((period) => ({ ...period, pomodoros: 0, milliseconds: 0 }));
  for (const { endedAt, length } of all) {
    const sum = sums.findLast(({ from }) => from <= endedAt);
    if (!sum) continue;
    sum.pomodoros += 1;
    sum.milliseconds += length;
  }
  return {
    completedPomodoros: Number(advance(state, BigInt(now)).completedPomodoros),
    withDay: all.length, periods: sums,
  };
}
