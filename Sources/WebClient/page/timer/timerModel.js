import { settingsOf } from "../../apps/timer/timerApp.js";
import { clock, timerScreen } from "../../apps/timer/timerScreen.js";
import { deviceLabel } from "../text/deviceText.js";
import { ago, duration, plural } from "../text/time.js";

const phaseNames = { idle: "Ready", focus: "Focus", breakTime: "Break", snooze: "Snooze" };
const orderLabels = {
  pause: "Pause", resume: "Resume", stop: "Stop", snooze: "Snooze",
  skip: { focus: "Skip", breakTime: "End break", snooze: "Start break" },
  start: "Start focus",
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
  const phase = phaseNames[stateType] ?? "Another version's state";
  const full = screen.duration ?? screen.remaining;
  return {
    stateType, isPaused, zeroAt,
    time: clock(left),
    phase: isPaused ? `${phase}, paused` : phase,
    part: isIdle || full <= 0 ? 1 : Math.min(1, left / full),
    spoken: spoken(screen, focus),
    orders: orders(screen),
    count: count(screen),
    dots: dots(screen),
    by: by(screen, now, minutesAhead),
    title: isIdle ? "Timer" : `${clock(left)} ${isPaused ? `${phase} paused` : phase}`,
    minutes: isIdle ? null : Math.ceil(left / 60_000),
  };
}

function orders({ events, stateType, isPaused }) {
  const first = stateType === "idle" ? "start" : isPaused ? "resume" : "pause";
  const rank = ["start", "snooze", "skip", "stop"];
  const rest = rank.filter((it) => it !== first && events.includes(it));
  return (events.includes(first) ? [first, ...rest] : rest).map((event) => {
    const words = orderLabels[event];
    return { do: event, words: typeof words === "string" ? words : words[stateType] };
  });
}

function count({ completedPomodoros, longBreakEvery }) {
  const isFirst = completedPomodoros === 0;
  const done = isFirst ? "No pomodoro yet" : `${plural(completedPomodoros, "pomodoro")} done`;
  if (longBreakEvery === 0) return done;
  const left = longBreakEvery - (completedPomodoros % longBreakEvery);
  const after = left === 1 ? "the next" : isFirst ? left : `${left} more`;
  return `${done}, long break after ${after}`;
}

function dots({ completedPomodoros, longBreakEvery }) {
  if (longBreakEvery === 0 || longBreakEvery > dotsMost) return [];
  const done = completedPomodoros % longBreakEvery;
  return Array.from({ length: longBreakEvery }, (_, index) => index < done);
}

/** Returns the announcement for screen readers at a change of phase. */
function spoken({ stateType, isPaused, remaining, duration: full }, focus) {
  if (stateType === "idle") return `The timer is ready: ${duration(focus)} of focus.`;
  const name = phaseNames[stateType] ?? "The timer";
  if (isPaused) return `${name} paused with ${duration(remaining)} left.`;
  return full !== null && full - remaining < 1_000
    ? `${name} of ${duration(full)} began.` : `${name} runs.`;
}

function by({ device, deviceName, editedAt }, now, minutesAhead) {
  if (editedAt === null) return "";
  return `Last changed by ${deviceLabel(device, deviceName)}, ${ago(editedAt, now, minutesAhead)}`;
}

/** Settings in the form: name, label and unit. */
export const settingFields = Object.freeze([
  { name: "focusMinutes", label: "Focus", unit: "min" },
  { name: "shortBreakMinutes", label: "Break", unit: "min" },
  { name: "longBreakMinutes", label: "Long break", unit: "min" },
  { name: "snoozeMinutes", label: "Snooze", unit: "min" },
  { name: "longBreakEvery", label: "Long break after", unit: "pomodoros" },
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
