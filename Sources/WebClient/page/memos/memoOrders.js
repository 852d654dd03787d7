import { memosApp } from "../../apps/memos/memosApp.js";
import { t } from "../language/language.js";
import { deviceLabel } from "../text/deviceText.js";
import { isReadOnly } from "../text/scopeText.js";
import { errorText } from "../text/errorText.js";
import { ago } from "../text/time.js";
import { askToKeep, chooseVersion } from "./memoDialogs.js";
import { typedText } from "./memosModel.js";

/** Orders of a person for a memo as a whole: to delete it, to undo that, to decide between two
 * versions, and to restore a former one. */
export class MemoOrders {
  #controller;
  #library;
  #drafts;
  #versions;
  #notify;
  #open;

  /** @param {object} parts `open(name)` opens a memo in the editor */
  constructor(controller, { library, drafts, versions, notify, open }) {
    this.#controller = controller;
    this.#library = library;
    this.#drafts = drafts;
    this.#versions = versions;
    this.#notify = notify;
    this.#open = open;
  }

  /** Deletes a memo and its draft, and offers to undo it. Resolves with true if it is deleted. */
  async remove(name) {
    const record = this.#controller.lockstep.record(memosApp.zone, name);
    const draft = this.#drafts.of(name);
    if (record === null && draft === null) return false;
    try {
      const versions = await this.#versions.of(name);
      if (record !== null) await this.#controller.act(memosApp, { do: "remove", memo: name });
      if (draft !== null) await this.#drafts.remove(draft.id);
      const words = record === null ? t("The draft is deleted.")
        : t("Deleted on all devices.");
      this.#notify(words,
        { words: t("Undo"), act: () => this.#restore(name, { record, versions, draft }) });
      return true;
    } catch (error) {
      this.#notify(errorText(error));
      return false;
    }
  }

  async #restore(name, { record, versions, draft }) {
    await this.#act(async () => {
      if (record !== null) {
        const { fields } = record;
        await this.#controller.act(memosApp, { do: "restore", memo: name, fields });
        await this.#versions.keep(versions);
      }
      if (draft !== null) await this.#drafts.keep(draft);
      await this.#openIfThere(name);
      this.#notify(record === null ? t("The draft is back.") : t("The memo is back."));
    });
  }

  /** @param {object} conflict as `conflictNote` returns it */
  async decide({ memo, copy }) {
    const keep = memo === null ? "both" : await askToKeep({
      memo: this.#described(memo), copy: this.#described(copy), isFixed: this.#isFixed,
    });
    if (keep === null) return;
    await this.#act(async () => {
      // Neither text is lost.
      const until = this.#controller.now;
      const lost = { this: copy, other: memo }[keep];
      if (lost) await this.#keepText(memo.name, lost, until);
      const records = await this.#controller.act(memosApp, { do: "resolve", copy: copy.name, keep,
        was: memo?.content ?? "", copyWas: copy.content });
      const own = records.find(({ name, fields }) => fields !== null && name !== memo?.name);
      await this.#openIfThere(memo?.name ?? own?.name);
      this.#notify({ this: t("This version is kept."), other: t("The other version is kept."),
        both: t("Both are kept, each as a memo.") }[keep]);
    });
  }

  /** Shows the former versions of a memo. */
  async showVersions({ name }) {
    await this.#act(async () => {
      const found = await this.#versions.of(name);
      const memo = this.#library.memo(name);
      if (memo === null) return;
      const versions = found.map((version) => ({
        text: typedText(version.content), about: this.#about(version), content: version.content,
      }));
      const chosen = await chooseVersion(versions,
        { ...this.#described(memo), isFixed: this.#isFixed });
      if (chosen) await this.#restoreText(name, memo.content, chosen.content);
    });
  }

  /** Writes a former text as a new edit, and offers to undo it. */
  async #restoreText(name, was, content) {
    await this.#write(name, was, content);
    const undo = async () => {
      await this.#write(name, content, was);
      this.#notify(t("Undone."), null);
    };
    this.#notify(t("Restored."), { words: t("Undo"), act: () => this.#act(undo) });
  }

  async #write(name, was, content) {
    const memo = this.#library.memo(name);
    if (memo !== null) await this.#keepText(name, memo, this.#controller.now);
    await this.#controller.act(memosApp, { do: "edit", memo: name, was, content });
  }

  /** In a tab that does not lead, a new memo may come a moment later. */
  async #openIfThere(name) {
    if (name === undefined) return;
    const isThere = this.#library.memo(name) !== null || this.#drafts.of(name) !== null;
    if (isThere) await this.#open(name);
  }

  #keepText(name, { content, modifiedAt, device }, until) {
    return this.#versions.keep([{ memo: name, content, modifiedAt, device, until }]);
  }

  get #isFixed() {
    const { scope, lockedZones } = this.#controller.status;
    return isReadOnly(scope) || lockedZones.includes(memosApp.zone);
  }

  #described(memo) { return { text: typedText(memo.content), about: this.#about(memo) }; }

  #about({ modifiedAt, device }) {
    const { now, minutesAhead } = this.#controller;
    const names = this.#controller.state(memosApp).deviceNames;
    const name = Object.hasOwn(names, device) ? names[device] : device;
    return t("{when}, by {device}",
      { when: ago(modifiedAt, now, minutesAhead), device: deviceLabel(device, name) });
  }

  async #act(act) {
    try {
      await act();
    } catch (error) {
      this.#notify(errorText(error));
    }
  }
}
