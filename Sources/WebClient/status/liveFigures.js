import { figuresOf } from "./figures.js";
import { History } from "./history.js";
import { RelayAvailability } from "./relayAvailability.js";
import { View, uptimeText } from "./view.js";

const intervalMilliseconds = 1_000;
/** Timeout of a request. */
const timeoutMilliseconds = 3_000;
const gapSeconds = 6;
/** Three minutes of samples. */
const samples = 181;
/** Maximum length; a relay's metrics have some 15 kB. */
const charactersMax = 1 << 20;

/** Figures of a relay in a page: requests its metrics once a second, and shows them. */
export class LiveFigures {
  #request;
  #answer;
  #pause;
  #history = new History(samples);
  #view;
  #availability = new RelayAvailability((wall) =>
    new Date(wall).toLocaleTimeString([], { hourCycle: "h23" }));
  #timer;
  #isRunning = false;
  #isAsking = false;
  #askedAt = null;

  /**
   * @param {{root: Element, answer: Element, pause: Element,
   *   request: (signal: AbortSignal) => Promise<Response>}} parts `root` has the elements that
   *   are filled; `answer` shows if the relay answers; `request` asks for the metrics
   */
  constructor({ root, answer, pause, request }) {
    this.#request = request;
    this.#answer = answer;
    this.#pause = pause;
    this.#view = new View({ document, root, places: samples });
    pause.addEventListener("click", () => this.#pauseOrGoOn());
    document.addEventListener("visibilitychange", () => this.#schedule());
  }

  start() {
    this.#isRunning = true;
    if (!this.#isAsking) this.#requestAndShow();
  }

  stop() {
    this.#isRunning = false;
    this.#schedule();
  }

  async #requestAndShow() {
    this.#isAsking = true;
    try {
      this.#markGap();
      await this.#sample();
      this.#view.show(this.#history);
      this.#showAvailability();
    } finally {
      this.#isAsking = false;
      this.#schedule();
    }
  }

  async #sample() {
    try {
      const { text, wall } = await this.#metrics();
      const figures = figuresOf(text);
      this.#history.add(performance.now() / 1_000, figures);
      this.#availability.answered(Date.now());
      this.#view.showUptime(uptimeText(figures.startedAt, wall));
    } catch (fault) {
      this.#history.add(performance.now() / 1_000, null);
      this.#availability.failed(Date.now());
      this.#answer.title = fault.message;
    }
  }

  /** Adds a gap to the lines after a time without requests, about which nothing is known. */
  #markGap() {
    const now = performance.now() / 1_000;
    if (this.#askedAt !== null && now - this.#askedAt > gapSeconds) {
      this.#history.add(now, null);
      this.#view.show(this.#history);
    }
    this.#askedAt = now;
  }

  /** Returns the metrics and the time of the relay's clock in seconds, which may differ from this
   * machine's. */
  async #metrics() {
    const response = await this.#request(AbortSignal.timeout(timeoutMilliseconds));
    if (!response.ok) throw new Error(`the relay answered with ${response.status}`);
    const text = await response.text();
    if (text.length > charactersMax) throw new Error("the answer is too long to be metrics");
    return { text, wall: Date.parse(response.headers.get("Date")) / 1_000 };
  }

  /** Schedules the next request; not while the page is hidden or paused. */
  #schedule() {
    clearTimeout(this.#timer);
    const isDue = this.#isRunning && !this.#isAsking && !this.#availability.isPaused
      && !document.hidden;
    if (isDue) this.#timer = setTimeout(() => this.#requestAndShow(), intervalMilliseconds);
  }

  #showAvailability() {
    const { state, words, isSilent } = this.#availability;
    this.#view.setOld(isSilent);
    this.#answer.dataset.state = state;
    if (!isSilent) this.#answer.removeAttribute("title");
    if (this.#answer.textContent !== words) this.#answer.textContent = words;
  }

  #pauseOrGoOn() {
    this.#availability.isPaused = !this.#availability.isPaused;
    this.#pause.setAttribute("aria-pressed", String(this.#availability.isPaused));
    this.#showAvailability();
    this.#schedule();
  }
}
