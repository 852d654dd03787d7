import { askToCompare } from "../components/checkWords.js";
import { field, form } from "../components/controls.js";
import { element, setText, show } from "../components/element.js";
import { KeyProgress } from "../components/keyProgress.js";
import { codeIn, halvesOf } from "../text/deviceText.js";
import { errorText, lockText } from "../text/syncText.js";
import { SecondHalfCard } from "../welcome/secondHalfCard.js";

/** More letters are no code. */
const codeLetters = 30;

/** Card that takes the account's keys, in a browser that does not have them. The browser joins the
 * account again, and keeps its records and changes. */
export class KeysCard {
  #controller;
  #joined;
  #why = element("p", { class: "muted" });
  #code = element("input", { type: "text", autocomplete: "off", autocapitalize: "off",
    spellcheck: "false", class: "code-input", maxlength: 400 });
  #problem = element("p", { class: "problem", role: "alert", hidden: true });
  #go = element("button", { type: "submit", class: "button primary" }, "Open");
  #progress;
  #secondHalf;
  #form;

  /** `joined` is called once the browser has the keys. */
  constructor(controller, joined) {
    this.#controller = controller;
    this.#joined = joined;
    this.#progress = new KeyProgress(
      controller.browser.keyWorker, "Opening the account's keys…");
    this.#secondHalf = new SecondHalfCard(this.#progress);
    this.#form = form({ class: "card stack", "aria-labelledby": "keys-title" }, () => this.#take(),
      element("h2", { id: "keys-title" }, "Open the account's keys"), this.#why,
      field("Whole code, or recovery phrase", this.#code,
        "A code has 24 letters, which a device with the keys shows under Devices, or prints with "
          + "lockstep agent pair. The phrase has 17 words, for when all other devices are lost."),
      this.#problem, this.#progress.node, this.#go);
    this.node = element("div", { hidden: true }, this.#form, this.#secondHalf.node);
  }

  show() {
    const { needsKeys, lockedZones } = this.#controller.status;
    show(this.node, needsKeys);
    setText(this.#why, lockedZones.length > 0 ? lockText(lockedZones)
      : "Another device has made keys, to seal records of this account.");
  }

  leave() {
    this.#secondHalf.cancel();
    this.#code.value = "";
    show(this.#problem, false);
  }

  async #take() {
    const typed = this.#code.value;
    const code = codeIn(typed);
    // Also with too few words: what is wrong with them is told.
    const isPhrase = typed.replace(/[^a-z]/giu, "").length > codeLetters;
    if (!isPhrase && (!code || halvesOf(code)[1] === "")) {
      this.#showProblem(
        "A whole code has 24 letters and digits, in groups of four; the phrase has 17 words.");
      this.#code.focus();
      return;
    }
    show(this.#problem, false);
    this.#go.disabled = true;
    try {
      if (isPhrase) await this.#restore(typed);
      else await this.#progress.during(() => this.#join(code));
      const words = await this.#controller.lockstep.checkWords();
      if (words && !isPhrase) askToCompare(words);
    } catch (error) {
      this.#showProblem(errorText(error));
    }
    this.#go.disabled = false;
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
      await lockstep.join(code, { deviceName: own?.deviceName ?? "Browser" }, { askSecondHalf });
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
