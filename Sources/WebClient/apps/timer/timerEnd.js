import { text } from "../../json/jsonValue.js";
import { timerOf } from "./timerApp.js";
import { advance } from "./timerMachine.js";

/**
 * Returns the last end of a countdown as of `now`, if what the screen shows follows from it; null
 * if a person has acted since. Also where no device has written the edit at zero yet.
 *
 * `at`: instant of relay time at which it ran out. `phase`: phase that ended; null if the record
 * does not say it. `next`: phase that follows. `isPaused`: true if that phase waits for a person.
 *
 * @param {import("../edit.js").AppState} app
 * @param {number} now relay time, whole milliseconds
 */
export function timerEnd(app, now) {
  const { shown } = advance(timerOf(app), BigInt(now));
  if (!shown?.isMadeByTime) return null;
  return {
    at: Number(shown.timestamp), phase: phaseBefore(shown), next: shown.stateType,
    isPaused: shown.isPaused,
  };
}

/** Since the act at the head of the chain, at most a focus or a snooze, and then a break, have
 * ended. */
function phaseBefore({ phase, act }) {
  if (phase === "idle") return "breakTime";
  if (phase !== "breakTime") return null;
  return text(act, "stateType") === "snooze" ? "snooze" : "focus";
}
