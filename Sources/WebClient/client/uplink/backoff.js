import { limits } from "../limits.js";

/**
 * How long to wait before the next try: a random span below a ceiling that doubles with every
 * failure (full jitter), so that devices which lost a relay together do not come back together.
 */
export class Backoff {
  failures = 0;

  /** Milliseconds. What the relay asked for (`Retry-After`) comes on top, so that it is never cut.
   * `chance`: from 0 to below 1. `spreadMilliseconds`: over how long the relay's devices come back
   * where all of them may have lost it; each try is spread as far, since the relay may not be back
   * at the first. Where the relay asked for a wait, it has spread that itself. */
  next(chance, askedMilliseconds = 0, spreadMilliseconds = 0) {
    const doublings = Math.min(this.failures, 20);
    let ceiling = Math.min(
      limits.backoffMilliseconds, limits.backoffFirstMilliseconds * 2 ** doublings,
    );
    this.failures += 1;
    const asked = Math.max(0, Math.min(askedMilliseconds, limits.retryAfterMilliseconds));
    if (asked === 0) {
      const spread = Math.min(spreadMilliseconds, limits.reconnectObeyedMilliseconds);
      ceiling = Math.max(ceiling, spread);
    }
    return asked + Math.floor(chance * ceiling);
  }

  reset() { this.failures = 0; }
}
