import { button, field, form } from "../components/controls.js";
import { element, setText, show } from "../components/element.js";
import { limits } from "../limits.js";
import { codeToSend } from "../words/pairingCode.js";
import { problemWords } from "../words/problem.js";

/** The first thing a person sees: this browser becomes a device of an account. */
export class WelcomeView {
  title = "Welcome";
  #desk;
  #code = element("input", { type: "text", autocomplete: "off", autocapitalize: "characters",
    spellcheck: "false", placeholder: "XXXX-XXXX-XXXX", class: "code-input", maxlength: 200 });
  #name = element("input", { type: "text", autocomplete: "off", maxlength: limits.deviceName });
  #problem = element("p", { class: "problem", role: "alert", hidden: true });
  #pair = element("button", { type: "submit", class: "button primary wide" }, "Pair");
  #create = button("Make a new account", () => this.#join(null), { class: "button wide" });
  #lead = element("p", { class: "lead" });
  #why = element("p", { class: "problem", hidden: true });

  constructor(desk, name) {
    this.#desk = desk;
    this.#name.value = name;
    this.node = element("section", { class: "welcome", "aria-labelledby": "welcome-title" },
      element("img", { src: "page/icons/icon.svg", alt: "", width: 56, height: 56 }),
      element("h1", { id: "welcome-title" }, "Lockstep"),
      this.#lead, this.#why,
      form({ class: "card stack" }, () => this.#pairByCode(),
        field("Pairing code", this.#code, "From a device that is in the account already."),
        field("This browser's name", this.#name),
        this.#problem, this.#pair,
        element("p", { class: "or" }, element("span", {}, "or")),
        this.#create,
        element("p", { class: "hint centered" },
          "No name, no password: the account lives on your devices.")));
    this.#lead.textContent = "A timer, a clipboard, memos and habits, in step on all your devices.";
  }

  /** A link was opened that has a code. One press is asked all the same: somebody else may have
   * sent it. */
  offer(code) {
    this.#code.value = codeToSend(code) ?? code;
    setText(this.#lead, "A link brought a pairing code. Press Pair to join that account.");
  }

  show() {
    const { accountID, reason } = this.#desk.status;
    // It was a device, and the relay knows it no more.
    const wasDevice = accountID !== null;
    show(this.#why, wasDevice);
    if (wasDevice) {
      setText(this.#why, `This browser is not a device of its account any more: ${reason} `
        + "Pair it again to go on; what it holds and has not sent stays here.");
    }
  }

  async #pairByCode() {
    const code = codeToSend(this.#code.value);
    if (code) return this.#join(code);
    this.#complain("That is no pairing code: one has 12 letters and digits, in groups of four.");
    this.#code.focus();
  }

  async #join(code) {
    const { lockstep } = this.#desk;
    const deviceName = this.#name.value.trim() || "Browser";
    show(this.#problem, false);
    this.#setBusy(true);
    try {
      if (code) await lockstep.pair(code, { deviceName });
      else await lockstep.createAccount({ deviceName });
      this.#code.value = "";
    } catch (error) {
      this.#complain(problemWords(error));
    }
    this.#setBusy(false);
  }

  #setBusy(isBusy) {
    for (const it of [this.#pair, this.#create]) it.disabled = isBusy;
    setText(this.#pair, isBusy ? "One moment…" : "Pair");
  }

  #complain(words) {
    this.#problem.textContent = words;
    show(this.#problem, true);
  }
}
