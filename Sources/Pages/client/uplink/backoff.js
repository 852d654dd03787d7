import { limits } from "../limits.js";

/**
 * How long to wait before the next try: a random span below a ceiling that doubles with every
 * failure (full jitter), so that devices which lost a relay together do not come back together.
 */
export class Backoff {
  failures = 0;

  /** Milliseconds. What the relay asked for (`Retry-After`) comes on top, so that it is never cut.
   * `chance`: from 0 to below 1. */
  next(chance, askedMilliseconds = 0) {
    const doublings = Math.min(this.failures, 20);
    const ceiling = Math.min(
      limits.backoffMilliseconds, limits.backoffFirstMilliseconds * 2 ** doublings,
    );
    this.failures += 1;
    const asked = Math.max(0, Math.min(askedMilliseconds, limits.retryAfterMilliseconds));
    return asked + Math.floor(chance * ceiling);
  }

  reset() { this.failures = 0; }
}
