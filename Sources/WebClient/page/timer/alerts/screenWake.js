/**
 * Screen that stays on while a countdown runs. A browser ends the lock when the page is hidden;
 * the next update requests it again. It refuses where the battery is low, and the screen then goes
 * off as usual.
 */
export class ScreenWake {
  #browser;
  #lock = null;
  #isWanted = false;
  #isAsking = false;

  /** @param {{wakeLock: WakeLock | undefined, isInView: boolean}} browser `wakeLock` is undefined
   *   where the browser has none */
  constructor(browser) { this.#browser = browser; }

  update(isWanted) {
    this.#isWanted = isWanted;
    if (!isWanted) this.#release();
    else if (this.#lock === null) this.#request();
  }

  async #request() {
    const { wakeLock, isInView } = this.#browser;
    if (!wakeLock || this.#isAsking || !isInView) return;
    this.#isAsking = true;
    try {
      const lock = await wakeLock.request("screen");
      lock.addEventListener("release", () => { if (this.#lock === lock) this.#lock = null; });
      this.#lock = lock;
    } catch {
      // The browser refuses it at this time.
    }
    this.#isAsking = false;
    if (!this.#isWanted) this.#release();
  }

  #release() {
    const lock = this.#lock;
    this.#lock = null;
    lock?.release().catch(() => {});
  }
}
