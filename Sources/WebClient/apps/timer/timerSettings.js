import { bool, int64, isNumber, isObject, member, members, numberText, serialize }
  from "../../json/jsonValue.js";
import { limits } from "../limits.js";
import { EditRefusal } from "../edit.js";
import { wholeNumber } from "../../model/mergeParts.js";

/** Meaning of each setting for a person, by name. */
export const settingMeanings = Object.freeze({
  focusMinutes: "how long a focus is",
  shortBreakMinutes: "how long a break is",
  longBreakMinutes: "how long the long break is",
  longBreakEvery: "after how many pomodoros it comes; 0 for never",
  snoozeMinutes: "how long a break waits when it is put off",
  autoStart: "whether a break runs by itself: true or false",
});

/**
 * Fields of the record `settings`, for the state machine. A missing, malformed or out-of-range
 * field has its default. Lengths are milliseconds.
 */
export class TimerSettings {
  focusMilliseconds = 25n * 60_000n;
  shortBreakMilliseconds = 5n * 60_000n;
  longBreakMilliseconds = 15n * 60_000n;
  /** Interval of the long break in pomodoros; 0: never a long break. */
  longBreakEvery = 4n;
  /** Length of a snooze, which postpones a break. */
  snoozeMilliseconds = 5n * 60_000n;
  /** True if a break starts automatically; otherwise it is paused until a person resumes it. */
  autoStart = true;

  constructor(fields) {
    const every = wholeNumber(member(fields, "longBreakEvery"));
    for (const phase of ["focus", "shortBreak", "longBreak", "snooze"]) {
      const length = phaseMilliseconds(member(fields, `${phase}Minutes`));
      if (length !== undefined) this[`${phase}Milliseconds`] = length;
    }
    if (every !== undefined && every >= 0n) this.longBreakEvery = every;
    this.autoStart = bool(fields, "autoStart") ?? this.autoStart;
  }

  /** All settings, as a person reads and writes them. */
  get words() {
    const minutes = (milliseconds) => Number(milliseconds) / 60_000;
    return {
      focusMinutes: minutes(this.focusMilliseconds),
      shortBreakMinutes: minutes(this.shortBreakMilliseconds),
      longBreakMinutes: minutes(this.longBreakMilliseconds),
      longBreakEvery: Number(this.longBreakEvery),
      snoozeMinutes: minutes(this.snoozeMilliseconds),
      autoStart: this.autoStart,
    };
  }
}

/**
 * Converts minutes, which need not be whole, to a phase's length; undefined if the length would be
 * under a millisecond or over `limits.timerMilliseconds`.
 */
function phaseMilliseconds(minutes) {
  if (!isNumber(minutes)) return undefined;
  const milliseconds = Number(numberText(minutes)) * 60_000;
  const isGood = milliseconds >= 1 && milliseconds <= limits.timerMilliseconds;
  return isGood ? BigInt(Math.floor(milliseconds + 0.5)) : undefined;
}

/** Checks the changes that a person requests, and returns them. @throws {EditRefusal} */
export function settingChanges(wanted) {
  if (!isObject(wanted) || members(wanted).length === 0) {
    throw new EditRefusal("say what is to change");
  }
  for (const [name, value] of members(wanted)) {
    if (!Object.hasOwn(settingMeanings, name)) {
      const names = Object.keys(settingMeanings).join(", ");
      throw new EditRefusal(`there is no setting “${name}”; there are ${names}`);
    }
    if (!isGood(name, value)) {
      throw new EditRefusal(`“${shown(value)}” is no ${name} (${settingMeanings[name]})`);
    }
  }
  return wanted;
}

function isGood(name, value) {
  if (name === "autoStart") return typeof value === "boolean";
  if (name !== "longBreakEvery") return phaseMilliseconds(finite(value)) !== undefined;
  const every = int64(finite(value));
  return every !== undefined && every >= 0n && every <= BigInt(limits.longBreakEvery);
}

/** An infinity, which a form field may hold and JSON does not, is not a number here. */
const finite = (value) =>
  typeof value === "number" && !Number.isFinite(value) ? undefined : value;

const shown = (value) =>
  finite(value) === undefined || typeof value === "string" ? String(value) : serialize(value);
