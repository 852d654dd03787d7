import { button } from "../page/components/controls.js";
import { element, setText, show } from "../page/components/element.js";
import { dayAt } from "../page/text/time.js";
import { count } from "../status/format.js";
import { roomOf } from "./accountsModel.js";
import { AccountArchive, archiveName, ExportEnded } from "./accountArchive.js";
import { Action } from "./action.js";
import { amount } from "./amount.js";
import { limits } from "./limits.js";

/** Export of an account as a file. */
export class ExportCard {
  #page;
  #account = null;
  #ending = null;
  #progress = element("p", { class: "muted small", role: "status" });
  #begin = new Action("Export the account", () => this.#export());
  #end = button("Stop", () => this.#ending?.abort(), { kind: "quiet", hidden: true });

  constructor(page) {
    this.#page = page;
    this.node = element("section", { class: "card stack", "aria-labelledby": "export-title" },
      element("h2", { id: "export-title" }, "Export"),
      element("p", { class: "muted" }, "One .tar file with all records, devices and files, as "
        + "lockstep account export writes them. Sealed records stay sealed: the account's own "
        + "devices alone can read them."),
      this.#progress, this.#begin.problem,
      element("div", { class: "actions start" }, this.#begin.button, this.#end));
  }

  /** @param {ReturnType<import("./accountsModel.js").accountOf>} account */
  show(account) { this.#account = account; }

  /** Ends an export that runs, and forgets it. */
  reset() {
    this.#ending?.abort();
    this.#ending = null;
    this.#begin.reset();
    show(this.#end, false);
    setText(this.#progress, "");
  }

  async #export() {
    const { calls, browser } = this.#page;
    const ending = new AbortController();
    if (roomOf(this.#account) > limits.exportBytes) {
      this.#begin.fail("The account has more than 4 GiB, which is too much for a browser. On the "
        + `relay's machine, run: lockstep account export ${this.#account.id} FOLDER`);
      return;
    }
    this.#ending = ending;
    show(this.#end, true);
    setText(this.#progress, "Reading the account …");
    try {
      const account = await calls.account(this.#account.id);
      const archive = await new AccountArchive({ calls, account, now: browser.now,
        signal: ending.signal, show: (words) => this.#tell(ending, words) }).pack();
      if (ending.signal.aborted) throw new ExportEnded();
      const { now, minutesAhead } = this.#page;
      this.#save(archive.blob, archiveName(account, dayAt(now, minutesAhead)));
      this.#tell(ending, doneText(archive));
    } catch (error) {
      this.#tell(ending, "");
      if (!(error instanceof ExportEnded)) throw error;
      if (this.#ending === ending) setText(this.#progress, "Stopped. No file was made.");
    } finally {
      if (this.#ending === ending) show(this.#end, false);
    }
  }

  #tell(ending, words) {
    if (!ending.signal.aborted) setText(this.#progress, words);
  }

  #save(blob, name) {
    const url = URL.createObjectURL(blob);
    element("a", { href: url, download: name }).click();
    this.#page.browser.setTimer(() => URL.revokeObjectURL(url), limits.downloadMilliseconds);
  }
}

function doneText({ records, chunks, sealed }) {
  const files = chunks === 0 ? "" : ` and ${amount(chunks, "chunk")} of files`;
  const seals = sealed === 0 ? ""
    : ` ${count(sealed)} of them ${sealed === 1 ? "is" : "are"} sealed.`;
  return `Done: ${amount(records, "record")}${files}.${seals}`;
}
