import { int64, isNumber } from "../../json/jsonValue.js";
import { limits } from "../limits.js";
import { EditRefusal } from "../edit.js";
import { TimerEdit, concurrencyMilliseconds } from "./timerModel.js";
import { TimerPlan } from "./timerPlan.js";

/**
 * State machine of the timer on one device. Input: state, event and time; output: the next state.
 * It reads no clock and knows no other device; the resolver handles concurrent edits.
 *
 *     event    idle      focus        breakTime    snooze
 *     start    focus     –            focus        focus
 *     pause    –         paused       paused       paused
 *     resume   –         runs         runs         runs         (if it is paused)
 *     stop     –         idle         idle         idle
 *     skip     –         breakTime    idle         breakTime
 *     snooze   –         –            snooze       snooze
 *     zero     –         breakTime    idle         breakTime    (if it is not paused)
 *
 * Reaching zero in focus adds 1 to `completedPomodoros`; after every `longBreakEvery`-th pomodoro
 * the break is the long one. If `autoStart` is off, a break that follows automatically starts
 * paused until a person resumes it. A person's event replaces all edits of the record. A skipped or
 * stopped focus does not count.
 */
export const timerEvents = Object.freeze(["start", "pause", "resume", "stop", "skip", "snooze"]);

const refusals = {
  nothingIsRunning: "nothing is running; start the timer first",
  alreadyRunning: "a focus is already going on; stop it first to start another",
  alreadyPaused: "the timer is already paused; resume it to go on",
  notPaused: "the timer is not paused",
  noBreakToSnooze: "there is no break to put off; snooze works during a break",
  badLength:
    `a length must be more than 0 and at most ${limits.timerMilliseconds / 60_000} minutes`,
};

/** Reason why an event was refused, for the person who triggered it. */
export class TimerRefusal extends EditRefusal {
  constructor(code, reason = refusals[code]) {
    super(reason);
    this.code = code;
  }
}

const makers = { start, pause, resume, stop, skip, snooze };

/**
 * Applies a person's event at `now`. Countdowns that ended before are applied first: a finished
 * focus counts, even if no device has written that yet.
 *
 * @param {import("./timerModel.js").TimerState} state
 * @param {{do: string, length?: number}} event one of `timerEvents`; `length`, for start and
 *   snooze, in milliseconds; if absent, the length from the settings
 * @param {{settings: import("./timerSettings.js").TimerSettings, deviceID: string, now: bigint}}
 *   context the device on which the event happens, and relay time
 * @throws {TimerRefusal}
 */
export function handle(state, event, context) {
  const current = advance(state, context.now);
  const shown = current.shown;
  const phase = shown ? shown.phase : "idle";
  // A state from a later version of the app accepts only start and stop.
  if (phase === undefined && event.do !== "start" && event.do !== "stop") {
    throw new TimerRefusal(
      "unknownState",
      `this version does not know the state “${shown.stateType}”; update it, or stop the timer`);
  }
  if (phase === "idle" && event.do !== "start") throw new TimerRefusal("nothingIsRunning");
  const edit = makers[event.do]({ ...context, shown, phase, length: event.length });
  return current.with({ edits: [edit.replacing(current.edits)] });
}

/** Returns the events that are valid at `now`. */
export function possibleEvents(state, now) {
  const shown = advance(state, now).shown;
  const phase = shown ? shown.phase : "idle";
  if (phase === undefined) return ["start", "stop"];
  if (phase === "idle") return ["start"];
  const halt = shown.isPaused ? "resume" : "pause";
  return phase === "focus"
    ? [halt, "stop", "skip"] : ["start", halt, "stop", "skip", "snooze"];
}

function start({ phase, length, settings, deviceID, now }) {
  if (phase === "focus") throw new TimerRefusal("alreadyRunning");
  return TimerEdit.beginning("focus", {
    length: checked(length) ?? settings.focusMilliseconds,
    plan: TimerPlan.afterFocus(settings), timestamp: now, deviceID,
  });
}

