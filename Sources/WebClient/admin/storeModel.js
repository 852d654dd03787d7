import { isObject } from "../json/jsonValue.js";
import { bytes, span } from "../status/format.js";
import { ago, clockTime, dayAt, longDate } from "../page/text/time.js";
import { amount } from "./amount.js";
import { limits } from "./limits.js";

const kinds = { sqlite: "SQLite, in a folder", postgres: "PostgreSQL" };
const number = (value) => (Number.isFinite(value) ? value : null);
const words = (value) => (typeof value === "string" && value !== "" ? value : null);

/**
 * Returns the facts of a store as names and texts.
 *
 * @returns {[string, string][]}
 */
export function storeFacts(store, now, minutesAhead) {
  const startedAt = number(store.startedAt);
  const sizes = [
    ["Room taken", number(store.bytes)], ["Log not yet in the database", number(store.logBytes)],
    ["Room free on the disk", number(store.freeBytes)],
  ];
  return [
    ["Kind", kinds[store.kind] ?? String(store.kind ?? "–")],
    ...sizes.filter(([, size]) => size !== null).map(([name, size]) => [name, bytes(size)]),
    ["Version", words(store.version) ?? "–"],
    ["Running since", startedAt === null ? "–"
      : `${instantText(startedAt, minutesAhead)} (${span((now - startedAt) / 1_000)})`],
    ["New accounts", store.open === true
      ? "Open: everybody who reaches the relay may make one" : "Closed: you make them"],
    ["Address for devices", words(store.url)
      ?? "Not known; set public-url, so that codes come with a link"],
  ];
}

const instantText = (instant, minutesAhead) =>
  `${longDate(dayAt(instant, minutesAhead))}, ${clockTime(instant, minutesAhead)}`;

/**
 * Returns the last backup as sentences. `tone`: `good`, or `bad` if the owner should act.
 *
 * @returns {{tone: string, title: string, lines: string[]}}
 */
export function backupText(store, now, minutesAhead) {
  const { backup } = store;
  if (store.kind === "postgres" && !isObject(backup)) {
    return { tone: "plain", title: "By PostgreSQL's own tools",
      lines: ["This relay does not know of backups of its database. See if yours are made."] };
  }
  if (!isObject(backup)) {
    return { tone: "bad", title: "None yet",
      lines: ["Make one with lockstep relay backup, and let it run every day: the packages have a "
        + "timer for it."] };
  }
  const size = number(backup.bytes);
  const place = [words(backup.path), size === null ? null : bytes(size)].filter(Boolean).join(", ");
  if (backup.ok !== true) {
    return { tone: "bad", title: `Failed ${ageOf(backup, now, minutesAhead)}`,
      lines: [sentence(words(backup.detail) ?? "The relay knows no reason"),
        number(backup.goodAt) === null ? "No backup has succeeded yet."
          : `The last good one was made ${ageOf({ at: backup.goodAt }, now, minutesAhead)}.`,
        "Remove the cause, then run lockstep relay backup again."] };
  }
  return aged(backup, { now, minutesAhead, title: "Made", lines: place === "" ? [] : [place],
    advice: "It is more than 7 days old. See why the timer no longer runs." });
}

/** Returns the last check of the store, or of a backup, as sentences. */
export function checkText(store, now, minutesAhead) {
  const { check } = store;
  if (!isObject(check)) {
    return { tone: "bad", title: "None yet",
      lines: ["Run lockstep relay check on the store, and on a backup."] };
  }
  const target = check.target === "backup" ? "a backup" : "the store";
  if (check.ok !== true) {
    const findings = number(check.findings) ?? 0;
    return { tone: "bad", title: `Found damage ${ageOf(check, now, minutesAhead)}`,
      lines: [`${amount(findings, "finding")} in ${target}.`,
        "Run lockstep relay check again and read what it says, before you change anything."] };
  }
  return aged(check, { now, minutesAhead, title: "Without a finding,",
    lines: [`Checked: ${target}.`], advice: "It is more than 7 days old. Run it again." });
}

function aged(work, { now, minutesAhead, title, lines, advice }) {
  const isOld = number(work.at) === null || now - work.at > limits.upkeepMilliseconds;
  return {
    tone: isOld ? "bad" : "good", title: `${title} ${ageOf(work, now, minutesAhead)}`,
    lines: isOld ? [...lines, advice] : lines,
  };
}

function ageOf({ at }, now, minutesAhead) {
  if (number(at) === null) return "at an unknown time";
  const age = ago(at, now, minutesAhead);
  if (/^\d+:/.test(age)) return `today at ${age}`;
  return /^\d+ \w+ \d+$/.test(age) ? `on ${age}` : age;
}

const sentence = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);
