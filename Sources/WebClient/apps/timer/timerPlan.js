import { bool, integer, member } from "../../json/jsonValue.js";
import { limits } from "../limits.js";
import { wholeNumber } from "../../model/mergeParts.js";
import { TimerSettings } from "./timerSettings.js";

/**
 * Phase that follows when a countdown reaches zero, written into the edit that begins the current
 * phase: `"plan": {"autoStart","break"}` for snooze, with `"longBreak","longBreakEvery"` for focus;
 * lengths in milliseconds.
 *
 * Every device makes the edit at zero independently, and all must make the same bytes. So the edit
 * may depend only on the record, not on the current settings, which may still be on the way to
 * another device. A changed setting applies from the next phase on.
 */
export class TimerPlan {
  constructor({ breakMilliseconds, longBreakMilliseconds, longBreakEvery, autoStart }) {
    this.breakMilliseconds = breakMilliseconds;
    this.longBreakMilliseconds = longBreakMilliseconds;
    /** 0: never a long break. */
    this.longBreakEvery = longBreakEvery;
    this.autoStart = autoStart;
  }

  /** Returns the plan for a focus. @param {TimerSettings} settings */
  static afterFocus(settings) {
    return new TimerPlan({ ...settings, breakMilliseconds: settings.shortBreakMilliseconds });
  }

  /** Returns the plan for a snooze: the postponed break. */
  static postponing(breakMilliseconds, autoStart) {
    return new TimerPlan({
      breakMilliseconds, longBreakMilliseconds: breakMilliseconds, longBreakEvery: 0n, autoStart,
    });
  }

  /**
   * Reads the plan of an edit. An edit from another program may have none; then the defaults apply,
   * which are also the same on every device.
   *
   * @param {import("./timerModel.js").TimerEdit} edit
   */
  static of(edit) {
    const object = member(edit.object, "plan");
    const usual = TimerPlan.afterFocus(new TimerSettings());
    const every = wholeNumber(member(object, "longBreakEvery"));
    const usualEvery = edit.phase === "snooze" ? 0n : usual.longBreakEvery;
    return new TimerPlan({
      breakMilliseconds: length(member(object, "break")) ?? usual.breakMilliseconds,
      longBreakMilliseconds: length(member(object, "longBreak")) ?? usual.longBreakMilliseconds,
      longBreakEvery: every !== undefined && every >= 0n ? every : usualEvery,
      autoStart: bool(object, "autoStart") ?? usual.autoStart,
    });
  }

  get object() {
    const object = { autoStart: this.autoStart, break: integer(this.breakMilliseconds) };
    if (this.longBreakEvery > 0n) {
      object.longBreak = integer(this.longBreakMilliseconds);
      object.longBreakEvery = integer(this.longBreakEvery);
    }
    return object;
  }

  /** Returns the length of the break after the `count`-th pomodoro. @param {bigint} count */
  breakAfterPomodoro(count) {
    const isLong = this.longBreakEvery > 0n && count % this.longBreakEvery === 0n;
    return isLong ? this.longBreakMilliseconds : this.breakMilliseconds;
  }
}

function length(value) {
  const whole = wholeNumber(value);
  const isGood = whole !== undefined && whole >= 1n && whole <= BigInt(limits.timerMilliseconds);
  return isGood ? whole : undefined;
}
