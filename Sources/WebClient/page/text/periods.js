/** Days, weeks, months and years of this browser's calendar, in its time zone. */

const padded = (number) => String(number).padStart(2, "0");

const date = (it) => `${it.getFullYear()}-${padded(it.getMonth() + 1)}-${padded(it.getDate())}`;

/** Returns the week of a Monday, as ISO 8601 counts: `2026-W09`. */
function week(monday) {
  const thursday = new Date(monday.getFullYear(), monday.getMonth(), monday.getDate() + 3);
  const first = new Date(thursday.getFullYear(), 0, 1);
  const number = Math.floor(Math.round((thursday - first) / 86_400_000) / 7) + 1;
  return `${thursday.getFullYear()}-W${padded(number)}`;
}

/** Beginning and name of the period that is `back` periods before that of a date. */
const units = {
  day: (it, back) => {
    const from = new Date(it.getFullYear(), it.getMonth(), it.getDate() - back);
    return { name: date(from), from };
  },
  week: (it, back) => {
    const from = new Date(it.getFullYear(), it.getMonth(),
      it.getDate() - ((it.getDay() + 6) % 7) - 7 * back);
    return { name: week(from), from };
  },
  month: (it, back) => {
    const from = new Date(it.getFullYear(), it.getMonth() - back, 1);
    return { name: date(from).slice(0, 7), from };
  },
  year: (it, back) => {
    const from = new Date(it.getFullYear() - back, 0, 1);
    return { name: String(from.getFullYear()), from };
  },
};

/**
 * Returns the last periods of a unit, the current one last.
 *
 * @param {"day" | "week" | "month" | "year"} unit
 * @param {number} count
 * @param {number} now milliseconds since the Unix epoch
 */
export function lastPeriods(unit, count, now) {
  const today = new Date(now);
  return Array.from({ length: count }, (_, index) => {
    const { name, from } = units[unit](today, count - 1 - index);
    return { name, from: from.getTime() };
  });
}
