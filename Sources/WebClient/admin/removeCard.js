import { button, field, form } from "../page/components/controls.js";
import { openDialog } from "../page/components/dialog.js";
import { element } from "../page/components/element.js";
import { nameOf } from "./accountsModel.js";
import { Action } from "./action.js";
import { faultText } from "./ownerFault.js";

/** Removal of an account: the person types its name. */
export class RemoveCard {
  #account = null;
  #remove;
  #notify;

  /**
   * @param {(account: object) => Promise<void>} remove
   * @param {(words: string) => void} notify tells of a failure after the question was closed
   */
  constructor(remove, notify) {
    this.#remove = remove;
    this.#notify = notify;
    this.node = element("section", { class: "card stack", "aria-labelledby": "remove-title" },
      element("h2", { id: "remove-title" }, "Remove the account"),
      element("p", { class: "muted" }, "All its records, files and devices are deleted on the "
        + "relay, for good. Export it first, if somebody may want it back."),
      element("div", { class: "actions start" },
        button("Remove …", () => this.#ask(), { kind: "danger" })));
  }

  show(account) { this.#account = account; }

  #ask() {
    const account = this.#account;
    const wanted = account.label === "" ? account.id : account.label;
    const input = element("input", { type: "text", autocomplete: "off", spellcheck: "false",
      autocapitalize: "off" });
    const action = new Action("Remove for good", async () => {
      if (input.value.trim() !== wanted.trim()) {
        action.fail(`That is not “${wanted}”. Nothing was removed.`);
        input.focus();
        return;
      }
      await this.#removeFrom(dialog, account);
    }, { kind: "danger", isSubmit: true });
    const dialog = openDialog(`Remove “${nameOf(account)}”?`, [
      element("p", {}, "This cannot be undone. The devices keep what they hold, and can no longer "
        + "sync it."),
      form({ class: "stack" }, () => action.run(),
        field(`Type ${account.label === "" ? "its id" : "its name"} to confirm: ${wanted}`, input),
        action.problem,
        element("div", { class: "actions" },
          button("Cancel", () => dialog.close()), action.button)),
    ]);
    dialog.addEventListener("close", () => dialog.remove());
    input.focus();
  }

  /** The person may close the question while a large account is being removed. */
  async #removeFrom(dialog, account) {
    try {
      await this.#remove(account);
      dialog.close();
    } catch (error) {
      if (dialog.open) throw error;
      this.#notify(`“${nameOf(account)}” is not removed. ${faultText(error)}`);
    }
  }
}
