/**
 * All that the page asks of the browser about time, chance and place, in one value. Tests give
 * their own.
 */
export function systemBrowser() {
  return {
    setTimer: (act, milliseconds) => setTimeout(act, Math.max(0, milliseconds)),
    clearTimer: (timer) => clearTimeout(timer),
    random: (count) => crypto.getRandomValues(new Uint8Array(count)),
    /** Minutes that the person's calendar is ahead of Greenwich at an instant. */
    minutesAhead: (instant) => -new Date(instant).getTimezoneOffset(),
    isSecure: globalThis.isSecureContext === true,
  };
}
