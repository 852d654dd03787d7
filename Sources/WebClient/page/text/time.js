import { dateOf, dayOf } from "../../apps/universalTime.js";

const minute = 60_000;
const hour = 60 * minute;
const dayMilliseconds = 24 * hour;
const weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const months = [
  "January", "February", "March", "April", "May", "June", "July", "August", "September",
  "October", "November", "December",
];

export const plural = (count, noun, many = `${noun}s`) => `${count} ${count === 1 ? noun : many}`;

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
  if (passed < minute) return "just now";
  if (passed < hour) return `${Math.floor(passed / minute)} min ago`;
  const [day, today] = [instant, now].map((it) => dayOf(dayAt(it, minutesAhead)));
  // Another program may have written any number: an instant without a date.
  if (day === undefined) return "long ago";
  if (day === today) return clockTime(instant, minutesAhead);
  return day === today - 1 ? "yesterday" : longDate(dateOf(day));
}

/** Formats a date: `3 March 2026`. */
export function longDate(date) {
  const [year, month, day] = date.split("-").map(Number);
  return `${day} ${months[month - 1]} ${year}`;
}

/** Returns the weekday: `Monday`. */
export const weekday = (date) => weekdays[(((dayOf(date) + 4) % 7) + 7) % 7];

/** Formats a duration: `25 min`, `1 h 30 min`, `45 s`. */
export function duration(milliseconds) {
  if (milliseconds < minute) return `${Math.round(milliseconds / 1_000)} s`;
  const minutes = Math.round(milliseconds / minute);
  if (minutes < 60) return `${minutes} min`;
  const rest = minutes % 60;
  return rest === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${rest} min`;
}
