import { button } from "./controls.js";
import { element } from "./element.js";
import { limits } from "../limits.js";

/**
 * Shows one short message at a time, also to screen readers. The message disappears after a
 * timeout, but not while a person points at it or has its button focused; anything that a person
 * must not miss is shown in a view.
 */
export class Notices {
  #browser;
  #timer = null;
  #words = element("span", { role: "status" });
  #place = element("span", {});
  node = element("div", { class: "notice", hidden: true }, this.#words, this.#place);

  constructor(browser) {
    this.#browser = browser;
    for (const event of ["pointerenter", "focusin"]) {
      this.node.addEventListener(event, () => browser.clearTimer(this.#timer));
    }
    for (const event of ["pointerleave", "focusout"]) {
      this.node.addEventListener(event, () => this.#wait());
    }
  }

  /** True while a message with a button is shown, such as "Undo". */
  get isOffering() { return this.#place.childElementCount > 0; }

  /** @param {{words: string, act: () => void} | null} offer a button next to the message */
  show(words, offer = null) {
    this.#browser.clearTimer(this.#timer);
    this.node.hidden = false;
    this.#words.textContent = words;
    this.#place.replaceChildren(...(offer ? [this.#button(offer)] : []));
    this.#wait();
  }

  #wait() {
    this.#browser.clearTimer(this.#timer);
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
