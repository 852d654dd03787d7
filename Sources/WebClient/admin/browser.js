/** Inputs of the owner's page from the browser, in one value. Tests provide their own. */
export function systemBrowser() {
  return {
    now: () => Date.now(),
    /** Offset of the person's time zone from UTC at an instant, in minutes. */
    minutesAhead: (instant) => -new Date(instant).getTimezoneOffset(),
    setTimer: (act, milliseconds) => setTimeout(act, Math.max(0, milliseconds)),
    clearTimer: (timer) => clearTimeout(timer),
    timeout: (milliseconds) => AbortSignal.timeout(milliseconds),
    fetch: (path, request) => fetch(path, request),
    keeper: new SessionKeeper(),
  };
}

/** The session of this tab, kept until the tab is closed. */
class SessionKeeper {
  #name = "lockstep-owner";
  /** Used if the browser keeps nothing. */
  #held = null;

  read() {
    try {
      return sessionStorage.getItem(this.#name) ?? this.#held;
    } catch {
      return this.#held;
    }
  }

  /** @param {string | null} token null: the session has ended */
  write(token) {
    this.#held = token;
    try {
      if (token === null) sessionStorage.removeItem(this.#name);
      else sessionStorage.setItem(this.#name, token);
    } catch {
      // A browser that keeps nothing has the session until the page is reloaded.
    }
  }
}
