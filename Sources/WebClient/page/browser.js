import { KeyWorker } from "./keyWorker.js";
import { systemPush } from "./wakes/browserPush.js";

/**
 * All inputs of the page from the browser (time, randomness, time zone, push, a worker) in one
 * value. Tests provide their own.
 */
export function systemBrowser() {
  return {
    setTimer: (act, milliseconds) => setTimeout(act, Math.max(0, milliseconds)),
    clearTimer: (timer) => clearTimeout(timer),
    random: (count) => crypto.getRandomValues(new Uint8Array(count)),
    /** Offset of the person's time zone from UTC at an instant, in minutes; positive to the
     * east. */
    minutesAhead: (instant) => -new Date(instant).getTimezoneOffset(),
    isSecure: globalThis.isSecureContext === true,
    push: systemPush(),
    keyWorker: new KeyWorker(),
  };
}
