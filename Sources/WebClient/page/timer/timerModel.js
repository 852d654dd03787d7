import { settingsOf } from "../../apps/timer/timerApp.js";
import { clock, timerScreen } from "../../apps/timer/timerScreen.js";
import { t, tCount } from "../language/language.js";
import { deviceLabel } from "../text/deviceText.js";
import { ago, duration } from "../text/time.js";

/**
 * Texts about each phase. `title`: for the window, with the time left. `began`, `runs` and `halted`
 * are announcements.
 */
const phaseTexts = {
  focus: {
    name: () => t("Focus"), paused: () => t("Focus, paused"),
    title: (time) => t("{time} Focus", { time }),
    pausedTitle: (time) => t("{time} Focus paused", { time }),
    began: (length) => t("Focus of {length} began.", { length }),
    runs: () => t("Focus runs."),
    halted: (left) => t("Focus paused with {left} left.", { left }),
  },
  breakTime: {
    name: () => t("Break"), paused: () => t("Break, paused"),
    title: (time) => t("{time} Break", { time }),
    pausedTitle: (time) => t("{time} Break paused", { time }),
    began: (length) => t("Break of {length} began.", { length }),
    runs: () => t("Break runs."),
    halted: (left) => t("Break paused with {left} left.", { left }),
  },
  snooze: {
    name: () => t("Snooze"), paused: () => t("Snooze, paused"),
    title: (time) => t("{time} Snooze", { time }),
    pausedTitle: (time) => t("{time} Snooze paused", { time }),
    began: (length) => t("Snooze of {length} began.", { length }),
    runs: () => t("Snooze runs."),
    halted: (left) => t("Snooze paused with {left} left.", { left }),
  },
};

/** Texts about a phase of a later version. */
const unknownTexts = {
  name: () => t("Another version's state"), paused: () => t("Another version's state, paused"),
  title: (time) => t("{time} Another version's state", { time }),
  pausedTitle: (time) => t("{time} Another version's state paused", { time }),
  began: (length) => t("The timer of {length} began.", { length }),
  runs: () => t("The timer runs."),
  halted: (left) => t("The timer paused with {left} left.", { left }),
};

const textsOf = (stateType) =>
  (Object.hasOwn(phaseTexts, stateType) ? phaseTexts[stateType] : unknownTexts);

const orderLabels = {
  pause: () => t("Pause"), resume: () => t("Resume"), stop: () => t("Stop"),
  snooze: () => t("Snooze"), start: () => t("Start focus"),
  skip: (stateType) => skipLabels[stateType](),
};
const skipLabels = {
  focus: () => t("Skip"), breakTime: () => t("End break"), snooze: () => t("Start break"),
};

/** Maximum number of dots in a row; if the long break comes later, only the text shows it. */
const dotsMost = 8;

/**
 * Returns the timer's display at an instant of relay time.
 *
 * `part`: share of the phase that is left, from 1 to 0. `orders`: valid actions, the most likely
 * first. `zeroAt`: the countdown's zero; null if none runs.
 */
export function timerModel(state, now, minutesAhead) {
  const screen = timerScreen(state, now);
  const { stateType, isPaused, zeroAt } = screen;
  const isIdle = stateType === "idle";
  const focus = Number(settingsOf(state).focusMilliseconds);
  const left = isIdle ? focus : screen.remaining;
  const texts = textsOf(stateType);
  const full = screen.duration ?? screen.remaining;
  return {
    stateType, isPaused, zeroAt,
    time: clock(left),
    phase: isIdle ? t("Ready") : isPaused ? texts.paused() : texts.name(),
    part: isIdle || full <= 0 ? 1 : Math.min(1, left / full),
    spoken: spoken(screen, focus),
    orders: orders(screen),
    count: count(screen),
    dots: dots(screen),
    by: by(screen, now, minutesAhead),
    title: isIdle ? t("Timer")
      : isPaused ? texts.pausedTitle(clock(left)) : texts.title(clock(left)),
    minutes: isIdle ? null : Math.ceil(left / 60_000),
  };
}

