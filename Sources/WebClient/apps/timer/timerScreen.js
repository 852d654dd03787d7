import { deviceName } from "../edit.js";
import { settingsOf, timerOf } from "./timerApp.js";
import { advance, possibleEvents } from "./timerMachine.js";
import { TimerPlan } from "./timerPlan.js";

/**
 * Returns the timer's display at one instant. Countdowns that reached zero by then have ended, even
 * if no device has written that yet, so that all screens change at the same moment.
 *
 * `remaining`: milliseconds left at `at`. `zeroAt`: instant at which the running countdown ends.
 * `device`: device that made the shown edit. `editedAt`: time of that edit. `duration`: full length
 * of the phase, if the edit has it. `longBreakEvery`: interval of the long break in pomodoros, 0
 * for never. `events`: events that are valid now. A missing value is null.
 *
 * @param {import("../edit.js").AppState} app
 * @param {number} now relay time, whole milliseconds
 */
export function timerScreen(app, now) {
  const instant = BigInt(now);
  const state = advance(timerOf(app), instant);
  const shown = state.shown;
  // The plan of a running focus was fixed when it began.
  const every = shown?.phase === "focus"
    ? TimerPlan.of(shown).longBreakEvery : settingsOf(app).longBreakEvery;
  return {
    at: now,
    stateType: shown?.stateType ?? "idle",
    isPaused: shown?.isPaused ?? false,
    remaining: Number(shown?.remainingAt(instant) ?? 0n),
    zeroAt: numberOrNull(shown?.zeroAt),
    completedPomodoros: Number(state.completedPomodoros),
    device: shown?.deviceID ?? "",
    deviceName: shown ? deviceName(app, shown.deviceID) : "",
    editedAt: numberOrNull(shown?.timestamp),
    duration: numberOrNull(shown?.duration),
    longBreakEvery: Number(every),
    events: possibleEvents(state, instant),
  };
}

const numberOrNull = (value) => (value === undefined ? null : Number(value));

/**
 * Returns the instant at which a countdown to `zeroAt` shows its next second: the same instant of
 * relay time on every screen.
 */
export function nextSecond(zeroAt, now) {
  const remaining = Math.max(0, zeroAt - now);
  return now + (remaining === 0 ? 1 : ((remaining - 1) % 1_000) + 1);
}

/**
 * `24:59`, or `01:00:00`. Seconds are rounded up, so that a countdown shows its full length at
 * first and 00:00 only at its end.
 */
export function clock(milliseconds) {
  const seconds = Math.ceil(milliseconds / 1_000);
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const digits = parts.map((part) => String(part).padStart(2, "0"));
  return (seconds >= 3_600 ? digits : digits.slice(1)).join(":");
}
