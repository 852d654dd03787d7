import { deviceName } from "../edit.js";
import { settingsOf, timerOf } from "./timerApp.js";
import { advance, possibleEvents } from "./timerMachine.js";
import { TimerPlan } from "./timerPlan.js";

/**
 * What the timer shows a person at one instant. Countdowns that reached zero by then are over,
 * whether or not a device has written that yet: all screens turn at the same moment.
 *
 * `remaining` is milliseconds left at `at`; `zeroAt` when a running countdown ends; `device` whose
 * edit is shown, and `editedAt` since when; `duration` the phase's full length, where the edit says
 * it; `longBreakEvery` after how many pomodoros the long break comes, 0 for never; `events` what
 * the person can do now. null where there is none.
 *
 * @param {import("../edit.js").AppState} app
 * @param {number} now relay time, whole milliseconds
 */
export function timerScreen(app, now) {
  const instant = BigInt(now);
  const state = advance(timerOf(app), instant);
  const shown = state.shown;
  // What a running focus leads to was settled when it began.
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
 * When a countdown to `zeroAt` shows another second next: the same instant of relay time on every
 * screen.
 */
export function nextSecond(zeroAt, now) {
  const remaining = Math.max(0, zeroAt - now);
  return now + (remaining === 0 ? 1 : ((remaining - 1) % 1_000) + 1);
}

/**
 * `24:59`, or `01:00:00`. Seconds are rounded up, so that a countdown shows its full length at
 * first, and 00:00 only when it is over.
 */
export function clock(milliseconds) {
  const seconds = Math.ceil(milliseconds / 1_000);
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const digits = parts.map((part) => String(part).padStart(2, "0"));
  return (seconds >= 3_600 ? digits : digits.slice(1)).join(":");
}
