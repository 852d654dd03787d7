import { int64, isNumber } from "../../changes/json.js";
import { limits } from "../../changes/limits.js";
import { EditRefusal } from "../editRefusal.js";
import { TimerEdit, concurrencyMilliseconds } from "./timerModel.js";
import { TimerPlan } from "./timerPlan.js";

/**
 * The timer's state machine on one device: state, event and instant in, next state out. It reads no
 * clock and knows no other device; concurrent edits are the resolver's affair.
 *
 *     event    idle      focus        breakTime    snooze
 *     start    focus     –            focus        focus
 *     pause    –         stands still stands still stands still
 *     resume   –         goes on      goes on      goes on       (where it is paused)
 *     stop     –         idle         idle         idle
 *     skip     –         breakTime    idle         breakTime
 *     snooze   –         –            snooze       snooze
 *     zero     –         breakTime    idle         breakTime     (where it is not paused)
 *
 * Reaching zero in focus adds 1 to `completedPomodoros`, and every `longBreakEvery`-th time the
 * break is the long one. With `autoStart` off a break that follows by itself stands paused until a
 * person resumes it. A person's event replaces all edits of the record. A skipped or stopped focus
 * does not count.
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

/** Why an event changes nothing, for the person who caused it. */
export class TimerRefusal extends EditRefusal {
  constructor(code, reason = refusals[code]) {
    super(reason);
    this.code = code;
  }
}

const makers = { start, pause, resume, stop, skip, snooze };

/**
 * A person acts at `now`. Countdowns that ended before come first: a focus that ran out a moment
 * ago counts, even if no device has written that yet.
 *
 * @param {import("./timerModel.js").TimerState} state
 * @param {{do: string, length?: number}} event one of `timerEvents`; `length`, of start and snooze,
 *   in milliseconds: as the settings say where it is not given
 * @param {{settings: import("./timerSettings.js").TimerSettings, deviceID: string, now: bigint}}
 *   context the device that the event happens on, and relay time
 * @throws {TimerRefusal}
 */
export function handle(state, event, context) {
  const current = advance(state, context.now);
  const shown = current.shown;
  const phase = shown ? shown.phase : "idle";
  // A state from a later version of the app can be left, by start or stop, and nothing else.
  if (phase === undefined && event.do !== "start" && event.do !== "stop") {
    throw new TimerRefusal(
      "unknownState",
      `this version does not know the state “${shown.stateType}”; update it, or stop the timer`);
  }
  if (phase === "idle" && event.do !== "start") throw new TimerRefusal("nothingIsRunning");
  const edit = makers[event.do]({ ...context, shown, phase, length: event.length });
  return current.with({ edits: [edit] });
}

/** The events that would be taken at `now`. */
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

// What happens by itself when a countdown reaches zero: it follows from the record alone.

/**
 * The state once the shown countdown has reached zero: the same bytes on every device, for the edit
 * has the deviceID of the edit that ran out, the instant it ran out, and its act. undefined where
 * none runs.
 *
 * It stands in the place of the edit that ran out. The other candidates stay while edits can still
 * be concurrent with the newest act among them, and are forgotten after that.
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
    completedPomodoros, edits: [next.withAct(shown.act), ...(areConcurrent ? others : [])],
  });
}

/**
 * The state with all countdowns over that reached zero by `now`. It ends: zero leads from focus and
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
 * The phase that follows this one. `completedPomodoros`: how many there are with the focus that
 * just ended; undefined where none was completed.
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
