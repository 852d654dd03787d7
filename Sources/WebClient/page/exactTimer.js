/** Worker of all exact timers, and their callbacks by number. */
const shared = { worker: null, count: 0, waiting: new Map() };

/**
 * Timer that a browser does not delay while the page is hidden: it runs in a worker, whose timers
 * are not slowed down to one a minute. A page that the browser has frozen hears it when it goes on.
 */
export class ExactTimer {
  #browser;
  #id = null;
  #fallback = null;

  /** @param {{openTimerWorker?: () => Worker, setTimer: Function, clearTimer: Function}} browser */
  constructor(browser) { this.#browser = browser; }

  /** Calls `act` once after a time, in place of what was set before. */
  set(milliseconds, act) {
    this.clear();
    const once = () => {
      this.clear();
      act();
    };
    // The worker may not start, as without a connection.
    this.#fallback = this.#browser.setTimer(once, milliseconds);
    this.#id = shared.count += 1;
    shared.waiting.set(this.#id, once);
    this.#worker()?.postMessage({ id: this.#id, milliseconds: Math.max(0, milliseconds) });
  }

  clear() {
    shared.waiting.delete(this.#id);
    this.#id = null;
    if (this.#fallback !== null) this.#browser.clearTimer(this.#fallback);
    this.#fallback = null;
  }

  /** Returns null where the browser lets the page have no worker. */
  #worker() {
    if (shared.worker !== null || !this.#browser.openTimerWorker) return shared.worker;
    try {
      shared.worker = this.#browser.openTimerWorker();
    } catch {
      return null;
    }
    shared.worker.onmessage = ({ data: id }) => {
      shared.waiting.get(id)?.();
    };
    return shared.worker;
  }
}
