import { field, form } from "../page/components/controls.js";
import { element, setText, show } from "../page/components/element.js";
import { Action } from "./action.js";
import { signInCode } from "./codeModel.js";

/** View of a person who has not signed in. */
export class SignInView {
  title = "Sign in";
  #signIn;
  #note = element("p", { class: "sign-in-note", role: "status", hidden: true });
  #link = element("input", { type: "text", autocomplete: "off", autocapitalize: "off",
    spellcheck: "false", maxlength: 400 });
  #go;

  /** @param {(code: string) => Promise<void>} signIn */
  constructor(signIn) {
    this.#signIn = signIn;
    this.#go = new Action("Sign in", () => this.#submit(), { kind: "primary", isSubmit: true });
    this.node = element("div", { class: "sign-in stack" },
      element("h1", {}, "The owner's page"),
      this.#note,
      form({ class: "card stack", "aria-labelledby": "sign-in-title" }, () => this.#go.run(),
        element("h2", { id: "sign-in-title" }, "Sign in with a link"),
        element("p", {}, "There is no password. On the relay's machine, as the relay's user or "
          + "root, run:"),
        element("pre", { class: "command", tabindex: 0, role: "region", "aria-label": "Command" },
          element("code", {}, "sudo lockstep relay admin")),
        element("p", { class: "muted" }, "It prints a link that works once, within 10 minutes. "
          + "Open it in this browser, or paste it here. Without the packages, give your store, "
          + "too: lockstep relay admin --store STORE."),
        field("Link or code", this.#link), this.#go.problem,
        element("div", { class: "actions" }, this.#go.button)));
  }

  enter() { this.#link.value = ""; }

  /** Shows why the person is here. @param {string} words empty: nothing to say */
  tell(words) {
    setText(this.#note, words);
    show(this.#note, words !== "");
  }

  fail(words) { this.#go.fail(words); }

  async #submit() {
    const code = signInCode(this.#link.value);
    if (code === null) {
      this.#go.fail("That is no link to this page: it ends with #code= and some 27 letters.");
      this.#link.focus();
      return;
    }
    await this.#signIn(code);
  }
}
