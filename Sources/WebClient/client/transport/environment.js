import { uuid } from "../../model/name.js";

/**
 * All external inputs of the client in one value: time, randomness, timers, and the network. Tests
 * provide their own. `origin`: that of the page, by which a relay decides if it may use the relay;
 * undefined outside of a browser. `hasNetwork`: false while the browser reports that it has none.
 *
 * @typedef {{
 *   fetch: typeof fetch,
 *   origin?: string,
 *   WebSocket: typeof WebSocket | undefined,
 *   hasNetwork: () => boolean,
 *   wall: () => number,
 *   monotonic: () => number,
 *   setTimer: (act: () => void, milliseconds: number) => any,
 *   clearTimer: (timer: any) => void,
 *   random: () => number,
 *   randomBytes: (count: number) => Uint8Array,
 *   uuid: () => string,
 * }} Environment
 */

/** @returns {Environment} the environment of the browser or of node */
export function systemEnvironment() {
  return {
    fetch: (...request) => globalThis.fetch(...request),
    origin: globalThis.window?.location?.origin,
    WebSocket: globalThis.WebSocket,
    hasNetwork: () => globalThis.navigator?.onLine !== false,
    wall: () => Date.now(),
    // Monotonic: setting the wall clock does not change it.
    monotonic: () => performance.now(),
    setTimer: (act, milliseconds) => setTimeout(act, milliseconds),
    clearTimer: (timer) => clearTimeout(timer),
    random: () => crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32,
    randomBytes,
    uuid: () => uuid(randomBytes),
  };
}

const randomBytes = (count) => crypto.getRandomValues(new Uint8Array(count));

/** One deadline; setting it again replaces the former time. */
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
