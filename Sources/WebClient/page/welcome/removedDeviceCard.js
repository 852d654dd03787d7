import { button } from "../components/controls.js";
import { confirmAction } from "../components/dialog.js";
import { download } from "../components/download.js";
import { element, setText, show } from "../components/element.js";
import { errorText } from "../text/errorText.js";
import { waitingImages } from "../clipboard/imageOutbox.js";
import { t } from "../language/language.js";
import { copyOf, removedDevice, signOutQuestion } from "./welcomeModel.js";

/** Card for a browser that was removed from its account: shows unsent changes, offers a copy and
 * signing out. */
export class RemovedDeviceCard {
  #controller;
  #showProblem;
  #why = element("p", { class: "problem" });
  #title = element("h2", { class: "sync-title" });
  #rows = element("ul", { class: "left-rows" });
  #rest = element("p", { class: "muted small" });
  #hint = element("p", { class: "hint" });
  #save = button(t("Save a copy"), () => this.#saveCopy());
  #unsent = [];
  #shown = "";
  node = element("div", { class: "card stack", hidden: true },
    this.#why, this.#title, this.#rows, this.#rest, this.#hint,
    element("div", { class: "actions" }, this.#save,
      button(t("Sign out of this browser"), () => this.#signOut(), { kind: "danger" })));

  constructor(controller, showProblem) {
    this.#controller = controller;
    this.#showProblem = showProblem;
  }

  show() {
    const { status } = this.#controller;
    // A browser that has just joined is shown here until it is known what the account needs.
    const left = status.state === "needsPairing" ? removedDevice(status, this.#unsent) : null;
    show(this.node, left !== null);
    if (!left) return;
    // The unsent changes are read again when one of these values changes.
    const { accountID, state, waiting, parkedCount, askingCount } = status;
    const now = [accountID, state, waiting, parkedCount, askingCount].join(" ");
    if (now !== this.#shown) {
      this.#shown = now;
      this.#read();
    }
    setText(this.#why, left.why);
    setText(this.#title, left.title);
    this.#rows.replaceChildren(...left.rows.map((row) => element("li", {}, row)));
    setText(this.#rest, t("And {count} more.", { count: left.rest }));
    show(this.#rest, left.rest > 0);
    setText(this.#hint, left.hint);
    show(this.#save, left.rows.length > 0);
  }

  async #read() {
    try {
      this.#unsent = await this.#controller.lockstep.unsent();
    } catch (error) {
      this.#showProblem(errorText(error));
    }
    this.show();
  }

  #saveCopy() {
    download(this.#controller.browser, "lockstep-unsent.json", "application/json",
      copyOf(this.#unsent));
  }

  async #signOut() {
    const { hasUnsent, unsent, ...question } = signOutQuestion(this.#controller.status,
      await waitingImages(this.#controller));
    if (!await confirmAction(question)) return;
    try {
      await this.#controller.lockstep.signOut({ discardUnsent: hasUnsent, offline: true });
    } catch (error) {
      this.#showProblem(errorText(error));
    }
  }
}
