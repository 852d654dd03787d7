/** Days over which the rate is taken. */
const rateDays = 30;

/**
 * Returns the figures of a habit's days until today, which the program's `habits stats` shows too:
 *
 * - `streak`: days in a row on which the goal was reached, until today; a day that has just begun
 *   does not end it.
 * - `longestStreak`, `longestSince`: the longest one and its first day; the newest of several. Null
 *   if no day was reached.
 * - `reached`, `days`: days reached of the last thirty, or of all days since the first one on which
 *   something was done, if they are fewer; `ratePercent`, whole per cent, null if nothing was done.
 * - `reachedInAll`: number of days reached at all.
 *
 * @param {{day: number, isReached: boolean}[]} days on which something was done, in order, each
 *   once; later days than today do not count
 * @param {number} today
 */
export function habitStatistics(days, today) {
  const past = days.filter(({ day }) => day <= today);
  const reached = past.filter(({ isReached }) => isReached).map(({ day }) => day);
  let longest = { length: 0, since: null };
  let run = { length: 0, since: null, last: null };
  for (const day of reached) {
    run = run.last === day - 1 ? { ...run, length: run.length + 1, last: day }
      : { length: 1, since: day, last: day };
    if (run.length >= longest.length) longest = run;
  }
  const isCurrent = run.last !== null && run.last >= today - 1;
  const oldest = today + 1 - rateDays;
  const first = Math.max(past[0]?.day ?? today, oldest);
  const dayCount = past.length === 0 ? 0 : today - first + 1;
  const reachedCount = reached.filter((day) => day >= oldest).length;
  return {
    streak: isCurrent ? run.length : 0, longestStreak: longest.length, longestSince: longest.since,
    reached: reachedCount, days: dayCount,
    ratePercent: dayCount === 0 ? null : Math.floor(reachedCount * 100 / dayCount),
    reachedInAll: reached.length,
  };
}
