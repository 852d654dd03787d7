import { button, field, form } from "../page/components/controls.js";
import { element, setText, show } from "../page/components/element.js";
import { labelProblem } from "./accountsModel.js";
import { Action } from "./action.js";
import { CodeCard, validityField } from "./codeCard.js";
import { offerOf } from "./codeModel.js";

/** Form for a new account; then its link. */
export class NewAccountView {
  title = "New account";
  #page;
  #name = element("input", { type: "text", autocomplete: "off", maxlength: 255 });
  #validity = validityField(86_400);
  #make;
  #form;
  #card;
  #done;
  #doneTitle = element("h2", { tabindex: -1 });
  #open = element("a", { class: "button" }, "Open the account");

  constructor(page) {
    this.#page = page;
    this.#card = new CodeCard(page);
    this.#make = new Action("Make the account", () => this.#submit(),
      { kind: "primary", isSubmit: true });
    this.#form = form({ class: "card stack", "aria-label": "New account" },
      () => this.#make.run(),
      field("Name", this.#name, "For you: that of the person, family or team who gets it."),
      this.#validity.node, this.#make.problem,
      element("div", { class: "actions" },
        element("a", { class: "button quiet", href: "#accounts" }, "Cancel"), this.#make.button));
    this.#done = element("section", { class: "card stack", "aria-label": "The new account",
      hidden: true }, this.#doneTitle, this.#card.node,
    element("p", { class: "muted small" }, "If the link is lost, open the account and make a new "
      + "code. Records are sealed by the first device that joins, if it offers that; then you and "
      + "the relay cannot read them."),
    element("div", { class: "actions" }, this.#open,
      button("Another account", () => this.#again())));
    this.node = element("div", { class: "view narrow" },
      element("div", { class: "view-head" }, element("h1", {}, "New account")),
      this.#form, this.#done);
  }

  enter() { this.#again(); }

  /** The code is not longer on the screen than needed. */
  leave() { this.#card.close(); }

  show() { this.#card.show(); }

  #again() {
    this.#card.close();
    this.#name.value = "";
    this.#make.reset();
    show(this.#form, true);
    show(this.#done, false);
    this.#name.focus();
  }

  async #submit() {
    const label = this.#name.value.trim();
    const { accounts } = await this.#page.readAccounts();
    const problem = labelProblem(label, accounts);
    if (problem) {
      this.#make.fail(problem);
      this.#name.focus();
      return;
    }
    const seconds = Number(this.#validity.input.value);
    const offer = offerOf(await this.#page.calls.createAccount(label, seconds));
    setText(this.#doneTitle, `“${label}” is made`);
    this.#open.href = `#account/${offer.accountID}`;
    this.#card.open(offer, label);
    show(this.#form, false);
    show(this.#done, true);
    this.#doneTitle.focus();
  }
}
