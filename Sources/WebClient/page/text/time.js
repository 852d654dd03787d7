import { dateOf, dayOf } from "../../apps/universalTime.js";
import { currentLanguage, currentLocale, t } from "../language/language.js";

const minute = 60_000;
const hour = 60 * minute;
const dayMilliseconds = 24 * hour;

/** Forms of a date; see `formatDate`. */
const forms = Object.freeze({
  date: { day: "numeric", month: "long", year: "numeric" },
  dayInMonth: { day: "numeric", month: "numeric" },
  month: { month: "long" },
  monthAndYear: { month: "long", year: "numeric" },
  narrowWeekday: { weekday: "narrow" },
  shortMonth: { month: "short" },
  shortMonthAndYear: { month: "short", year: "numeric" },
  shortWeekday: { weekday: "short" },
  weekday: { weekday: "long" },
  year: { year: "numeric" },
});

/** Formatters by locale and form: it takes long to make one. */
const formatters = new Map();

/** Formats a date such as `2026-03-01`; text that is no date stays as it is. */
function formatDate(form, date) {
  const day = dayOf(date);
  if (day === undefined) return date;
  const locale = currentLocale();
  const key = `${locale} ${form}`;
  const formatter = formatters.get(key)
    ?? new Intl.DateTimeFormat(locale, { ...forms[form], timeZone: "UTC" });
  formatters.set(key, formatter);
  return formatter.format(day * dayMilliseconds);
}

/** Returns the date of an instant in a time zone that is `minutesAhead` of UTC. */
export const dayAt = (instant, minutesAhead) =>
  dateOf(Math.floor((instant + minutesAhead * minute) / dayMilliseconds));

/** Formats a time of day: `14:05`. */
export function clockTime(instant, minutesAhead) {
  const minutes = Math.floor((instant + minutesAhead * minute) / minute);
  const inDay = ((minutes % 1_440) + 1_440) % 1_440;
  return [Math.floor(inDay / 60), inDay % 60].map((it) => String(it).padStart(2, "0")).join(":");
}

/** Formats the age of an instant: `just now`, `5 min ago`, `14:05`, `yesterday`, `3 March 2026`,
 * `long ago`. */
export function ago(instant, now, minutesAhead) {
  const passed = now - instant;
  if (passed < minute) return t("just now");
  if (passed < hour) return t("{count} min ago", { count: Math.floor(passed / minute) });
  const [day, today] = [instant, now].map((it) => dayOf(dayAt(it, minutesAhead)));
  // Another program may have written any number: an instant without a date.
  if (day === undefined) return t("long ago");
  if (day === today) return clockTime(instant, minutesAhead);
  return day === today - 1 ? t("yesterday") : longDate(dateOf(day));
}

/** Formats a date: `3 March 2026`. */
export const longDate = (date) => formatDate("date", date);

/** Returns the weekday: `Monday`. */
export const weekday = (date) => formatDate("weekday", date);

/** Formats a date with its weekday: `Monday, 2 March 2026`. */
export const longDay = (date) =>
  t("{weekday}, {date}", { weekday: weekday(date), date: longDate(date) });

const isEnglish = () => currentLanguage() === "en";

/** Returns the first letters of a name in English. The locale has `Sept` beside `Oct`. */
const letters = (count, form, date) => formatDate(form, date).slice(0, count);

/** Returns the weekday for the head of a column: `Mo`. */
export const columnWeekday = (date) =>
  (isEnglish() ? letters(2, "weekday", date) : formatDate("narrowWeekday", date));

/** Formats a date with its weekday for a table: `Mon 2 Mar`. */
export function shortDay(date) {
  const dayInMonth = isEnglish() ? `${Number(date.slice(8))} ${letters(3, "month", date)}`
    : formatDate("dayInMonth", date);
  return t("{weekday} {date}", {
    weekday: isEnglish() ? letters(3, "weekday", date) : formatDate("shortWeekday", date),
    date: dayInMonth,
  });
}

/** Formats a month such as `2026-03`: `March 2026`. */
export const monthName = (month) => formatDate("monthAndYear", `${month}-01`);

/** Formats a month without its year: `Mar`. */
export const shortMonth = (month) =>
  (isEnglish() ? letters(3, "month", `${month}-01`) : formatDate("shortMonth", `${month}-01`));

/** Formats a month for a table: `Mar 2026`. */
export const shortMonthName = (month) => (isEnglish()
  ? `${shortMonth(month)} ${yearName(month.slice(0, 4))}`
  : formatDate("shortMonthAndYear", `${month}-01`));

/** Formats a year. */
export const yearName = (year) => formatDate("year", `${year}-01-01`);

/** Formats a duration: `25 min`, `1 h 30 min`, `45 s`. */
export function duration(milliseconds) {
  if (milliseconds < minute) return t("{count} s", { count: Math.round(milliseconds / 1_000) });
  const minutes = Math.round(milliseconds / minute);
  if (minutes < 60) return t("{count} min", { count: minutes });
  const hours = Math.floor(minutes / 60);
  const rest = minutes % 60;
  return rest === 0 ? t("{count} h", { count: hours })
    : t("{hours} h {minutes} min", { hours, minutes: rest });
}
