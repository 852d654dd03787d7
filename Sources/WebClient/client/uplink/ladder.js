import { limits } from "../limits.js";

/**
 * Which transport to use, and for how long a long-poll asks to be held. Instants are milliseconds
 * of the forward clock.
 *
 * A rung that is reached but does not carry, twice in a row, is left for the next. A long-poll that
 * is cut is asked to be held for half as long; where even the shortest is cut, the rung is left.
 * From there what is better is tried again, at growing intervals. What is tried has carried nothing
 * yet, so that its first failure leads back.
 */
export class Ladder {
  #rungs;
  #index = 0;
  /** Failures in a row that speak against this rung. A single one may be chance. */
  #failures = 0;
  /** The rung, or the wait, is being tried. */
  #isOnTrial = false;
  /** It has carried since it was last in doubt. */
  #hasServed = false;
  #probeMilliseconds = limits.probeFirstMilliseconds;
  /** For how long a long-poll asks to be held. */
  waitMilliseconds = limits.longPollMilliseconds;
  /** When what is better is tried; null: never. */
  probeAt = null;

  /** @param {string[]} rungs best first: `websocket`, `events`, `long-poll`, `poll` */
  constructor(rungs) {
    if (rungs.length === 0) throw new TypeError("a ladder needs a rung");
    this.#rungs = rungs;
  }

  get transport() { return this.#rungs[this.#index]; }

  /** There is something better to try. */
  get #hasBetter() { return this.#index > 0 || this.#canHoldLonger; }

  /** A socket is tried beside what carries. */
  get hasSocketAbove() { return this.#index > 0 && this.#rungs[0] === "websocket"; }

  get #canHoldLonger() {
    return this.transport === "long-poll" && this.waitMilliseconds < limits.longPollMilliseconds;
  }

  get #canHoldShorter() {
    return this.waitMilliseconds / 2 >= limits.shortestLongPollMilliseconds;
  }

  /** The relay was reached, but not by way of this rung. */
  rungFailed(now) {
    this.#failures += 1;
    const allowed = this.#isOnTrial ? 1 : 2;
    if (this.#failures < allowed || this.#index === this.#rungs.length - 1) return;
    this.#index += 1;
    this.#failures = 0;
    this.#isOnTrial = false;
    this.#scheduleProbe(now);
  }

  /** A long-poll was cut, though the relay is in reach. `heldMilliseconds`: after so long; null:
   * its answer never came. */
  longPollCut(heldMilliseconds, now) {
    if (this.transport !== "long-poll") return;
    this.#hasServed = false;
    if (!this.#canHoldShorter) {
      this.rungFailed(now);
      return;
    }
    this.#failures = 0;
    this.#isOnTrial = false;
    do {
      this.waitMilliseconds /= 2;
    } while (this.#canHoldShorter && heldMilliseconds !== null
      && this.waitMilliseconds >= heldMilliseconds);
    if (this.probeAt === null) this.#scheduleProbe(now);
  }

  /** This rung carried an answer; of a long-poll one that was held. */
  rungServed(now) {
    this.#failures = 0;
    this.#hasServed = true;
    if (this.#isOnTrial || !this.#hasBetter) {
      this.#probeMilliseconds = limits.probeFirstMilliseconds;
    }
    if (this.#isOnTrial) this.#scheduleProbe(now);
    this.#isOnTrial = false;
  }

  /** This better rung answered. */
  climb(better, now) {
    const found = this.#rungs.indexOf(better);
    if (found < 0 || found >= this.#index) return;
    this.#index = found;
    this.#failures = 0;
    this.#isOnTrial = false;
    this.waitMilliseconds = limits.longPollMilliseconds;
    this.#scheduleProbe(now);
  }

  /** There is no socket to be had: what else is better is tried from now on. */
  tryBetter(now) {
    if (this.#canHoldLonger) {
      // Not while it is still being found out for how long one may be held.
      if (!this.#hasServed) {
        this.#scheduleProbe(now);
        return;
      }
      this.#hasServed = false;
      this.waitMilliseconds = Math.min(2 * this.waitMilliseconds, limits.longPollMilliseconds);
      this.#isOnTrial = true;
    } else if (this.#index > 0 && this.#rungs[this.#index - 1] !== "websocket") {
      this.#index -= 1;
      this.#failures = 0;
      this.#hasServed = false;
      this.#isOnTrial = true;
      while (this.#canHoldShorter) this.waitMilliseconds /= 2;
    }
    this.#scheduleProbe(now);
  }

  /** A person asks, or the network may be another one. */
  probeSoon(now) {
    if (!this.#hasBetter) return;
    this.#probeMilliseconds = limits.probeFirstMilliseconds;
    this.probeAt = now;
  }

  /** The network is another one now. */
  reset() {
    this.#index = 0;
    this.#failures = 0;
    this.#isOnTrial = false;
    this.waitMilliseconds = limits.longPollMilliseconds;
    this.probeAt = null;
    this.#probeMilliseconds = limits.probeFirstMilliseconds;
  }

  #scheduleProbe(now) {
    if (!this.#hasBetter) {
      this.probeAt = null;
      return;
    }
    this.probeAt = now + this.#probeMilliseconds;
    this.#probeMilliseconds = Math.min(2 * this.#probeMilliseconds, limits.probeMilliseconds);
  }
}
