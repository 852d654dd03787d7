import { limits } from "../limits.js";

/** All transports, best first. */
const known = Object.freeze(["websocket", "events", "long-poll", "poll"]);

/** Returns an app's list of transports. @throws {TypeError} if a name is unknown, or none given */
export function checkedTransports(names) {
  if (Array.isArray(names) && names.length > 0 && names.every((name) => known.includes(name))) {
    return [...names];
  }
  throw new TypeError(`transports are a list of one or more of: ${known.join(", ")}`);
}

/**
 * Chooses the transport, and the time for which a long-poll asks to be held. Instants are
 * milliseconds of the monotonic clock.
 *
 * Transports are tried in order. A transport that reaches the relay but does not work, twice in a
 * row, is replaced by the next. A long-poll that is cut is then held for half as long; if even the
 * shortest is cut, the next transport is used. Better transports are tried again at growing
 * intervals. A transport on trial has not worked yet, so its first failure leads back.
 */
export class TransportSelector {
  #transports;
  #index = 0;
  /** Consecutive failures of this transport. A single one may be accidental. */
  #failures = 0;
  /** True if the transport, or the hold time, is on trial. */
  #isOnTrial = false;
  /** True if it has worked since it was last in doubt. */
  #hasWorked = false;
  #probeMilliseconds = limits.probeFirstMilliseconds;
  /** Time for which a long-poll asks to be held. */
  waitMilliseconds = limits.longPollMilliseconds;
  /** Time at which a better transport is tried; null: never. */
  probeAt = null;

  /** @param {string[]} transports best first: `websocket`, `events`, `long-poll`, `poll` */
  constructor(transports) {
    if (transports.length === 0) throw new TypeError("no transport is given");
    this.#transports = transports;
  }

  get transport() { return this.#transports[this.#index]; }

  /** True if a better transport, or a longer hold time, can be tried. */
  get #hasBetter() { return this.#index > 0 || this.#canHoldLonger; }

  /** True if a socket can be tried in parallel to the present transport. */
  get canUpgradeToSocket() { return this.#index > 0 && this.#transports[0] === "websocket"; }

  get #canHoldLonger() {
    return this.transport === "long-poll" && this.waitMilliseconds < limits.longPollMilliseconds;
  }

  get #canHoldShorter() {
    return this.waitMilliseconds / 2 >= limits.shortestLongPollMilliseconds;
  }

  /** Handles a failure in which the relay was reached, but this transport did not work. */
  transportFailed(now) {
    this.#failures += 1;
    const allowed = this.#isOnTrial ? 1 : 2;
    if (this.#failures < allowed || this.#index === this.#transports.length - 1) return;
    this.#index += 1;
    this.#failures = 0;
    this.#isOnTrial = false;
    this.#scheduleProbe(now);
  }

  /** Handles a cut long-poll of a reachable relay. `heldMilliseconds`: time until the cut; null:
   * its answer never came. */
  longPollCut(heldMilliseconds, now) {
    if (this.transport !== "long-poll") return;
    this.#hasWorked = false;
    if (!this.#canHoldShorter) {
      this.transportFailed(now);
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

  /** Handles an answer on this transport; for a long-poll, one that was held. */
  transportServed(now) {
    this.#failures = 0;
    this.#hasWorked = true;
    if (this.#isOnTrial || !this.#hasBetter) {
      this.#probeMilliseconds = limits.probeFirstMilliseconds;
    }
    if (this.#isOnTrial) this.#scheduleProbe(now);
    this.#isOnTrial = false;
  }

  /** Switches to this better transport, which has answered. */
  upgrade(better, now) {
    const found = this.#transports.indexOf(better);
    if (found < 0 || found >= this.#index) return;
    this.#index = found;
    this.#failures = 0;
    this.#isOnTrial = false;
    this.waitMilliseconds = limits.longPollMilliseconds;
    this.#scheduleProbe(now);
  }

  /** Tries a longer hold time, or else the next better HTTP transport, because no socket is
   * possible. */
  tryBetter(now) {
    if (this.#canHoldLonger) {
      // Not while the possible hold time is still being measured.
      if (!this.#hasWorked) {
        this.#scheduleProbe(now);
        return;
      }
      this.#hasWorked = false;
      this.waitMilliseconds = Math.min(2 * this.waitMilliseconds, limits.longPollMilliseconds);
      this.#isOnTrial = true;
    } else if (this.#index > 0 && this.#transports[this.#index - 1] !== "websocket") {
      this.#index -= 1;
      this.#failures = 0;
      this.#hasWorked = false;
      this.#isOnTrial = true;
      while (this.#canHoldShorter) this.waitMilliseconds /= 2;
    }
    this.#scheduleProbe(now);
  }

  /** Tries a better transport at once, at a person's request or because the network may have
   * changed. */
  probeSoon(now) {
    if (!this.#hasBetter) return;
    this.#probeMilliseconds = limits.probeFirstMilliseconds;
    this.probeAt = now;
  }

  /** Starts again with the best transport, because the network has changed. */
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
