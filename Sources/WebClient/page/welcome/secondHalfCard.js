import { button, field, form } from "../components/controls.js";
import { element, setText, show } from "../components/element.js";
import { t, tCount } from "../language/language.js";
import { codeIn } from "../text/deviceText.js";

/** Card that asks for the second half of a code, which opens the account's keys. */
export class SecondHalfCard {
  #input = element("input", { type: "text", autocomplete: "off", autocapitalize: "characters",
    spellcheck: "false", placeholder: "XXXX-XXXX-XXXX", class: "code-input", maxlength: 200 });
  #problem = element("p", { class: "problem", role: "alert", hidden: true });
  #go = element("button", { type: "submit", class: "button primary wide" },
    t("Open the account"));
  #stop = button(t("Cancel"), () => this.cancel(), { class: "button wide" });
  /** Ends the question that is open. */
  #answer = null;
  #progress;
  node;

  /** @param {import("../components/keyProgress.js").KeyProgress} progress shown in this card while
   * it is open */
  constructor(progress) {
    this.#progress = progress;
    this.node = form({ class: "card stack", hidden: true }, () => this.#submit(),
      element("h2", {}, t("The code's second half")),
      element("p", {}, t("The relay cannot read this account. Type the last 12 letters of the "
        + "code that the other device shows: they open the account, and stay in this browser.")),
      field(t("Second half"), this.#input),
      this.#problem, this.#go, this.#stop);
  }

  /**
   * Shows the question. Resolves with the typed text, or with null if the person cancels.
   *
   * @param {{isWrong: boolean, triesLeft: number}} question
   */
  ask({ isWrong, triesLeft }) {
    show(this.node, true);
    this.#go.before(this.#progress.node);
    this.#setBusy(false);
    show(this.#problem, isWrong);
    if (isWrong) {
      this.#showProblem(tCount(triesLeft,
        "That is not the second half of this code. Compare it with the other device: {count} try "
          + "left.",
        "That is not the second half of this code. Compare it with the other device: {count} tries "
          + "left."));
    }
    this.#input.focus();
    this.#input.select();
    return new Promise((resolve) => { this.#answer = resolve; });
  }

  /** Cancels the question, if one is open. */
  cancel() { this.#end(null); }

  hide() {
    this.#input.value = "";
    show(this.node, false);
  }

  #submit() {
    if (codeIn(this.#input.value)) this.#end(this.#input.value);
    else this.#showProblem(t("The second half has 12 letters and digits, in groups of four."));
  }

  #end(answer) {
    if (!this.#answer) return;
    this.#setBusy(true);
    this.#answer(answer);
    this.#answer = null;
  }

  #setBusy(isBusy) {
    for (const it of [this.#input, this.#go, this.#stop]) it.disabled = isBusy;
  }

  #showProblem(words) {
    setText(this.#problem, words);
    show(this.#problem, true);
  }
}
