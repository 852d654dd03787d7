import { button } from "./controls.js";
import { element } from "./element.js";
import { limits } from "../limits.js";

/**
 * One short line at a time about what just happened, also for who does not see it. It goes by
 * itself; what must not be missed stands in a view.
 */
export class Notices {
  #browser;
  #timer = null;
  #words = element("span", { role: "status" });
  #place = element("span", {});
  node = element("div", { class: "notice", hidden: true }, this.#words, this.#place);

  constructor(browser) { this.#browser = browser; }

  /** @param {{words: string, act: () => void} | null} offer a button beside the line */
  tell(words, offer = null) {
    this.#browser.clearTimer(this.#timer);
    this.node.hidden = false;
    this.#words.textContent = words;
    this.#place.replaceChildren(...(offer ? [this.#button(offer)] : []));
    this.#timer = this.#browser.setTimer(() => this.#end(), limits.noticeMilliseconds);
  }

  #button({ words, act }) {
    return button(words, () => {
      this.#end();
      act();
    }, { kind: "quiet" });
  }

  #end() {
    this.node.hidden = true;
    this.#words.textContent = "";
    this.#place.replaceChildren();
  }
}
