/**
 * Days in UTC (the Gregorian calendar of ISO 8601, also for years before its introduction), counted
 * from 1970-01-01.
 */

const dayMilliseconds = 86_400_000;

/** Formats a day number: `2026-03-01`. */
export function dateOf(day) {
  const date = new Date(day * dayMilliseconds);
  const year = date.getUTCFullYear();
  const sign = year < 0 ? "-" : "";
  const parts = [
    sign + padded(Math.abs(year), 4), padded(date.getUTCMonth() + 1), padded(date.getUTCDate()),
  ];
  return parts.join("-");
}

/** Returns the days from 1970-01-01 to a date as `dateOf` writes it; undefined for any other
 * text. */
export function dayOf(date) {
  const found = typeof date === "string" ? /^(\d{4})-(\d\d)-(\d\d)$/.exec(date) : null;
  if (!found) return undefined;
  // The constructor with parts would read years below 100 as years of the last century.
  const made = new Date(0);
  made.setUTCFullYear(Number(found[1]), Number(found[2]) - 1, Number(found[3]));
  const day = made.getTime() / dayMilliseconds;
  // Rejects 30 February, which has another day's number.
  return dateOf(day) === date ? day : undefined;
}

const cycleDays = 146_097;

/**
 * Formats an instant for the name of a file: `2026-03-01T12-00-00.000Z`.
 *
 * @param {bigint} instant milliseconds
 */
export function fileTime(instant) {
  const length = BigInt(dayMilliseconds);
  const inDay = ((instant % length) + length) % length;
  const day = Number((instant - inDay) / length);
  // The calendar repeats every 400 years; a date of the browser does not reach as far.
  const cycles = Math.floor(day / cycleDays);
  const [year, ...rest] = dateOf(day - cycles * cycleDays).split("-");
  const whole = Number(year) + 400 * cycles;
  const sign = whole < 0 ? "-" : "";
  const date = [sign + padded(Math.abs(whole), 4), ...rest].join("-");
  const [seconds, milliseconds] = [Math.floor(Number(inDay) / 1_000), Number(inDay) % 1_000];
  const clock = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const time = clock.map((it) => padded(it)).join("-");
  return `${date}T${time}.${padded(milliseconds, 3)}Z`;
}

const padded = (number, digits = 2) => String(number).padStart(digits, "0");