function pause({ shown, deviceID, now }) {
  if (shown.isPaused) throw new TimerRefusal("alreadyPaused");
  return shown.continued({
    isPaused: true, remaining: shown.remainingAt(now), timestamp: now, deviceID,
  });
}

function resume({ shown, deviceID, now }) {
  if (!shown.isPaused) throw new TimerRefusal("notPaused");
  return shown.continued({
    isPaused: false, remaining: shown.remaining, timestamp: now, deviceID,
  });
}

function stop({ deviceID, now }) {
  return TimerEdit.beginning("idle", { length: 0n, timestamp: now, deviceID });
}

function skip({ shown, deviceID, now }) {
  return successor(shown, { timestamp: now, deviceID });
}

function snooze({ shown, phase, length, settings, deviceID, now }) {
  if (phase === "focus") throw new TimerRefusal("noBreakToSnooze");
  const plan = phase === "snooze"
    ? TimerPlan.of(shown)
    : TimerPlan.postponing(shown.duration ?? settings.shortBreakMilliseconds, settings.autoStart);
  return TimerEdit.beginning("snooze", {
    length: checked(length) ?? settings.snoozeMilliseconds, plan, timestamp: now, deviceID,
  });
}

function checked(length) {
  if (length === undefined) return undefined;
  const isWhole = isNumber(length) && (typeof length !== "number" || Number.isFinite(length));
  const whole = isWhole ? int64(length) : undefined;
  if (whole === undefined || whole < 1n || whole > BigInt(limits.timerMilliseconds)) {
    throw new TimerRefusal("badLength");
  }
  return whole;
}

// Edits at zero of a countdown. They depend only on the record.

/**
 * Returns the state after the shown countdown has reached zero; undefined if none runs. It has the
 * same bytes on every device, because the new edit takes its deviceID, timestamp and act from the
 * edit that ran out.
 *
 * The new edit replaces the edit that ran out. The other candidates stay as long as an edit can
 * still be concurrent with the newest act among them; after that they are removed.
 */
export function afterZero(state) {
  const shown = state.shown;
  const zeroAt = shown?.zeroAt;
  if (zeroAt === undefined) return undefined;
  const isDone = shown.phase === "focus";
  const completedPomodoros = state.completedPomodoros + (isDone ? 1n : 0n);
  const next = successor(shown, {
    completedPomodoros: isDone ? completedPomodoros : undefined,
    timestamp: zeroAt, deviceID: shown.deviceID,
  });
  const others = state.edits.slice(1);
  const areConcurrent = others.some(
    (edit) => zeroAt - edit.actTimestamp <= concurrencyMilliseconds);
  return state.with({
    completedPomodoros,
    edits: [
      next.withAct(shown.act).replacingLikewise(shown), ...(areConcurrent ? others : []),
    ],
  });
}

/**
 * Applies all countdowns that reached zero by `now`. The loop ends: zero leads from focus and
 * snooze to a break, and from a break to idle.
 */
export function advance(state, now) {
  let current = state;
  while (current.shown?.zeroAt !== undefined && current.shown.zeroAt <= now) {
    current = afterZero(current);
  }
  return current;
}

/**
 * Returns the next phase. `completedPomodoros`: number including the focus that just ended;
 * undefined if no focus was completed.
 */
function successor(edit, { completedPomodoros, timestamp, deviceID }) {
  if (edit.phase !== "focus" && edit.phase !== "snooze") {
    return TimerEdit.beginning("idle", { length: 0n, timestamp, deviceID });
  }
  const plan = TimerPlan.of(edit);
  const length = completedPomodoros === undefined
    ? plan.breakMilliseconds : plan.breakAfterPomodoro(completedPomodoros);
  return TimerEdit.beginning("breakTime", {
    length, isPaused: !plan.autoStart, timestamp, deviceID,
  });
}
