import { bool, integer, member } from "../../changes/json.js";
import { limits } from "../../changes/limits.js";
import { wholeNumber } from "../merge/wholeNumber.js";
import { TimerSettings } from "./timerSettings.js";

/**
 * What follows a phase when its countdown reaches zero, written into the edit that begins the
 * phase: `"plan": {"autoStart","break"}` for snooze, with `"longBreak","longBreakEvery"` for focus;
 * lengths in milliseconds.
 *
 * Every device makes the edit at zero by itself, and all must make the same bytes. So it may depend
 * on nothing but the record: the settings of the moment, which may be on their way to another
 * device just then, must not play a part. They take effect with the next phase.
 */
export class TimerPlan {
  constructor({ breakMilliseconds, longBreakMilliseconds, longBreakEvery, autoStart }) {
    this.breakMilliseconds = breakMilliseconds;
    this.longBreakMilliseconds = longBreakMilliseconds;
    /** 0: never a long break. */
    this.longBreakEvery = longBreakEvery;
    this.autoStart = autoStart;
  }

  /** What follows a focus. @param {TimerSettings} settings */
  static afterFocus(settings) {
    return new TimerPlan({ ...settings, breakMilliseconds: settings.shortBreakMilliseconds });
  }

  /** What follows a snooze: the break that was put off. */
  static postponing(breakMilliseconds, autoStart) {
    return new TimerPlan({
      breakMilliseconds, longBreakMilliseconds: breakMilliseconds, longBreakEvery: 0n, autoStart,
    });
  }

  /**
   * The plan in an edit. An edit from another program may have none: then the defaults hold, which
   * are the same on every device too.
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

  /** How long the break is that follows the `count`-th pomodoro. @param {bigint} count */
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
