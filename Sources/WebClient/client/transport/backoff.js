import { limits } from "../limits.js";

/**
 * Delay before the next try: a random time below a ceiling that doubles with every failure (full
 * jitter), so that devices which lost a relay together do not reconnect together.
 */
export class Backoff {
  failures = 0;

  /** Returns milliseconds. The wait that the relay requests (`Retry-After`) is added, so that it is
   * never shortened. `chance`: from 0 to below 1. `spreadMilliseconds`: period over which the
   * relay's devices reconnect if all of them may have lost it; every try is spread over it, because
   * the relay may not be back at the first. If the relay requests a wait, it has spread the
   * devices itself. */
  next(chance, requestedMilliseconds = 0, spreadMilliseconds = 0) {
    const doublings = Math.min(this.failures, 20);
    let ceiling = Math.min(
      limits.backoffMilliseconds, limits.backoffFirstMilliseconds * 2 ** doublings,
    );
    this.failures += 1;
    const requested = Math.max(0, Math.min(requestedMilliseconds, limits.retryAfterMilliseconds));
    if (requested === 0) {
      const spread = Math.min(spreadMilliseconds, limits.reconnectObeyedMilliseconds);
      ceiling = Math.max(ceiling, spread);
    }
    return requested + Math.floor(chance * ceiling);
  }

  reset() { this.failures = 0; }
}
