import { limits } from "../../limits.js";

/**
 * Decides which ends of countdowns the page announces: each once, and none that is long over.
 *
 * Browsers run the timers of a hidden page once a minute, so an end that the page has waited for
 * may be announced as late as that. An end that the page learns of afterwards, because it was
 * opened or connected then, is announced only within seconds: a reload at zero loses nothing, and
 * nobody is called by what was over before.
 */
export class EndWatch {
  /** Zero of the countdown that ran when the page looked last; null if none ran. */
  #awaited = null;
  /** Instant of the last end that was announced, or that was too old. */
  #done = null;

  /**
   * Returns the end to announce now, or null.
   *
   * @param {{at: number} | null} end of `timerEnd`, at `now`
   * @param {number | null} zeroAt zero of the countdown that runs at `now`
   * @param {boolean} isCurrent false while the device reads what it may have missed
   */
  next(end, zeroAt, now, isCurrent) {
    const isAwaited = end !== null && this.#awaited !== null && end.at >= this.#awaited;
    const late = end === null ? 0 : now - end.at;
    const isKept = isAwaited && late > limits.alertPromptMilliseconds && !isCurrent;
    if (!isKept) this.#awaited = zeroAt;
    if (end === null || end.at === this.#done || isKept) return null;
    this.#done = end.at;
    const lateMost = isAwaited
      ? limits.alertLateMilliseconds : limits.alertPromptMilliseconds;
    return Math.abs(late) <= lateMost ? end : null;
  }
}
