import { nextSecond } from "../../apps/timer/timerScreen.js";
import { button } from "../components/controls.js";
import { element, setAttribute, setText } from "../components/element.js";
import { currentLanguage, t } from "../language/language.js";

/** Size of the window in CSS pixels; a person can change it. */
const size = Object.freeze({ width: 280, height: 190 });
/** Interval in which the window looks for a countdown that was begun elsewhere. */
const idleMilliseconds = 1_000;

/**
 * Countdown in a small window that stays above all others, where the browser has such windows
 * (Document Picture-in-Picture). It has the timer's first two actions.
 */
export class FloatingCountdown {
  #browser;
  #act;
  #read;
  #window = null;
  #orders = "";
  #phase = element("p", { class: "timer-phase" });
  #time = element("p", { class: "timer-time", role: "timer", "aria-live": "off" });
  #buttons = element("div", { class: "timer-orders" });

  /**
   * @param {{floatingWindows?: object, setTimerIn: Function, styleSheets: () => string[]}}
   *   browser `floatingWindows` is missing where there are none
   * @param {{act: (order: string) => void, read: () => {model: object, now: number, isFixed:
   *   boolean}}} timer `read` returns the timer's display and relay time; `isFixed`: this device
   *   may not change the timer
   */
  constructor(browser, { act, read }) {
    this.#browser = browser;
    this.#act = act;
    this.#read = read;
  }

  get isAvailable() { return this.#browser.floatingWindows !== undefined; }

  /** Opens the window, or closes it. Call it in the handler of a press. */
  async toggle() {
    if (this.#window !== null) {
      this.#window.close();
      return;
    }
    const opened = await this.#browser.floatingWindows.requestWindow({ ...size });
    this.#window = opened;
    const { document } = opened;
    document.title = t("Timer");
    document.documentElement.lang = currentLanguage();
    document.head.append(...this.#browser.styleSheets().map((href) =>
      element("link", { rel: "stylesheet", href })));
    document.body.className = "floating";
    document.body.append(element("main", { class: "timer" }, this.#phase, this.#time,
      this.#buttons));
    opened.addEventListener("pagehide", () => {
      this.#window = null;
      this.#orders = "";
    });
    this.#tick(opened);
  }

  /** Counts by a timer of the window: those of the page are slow while the page is hidden. */
  #tick(opened) {
    if (this.#window !== opened) return;
    this.show();
    const { model: { zeroAt }, now } = this.#read();
    const next = zeroAt === null ? now + idleMilliseconds : nextSecond(zeroAt, now);
    this.#browser.setTimerIn(opened, () => this.#tick(opened), next - now);
  }

  /** Call it after a change of the timer, too. */
  show() {
    if (this.#window === null) return;
    const { model, isFixed } = this.#read();
    setText(this.#phase, model.phase);
    setText(this.#time, model.time);
    setAttribute(this.#time, "data-long", model.time.length > 5);
    const orders = isFixed ? [] : model.orders.slice(0, 2);
    const names = orders.map((it) => it.words).join("\n");
    if (names === this.#orders) return;
    this.#orders = names;
    this.#buttons.replaceChildren(...orders.map(({ do: order, words }, index) =>
      button(words, () => this.#act(order),
        { kind: index === 0 ? "primary" : "secondary" })));
  }
}
