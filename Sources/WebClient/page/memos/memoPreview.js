import { element } from "../components/element.js";
import { t } from "../language/language.js";
import { memoBlocks } from "./markdown.js";
import { markdownElements } from "./markdownElements.js";

/** A memo's markdown as it reads, with tasks that a person ticks. */
export class MemoPreview {
  #tick;
  #shown = null;
  node = element("div", { class: "memo-preview", role: "region", "aria-label": t("Preview") });

  /** @param {(at: number, isDone: boolean) => void} tick */
  constructor(tick) { this.#tick = tick; }

  /** Draws the text, unless it is drawn already. */
  show(text, { words, isFixed }) {
    const next = { text, words, isFixed };
    const isSame = this.#shown !== null
      && Object.entries(next).every(([name, value]) => this.#shown[name] === value);
    if (isSame) return;
    this.#shown = next;
    const focused = this.#boxes.indexOf(document.activeElement);
    const blocks = markdownElements(memoBlocks(text),
      { words, tick: isFixed ? null : this.#tick });
    this.node.replaceChildren(...blocks);
    if (focused >= 0) this.#boxes[focused]?.focus();
  }

  /** The elements show this text already, because the person has ticked a task. */
  accept(text) { if (this.#shown !== null) this.#shown = { ...this.#shown, text }; }

  /** Draws the text anew the next time. */
  forget() { this.#shown = null; }

  get #boxes() { return [...this.node.querySelectorAll("input")]; }
}
