import { askToCompare } from "../components/checkWords.js";
import { field, form, newID } from "../components/controls.js";
import { element, setText, show } from "../components/element.js";
import { KeyProgress } from "../components/keyProgress.js";
import { t } from "../language/language.js";
import { codeIn, halvesOf } from "../text/deviceText.js";
import { isPhrase, phraseProblem, phraseProgress } from "../text/phraseText.js";
import { errorText } from "../text/errorText.js";
import { lockText } from "../text/syncText.js";
import { SecondHalfCard } from "../welcome/secondHalfCard.js";

/** Card that takes the account's keys, in a browser that does not have them: by the phrase, or by a
 * whole code, with which the browser joins the account again, and keeps its records and changes. */
export class KeysCard {
  #controller;
  #joined;
  #why = element("p", { class: "muted" });
  #code = element("textarea", { rows: 4, autocomplete: "off", autocapitalize: "none",
    autocorrect: "off", spellcheck: "false", class: "phrase-input", maxlength: 800,
    on: { input: () => this.#showProgress() } });
  #count = element("p", { class: "muted small", role: "status", hidden: true });
  #problem = element("p", { class: "problem", role: "alert", hidden: true });
  #go = element("button", { type: "submit", class: "button primary" }, t("Open"));
  #progress;
  #secondHalf;
  #form;

  /** @param {() => void} joined called once the browser has the keys
   * @param {HTMLElement} [later] a wide button, for a person who does not open the account now */
  constructor(controller, joined, later) {
    this.#controller = controller;
    this.#joined = joined;
    const title = newID("keys-title");
    this.#progress = new KeyProgress(
      controller.browser.keyWorker, t("Opening the account's keys…"));
    this.#secondHalf = new SecondHalfCard(this.#progress);
    this.#form = form({ class: "card stack", "aria-labelledby": title }, () => this.#take(),
      element("h2", { id: title }, t("Open the account")), this.#why,
      field(t("Recovery phrase, or whole code"), this.#code,
        t("The phrase has 17 words, for when all other devices are lost. A code has 24 letters: a "
          + "device that has the account shows it under Devices, or prints it with lockstep agent "
          + "pair.")),
      this.#count, this.#problem, this.#progress.node, this.#go, later);
    if (later) this.#go.classList.add("wide");
    this.node = element("div", { class: "keys", hidden: true }, this.#form, this.#secondHalf.node);
  }

  /** @param {string | null} [words] why the keys are needed; null for what the status says */
  show(words = null) {
    const { needsKeys, lockedZones } = this.#controller.status;
    show(this.node, needsKeys);
    setText(this.#why, words ?? (lockedZones.length > 0 ? lockText(lockedZones)
      : t("Another device has made keys, to seal records of this account.")));
  }

  focus() { this.#code.focus(); }

  leave() {
    this.#secondHalf.cancel();
    this.#code.value = "";
    this.#showProgress();
    show(this.#problem, false);
  }

  #showProgress() {
    const words = phraseProgress(this.#code.value);
    setText(this.#count, words);
    show(this.#count, words !== "");
  }

  async #take() {
    const typed = this.#code.value;
    const code = codeIn(typed);
    // Also with too few words: what is wrong with them is told.
    const hasPhrase = isPhrase(typed);
    const isCode = code !== null && halvesOf(code)[1] !== "";
    const problem = hasPhrase ? phraseProblem(typed) : isCode ? null
      : t("The phrase has 17 words. A whole code has 24 letters and digits, in groups of four.");
    if (problem !== null) {
      this.#showProblem(problem);
      this.#code.focus();
      return;
    }
    show(this.#problem, false);
    this.#go.disabled = true;
    try {
      if (hasPhrase) await this.#restore(typed);
      else await this.#progress.during(() => this.#join(code));
      const words = await this.#controller.lockstep.checkWords();
      if (words && !hasPhrase) askToCompare(words);
    } catch (error) {
      this.#showProblem(errorText(error));
    }
    this.#go.disabled = false;
    this.#showProgress();
    this.#joined();
  }

  async #restore(phrase) {
    await this.#controller.lockstep.restoreKeys(phrase);
    this.#code.value = "";
  }

  async #join(code) {
    const { lockstep, devices, status } = this.#controller;
    const own = devices.find(({ deviceID }) => deviceID === status.deviceID);
    const askSecondHalf = (question) => {
      show(this.#form, false);
      return this.#secondHalf.ask(question);
    };
    try {
      await lockstep.join(code, { deviceName: own?.deviceName ?? t("Browser") }, { askSecondHalf });
    } finally {
      this.#code.value = "";
      this.#secondHalf.hide();
      this.#go.before(this.#progress.node);
      show(this.#form, true);
    }
  }

  #showProblem(words) {
    setText(this.#problem, words);
    show(this.#problem, true);
  }
}
