import { uuid } from "../../changes/uuid.js";

/**
 * All that the client asks of the outside, in one value: time, chance, timers, and the network.
 * Tests give their own.
 *
 * @typedef {{
 *   fetch: typeof fetch,
 *   WebSocket: typeof WebSocket | undefined,
 *   wall: () => number,
 *   forward: () => number,
 *   setTimer: (act: () => void, milliseconds: number) => any,
 *   clearTimer: (timer: any) => void,
 *   random: () => number,
 *   uuid: () => string,
 * }} Environment
 */

/** @returns {Environment} the browser's, or node's, own */
export function systemEnvironment() {
  return {
    fetch: (...request) => globalThis.fetch(...request),
    WebSocket: globalThis.WebSocket,
    wall: () => Date.now(),
    // Goes on evenly where somebody sets the wall clock.
    forward: () => performance.now(),
    setTimer: (act, milliseconds) => setTimeout(act, milliseconds),
    clearTimer: (timer) => clearTimeout(timer),
    random: () => crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32,
    uuid: () => uuid((count) => crypto.getRandomValues(new Uint8Array(count))),
  };
}

/** One moment that is waited for; a new one takes the place of the old. */
export class Deadline {
  #environment;
  #timer = null;

  constructor(environment) { this.#environment = environment; }

  get isSet() { return this.#timer !== null; }

  set(milliseconds, act) {
    this.clear();
    this.#timer = this.#environment.setTimer(() => {
      this.#timer = null;
      act();
    }, Math.max(0, milliseconds));
  }

  clear() {
    if (this.#timer !== null) this.#environment.clearTimer(this.#timer);
    this.#timer = null;
  }
}
