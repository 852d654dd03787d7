import { limits } from "../limits.js";

/**
 * Which transport to use. A rung that is reached but does not carry, twice in a row, is left for
 * the next; from there the better one is tried again, at growing intervals. Instants are
 * milliseconds of the forward clock.
 */
export class Ladder {
  #rungs;
  #index = 0;
  /** Failures in a row that speak against this rung. A single one may be chance. */
  #failures = 0;
  #probeMilliseconds = limits.probeFirstMilliseconds;
  /** When the better rung is tried; null: never. */
  probeAt = null;

  /** @param {string[]} rungs best first: `websocket`, `events`, `long-poll`, `poll` */
  constructor(rungs) {
    if (rungs.length === 0) throw new TypeError("a ladder needs a rung");
    this.#rungs = rungs;
  }

  get transport() { return this.#rungs[this.#index]; }

  /** The rung above; null at the top. */
  get better() { return this.#index > 0 ? this.#rungs[this.#index - 1] : null; }

  /** The relay was reached, but not by way of this rung. */
  rungFailed(now) {
    this.#failures += 1;
    if (this.#failures < 2 || this.#index === this.#rungs.length - 1) return;
    this.#index += 1;
    this.#failures = 0;
    this.#scheduleProbe(now);
  }

  /** This rung carried an answer. */
  rungServed() {
    this.#failures = 0;
    if (this.#index === 0) this.#probeMilliseconds = limits.probeFirstMilliseconds;
  }

  /** This better rung answered. */
  climb(better, now) {
    const found = this.#rungs.indexOf(better);
    if (found < 0 || found >= this.#index) return;
    this.#index = found;
    this.#failures = 0;
    this.#scheduleProbe(now);
  }

  probeFailed(now) { this.#scheduleProbe(now); }

  /** The network is another one now. */
  reset() {
    this.#index = 0;
    this.#failures = 0;
    this.probeAt = null;
    this.#probeMilliseconds = limits.probeFirstMilliseconds;
  }

  #scheduleProbe(now) {
    if (this.#index === 0) {
      this.probeAt = null;
      return;
    }
    this.probeAt = now + this.#probeMilliseconds;
    this.#probeMilliseconds = Math.min(2 * this.#probeMilliseconds, limits.probeMilliseconds);
  }
}
