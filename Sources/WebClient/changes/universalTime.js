/**
 * Days as the calendar at Greenwich shows them (the Gregorian calendar of ISO 8601, also for the
 * years before it was in use), counted from 1970-01-01.
 */

const dayMilliseconds = 86_400_000;

/** `2026-03-01`. */
export function dateOf(day) {
  const date = new Date(day * dayMilliseconds);
  const year = date.getUTCFullYear();
  const sign = year < 0 ? "-" : "";
  const parts = [
    sign + padded(Math.abs(year), 4), padded(date.getUTCMonth() + 1), padded(date.getUTCDate()),
  ];
  return parts.join("-");
}

/** Days from 1970-01-01 to a date as `dateOf` writes it; undefined for what is no such day. */
export function dayOf(date) {
  const found = typeof date === "string" ? /^(\d{4})-(\d\d)-(\d\d)$/.exec(date) : null;
  if (!found) return undefined;
  // Made from parts, years below 100 would be taken for those of the last century.
  const made = new Date(0);
  made.setUTCFullYear(Number(found[1]), Number(found[2]) - 1, Number(found[3]));
  const day = made.getTime() / dayMilliseconds;
  // 30 February is another day's number.
  return dateOf(day) === date ? day : undefined;
}

const padded = (number, digits = 2) => String(number).padStart(digits, "0");
