import { button } from "../page/components/controls.js";
import { element, setAttribute, setText, show } from "../page/components/element.js";
import { faultText } from "./ownerFault.js";

/**
 * Button whose action runs once at a time: a second press has no effect. What fails is shown below.
 * The button keeps the focus.
 */
export class Action {
  #act;
  /** The run that goes on; null if none does. */
  #run = null;
  #button;
  #problem = element("p", { class: "problem", role: "alert", hidden: true });

  /** @param {() => Promise<void>} act @param {{isSubmit?: boolean}} options as of `button` */
  constructor(words, act, { isSubmit = false, ...options } = {}) {
    this.#act = act;
    this.#button = isSubmit
      ? button(words, () => {}, { ...options, type: "submit" })
      : button(words, () => this.run(), options);
  }

  get button() { return this.#button; }

  /** Place of the problem. */
  get problem() { return this.#problem; }

  set words(words) { setText(this.#button, words); }

  async run() {
    if (this.#run !== null) return;
    const run = {};
    this.#begin(run);
    try {
      await this.#act();
    } catch (error) {
      if (this.#run === run) this.fail(faultText(error));
    } finally {
      if (this.#run === run) this.#end();
    }
  }

  /** Shows nothing of a run that goes on: its button is now for something else. */
  reset() {
    this.#end();
    this.fail("");
  }

  #begin(run) {
    this.#run = run;
    setAttribute(this.#button, "aria-disabled", "true");
    this.fail("");
  }

  #end() {
    this.#run = null;
    setAttribute(this.#button, "aria-disabled", null);
  }

  /** Shows a problem as a sentence; hides it if the text is empty. */
  fail(words) {
    setText(this.#problem, words);
    show(this.#problem, words !== "");
  }
}

/**
 * Shows rows that were read again. Equal ones stay the same elements; otherwise the focus goes to
 * the element with the same `data-name`.
 */
export class Rows {
  #parent;
  #make;
  #signature = null;

  /** @param {(row: object) => Element} make `row` has texts alone */
  constructor(parent, make) {
    this.#parent = parent;
    this.#make = make;
  }

  show(rows) {
    const signature = rows.map((row) => Object.values(row).join("\u001f")).join("\u001e");
    if (signature === this.#signature) return;
    this.#signature = signature;
    const focused = document.activeElement;
    const name = this.#parent.contains(focused) ? focused.dataset.name : undefined;
    this.#parent.replaceChildren(...rows.map((row) => this.#make(row)));
    if (name === undefined) return;
    [...this.#parent.querySelectorAll("[data-name]")].find((it) => it.dataset.name === name)
      ?.focus();
  }
}
