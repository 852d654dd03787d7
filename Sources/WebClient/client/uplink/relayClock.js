import { limits } from "../limits.js";

/** Two clocks part by at most 200 millionths. */
const drift = 1 / 5_000;

/**
 * What time it is at the relay. Measured against the clock that only goes forward, so that somebody
 * who sets the wall clock does not move it; before the first measurement it is the wall clock with
 * the offset that the store remembers. All in milliseconds.
 */
export class RelayClock {
  /** Relay time less forward clock, and by how much it may be wrong. */
  #best = null;
  /** When a measurement last agreed with the estimate, or made it. */
  #confirmedAt = null;
  /** A clock has jumped, or the relay found a stamp of ours in its future. */
  isDoubted = false;
  /** Wall clock less forward clock, when last looked at. */
  #skew = null;
  /** By how much somebody has set the wall clock forward since the page was opened. */
  wallSteps = 0;

  get isMeasured() { return this.#best !== null; }

  /** Whether a relay may say that it is this time: the years 1970 to 2248. */
  static isPlausible(time) { return Number.isSafeInteger(time) && time >= 0 && time < 2 ** 43; }

  /** To be told every moment that is seen. The two clocks of a machine move together but for a
   * small drift; where they part, one of them jumped (the wall clock was set, or the machine
   * slept), and nothing is trusted until the relay is asked again. */
  observe({ wall, forward }) {
    const skew = wall - forward;
    if (this.#skew !== null && Math.abs(skew - this.#skew) > limits.clockJumpMilliseconds) {
      this.isDoubted = true;
      this.wallSteps += Math.round(skew - this.#skew);
    }
    this.#skew = skew;
  }

  doubt() { this.isDoubted = true; }

  /** The relay said `relayTime` between two instants of our forward clock. `held`: how long it kept
   * the question. */
  add({ sent, received, relayTime, held = 0 }) {
    if (!RelayClock.isPlausible(relayTime)) return;
    const span = Math.max(0, received - sent);
    const way = span - Math.min(span, Math.max(0, held));
    // The relay cuts its time to whole milliseconds: half of one is added back.
    const fresh = { offset: relayTime + 0.5 - (sent + span / 2), error: way / 2 + 0.5,
      at: received };
    this.#confirmedAt = received;
    const old = this.#best;
    if (!old || this.isDoubted) {
      this.#best = fresh;
      this.isDoubted = false;
      return;
    }
    const oldError = old.error + Math.max(0, received - old.at) * drift;
    const disagrees = Math.abs(fresh.offset - old.offset) > fresh.error + oldError;
    // The best of several is the one with the shortest way; an old one grows worse with time.
    if (fresh.error <= oldError || disagrees) this.#best = fresh;
  }

  /** @returns {import("../replica/stamps.js").ClockReading} */
  reading({ wall, forward }) {
    if (!this.#best) {
      // The replica knows what the store remembers.
      const offset = -this.wallSteps;
      return { wall, offset, relayTime: wall + offset, isTrusted: false, isMeasured: false,
        wallSteps: this.wallSteps };
    }
    const relayTime = Math.floor(forward + this.#best.offset);
    const isFresh = forward - this.#confirmedAt < limits.clockTrustMilliseconds;
    return { wall, offset: relayTime - wall, relayTime, isTrusted: !this.isDoubted && isFresh,
      isMeasured: true, wallSteps: this.wallSteps };
  }
}
