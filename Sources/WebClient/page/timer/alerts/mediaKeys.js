/** The timer's order for each action of the browser's media session. */
const orders = { play: "resume", pause: "pause", nexttrack: "skip", stop: "stop" };

/**
 * Media keys and the system's media controls, where a browser gives them to the page: they pause,
 * resume, skip and stop the countdown. The page plays nothing to get them, because that would
 * interrupt a person's music.
 */
export class MediaKeys {
  #session;
  #act;
  #shown = null;

  /**
   * @param {MediaSession | undefined} session
   * @param {(order: string) => Promise<unknown>} act fails if the order is not valid any more
   */
  constructor(session, act) {
    this.#session = session;
    this.#act = act;
  }

  /** @param {object} model of `timerModel` */
  update({ phase, stateType, isPaused, orders: valid }) {
    if (!this.#session) return;
    const names = valid.map((it) => it.do);
    const shown = [phase, isPaused, ...names].join("\n");
    if (shown === this.#shown) return;
    this.#shown = shown;
    const isIdle = stateType === "idle";
    this.#session.metadata = isIdle ? null
      : new MediaMetadata({ title: phase, artist: "Lockstep" });
    this.#session.playbackState = isIdle ? "none" : isPaused ? "paused" : "playing";
    for (const [action, order] of Object.entries(orders)) {
      this.#handle(action, !isIdle && names.includes(order)
        ? () => { this.#act(order).catch(() => {}); } : null);
    }
  }

  #handle(action, handler) {
    try {
      this.#session.setActionHandler(action, handler);
    } catch {
      // The browser does not know the action.
    }
  }
}
