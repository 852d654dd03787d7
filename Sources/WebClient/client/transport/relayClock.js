import { limits } from "../limits.js";

/** Two clocks diverge by at most 200 parts per million. */
const drift = 1 / 5_000;

/**
 * Estimate of relay time. Measured against the monotonic clock, so that setting the wall clock does
 * not change it. Before the first measurement it is the wall clock with the stored offset. All
 * times are milliseconds.
 */
export class RelayClock {
  /** Relay time minus monotonic clock, and its maximum error. */
  #best = null;
  /** Time at which a measurement last agreed with the estimate, or made it. */
  #confirmedAt = null;
  /** True if a clock has jumped, or the relay found a local stamp in its future. */
  isDoubted = false;
  /** Wall clock minus monotonic clock, at the last observation. */
  #skew = null;
  /** Sum of the forward steps of the wall clock since the page was opened. */
  wallSteps = 0;

  get isMeasured() { return this.#best !== null; }

  /** True if a relay may report this time: the years 1970 to 2248. */
  static isPlausible(time) { return Number.isSafeInteger(time) && time >= 0 && time < 2 ** 43; }

  /** Compares the two clocks of the machine, which move together except for a small drift. If they
   * diverge, one of them jumped (the wall clock was set, or the machine slept), and the estimate is
   * not trusted until the relay's time is measured again. */
  observe({ wall, monotonic }) {
    const skew = wall - monotonic;
    if (this.#skew !== null && Math.abs(skew - this.#skew) > limits.clockJumpMilliseconds) {
      this.isDoubted = true;
      this.wallSteps += Math.round(skew - this.#skew);
    }
    this.#skew = skew;
  }

  doubt() { this.isDoubted = true; }

  /** Adds a measurement: the relay reported `relayTime` between two local instants. `held`: time
   * for which it held the request. */
  add({ sent, received, relayTime, held = 0 }) {
    if (!RelayClock.isPlausible(relayTime)) return;
    const span = Math.max(0, received - sent);
    const roundTrip = span - Math.min(span, Math.max(0, held));
    // The relay truncates its time to whole milliseconds: half of one is added back.
    const fresh = { offset: relayTime + 0.5 - (sent + span / 2), error: roundTrip / 2 + 0.5,
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
    // The best of several has the shortest round trip; an old one becomes less accurate with time.
    if (fresh.error <= oldError || disagrees) this.#best = fresh;
  }

  /** @returns {import("../replica/stamps.js").ClockReading} */
  reading({ wall, monotonic }) {
    if (!this.#best) {
      // The replica has the stored offset.
      const offset = -this.wallSteps;
      return { wall, offset, relayTime: wall + offset, isTrusted: false, isMeasured: false,
        wallSteps: this.wallSteps };
    }
    const relayTime = Math.floor(monotonic + this.#best.offset);
    const isFresh = monotonic - this.#confirmedAt < limits.clockTrustMilliseconds;
    return { wall, offset: relayTime - wall, relayTime, isTrusted: !this.isDoubted && isFresh,
      isMeasured: true, wallSteps: this.wallSteps };
  }
}