function orders({ events, stateType, isPaused }) {
  const first = stateType === "idle" ? "start" : isPaused ? "resume" : "pause";
  const rank = ["start", "snooze", "skip", "stop"];
  const rest = rank.filter((it) => it !== first && events.includes(it));
  return (events.includes(first) ? [first, ...rest] : rest).map((event) =>
    ({ do: event, words: orderLabels[event](stateType) }));
}

function count({ completedPomodoros, longBreakEvery }) {
  const left = longBreakEvery === 0 ? 0
    : longBreakEvery - (completedPomodoros % longBreakEvery);
  if (completedPomodoros === 0) {
    if (left === 0) return t("No pomodoro yet");
    return left === 1 ? t("No pomodoro yet, long break after the next")
      : t("No pomodoro yet, long break after {left}", { left });
  }
  if (left === 0) {
    return tCount(completedPomodoros, "{count} pomodoro done", "{count} pomodoros done");
  }
  if (left === 1) {
    return tCount(completedPomodoros, "{count} pomodoro done, long break after the next",
      "{count} pomodoros done, long break after the next");
  }
  return tCount(completedPomodoros, "{count} pomodoro done, long break after {left} more",
    "{count} pomodoros done, long break after {left} more", { left });
}

function dots({ completedPomodoros, longBreakEvery }) {
  if (longBreakEvery === 0 || longBreakEvery > dotsMost) return [];
  const done = completedPomodoros % longBreakEvery;
  return Array.from({ length: longBreakEvery }, (_, index) => index < done);
}

/** Returns the announcement for screen readers at a change of phase. */
function spoken({ stateType, isPaused, remaining, duration: full }, focus) {
  if (stateType === "idle") {
    return t("The timer is ready: {length} of focus.", { length: duration(focus) });
  }
  const texts = textsOf(stateType);
  if (isPaused) return texts.halted(duration(remaining));
  return full !== null && full - remaining < 1_000 ? texts.began(duration(full)) : texts.runs();
}

function by({ device, deviceName, editedAt }, now, minutesAhead) {
  if (editedAt === null) return "";
  return t("Last changed by {device}, {when}", {
    device: deviceLabel(device, deviceName), when: ago(editedAt, now, minutesAhead),
  });
}

/** Settings in the form: name, and label with the unit. */
export const settingFields = Object.freeze([
  { name: "focusMinutes", label: () => t("Focus (min)") },
  { name: "shortBreakMinutes", label: () => t("Break (min)") },
  { name: "longBreakMinutes", label: () => t("Long break (min)") },
  { name: "snoozeMinutes", label: () => t("Snooze (min)") },
  { name: "longBreakEvery", label: () => t("Long break after (pomodoros)") },
]);

/** Returns the settings that differ from the present ones, for the timer's action `set`. */
export function changedSettings(form, words) {
  const changed = {};
  for (const { name } of settingFields) {
    const value = form[name].trim() === "" ? Number.NaN : Number(form[name]);
    if (value !== words[name]) changed[name] = value;
  }
  if (form.autoStart !== words.autoStart) changed.autoStart = form.autoStart;
  return changed;
}

/** Returns the page's icon during a countdown: the minutes left. */
export function countingIcon(minutes, { isPaused, isFocus }) {
  const ground = isPaused ? "#5b6561" : isFocus ? "#0b6b5f" : "#33507a";
  const size = minutes > 99 ? 26 : 36;
  const words = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">`,
    `<rect width="64" height="64" rx="14" fill="${ground}"/>`,
    `<text x="32" y="33" fill="#fff" font-family="system-ui,sans-serif" font-weight="700" `,
    `font-size="${size}" text-anchor="middle" dominant-baseline="central">${Number(minutes)}`,
    `</text></svg>`,
  ].join("");
  return `data:image/svg+xml,${encodeURIComponent(words)}`;
}
