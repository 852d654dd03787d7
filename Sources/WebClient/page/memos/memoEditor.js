import { memosApp } from "../../apps/memos/memosApp.js";
import { isBlank } from "../../apps/edit.js";
import { iconButton } from "../components/controls.js";
import { confirmAction } from "../components/dialog.js";
import { element, setText, show } from "../components/element.js";
import { limits } from "../limits.js";
import { isReadOnly } from "../text/scopeText.js";
import { errorText } from "../text/syncText.js";
import { memoNamed, typedText } from "./memosModel.js";

/**
 * Editor of one memo. Saves when typing pauses, and when the person leaves. If another device
 * changes the memo meanwhile, the editor shows the change at once if it has no unsaved text;
 * otherwise both texts are kept.
 */
export class MemoEditor {
  #controller;
  #notify;
  #opened;
  #isOpen = false;
  #name = null;
  /** The text that the person began to change. */
  #was = "";
  /** The stamp of that text; null until the memo is among the records, which in a tab that does not
   * lead may be a moment after it was made. */
  #seenAt = null;
  #rest = null;
  /** Saves run one after the other: the next begins with the result of the last. */
  #saving = Promise.resolve();
  #text = element("textarea", { class: "memo-text", "aria-label": "Memo", spellcheck: "true",
    placeholder: "The first line is the title" });
  #saved = element("p", { class: "muted small memo-saved" });
  #copy = element("p", { class: "badge" });
  #remove = iconButton("remove", "Delete this memo", () => this.remove(this.#name),
    { "data-changes": true });
  node = element("div", { class: "memo-editor card", hidden: true },
    element("div", { class: "memo-bar" },
      iconButton("back", "Back to the list", () => this.close(),
        { class: "icon-button memo-back" }),
      this.#copy, this.#saved, this.#remove),
    this.#text);

  /** @param {(name: string | null) => void} opened called when another memo is opened, or none */
  constructor(controller, notify, opened) {
    this.#controller = controller;
    this.#notify = notify;
    this.#opened = opened;
    this.#text.addEventListener("input", () => this.#typed());
    this.#text.addEventListener("blur", () => this.#save());
    addEventListener("pagehide", () => this.#save());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.#save();
    });
  }

  get isOpen() { return this.#isOpen; }

  get name() { return this.#name; }

  get #memo() { return memoNamed(this.#controller.state(memosApp), this.#name); }

  get #isUnsaved() { return this.#text.value !== typedText(this.#was); }

  /** @param {string | null} name null for a new memo */
  async open(name) {
    if (this.#isOpen && name !== null && name === this.#name) return this.#text.focus();
    if (!await this.#save()) return;
    this.#isOpen = true;
    this.#name = name;
    this.#was = this.#memo?.content ?? "";
    this.#seenAt = this.#memo?.modifiedAt ?? null;
    this.#text.value = this.#was;
    setText(this.#saved, "");
    this.#opened(name);
    this.#text.focus();
    this.#text.setSelectionRange(this.#was.length, this.#was.length);
    this.#text.scrollTop = 0;
  }

  async close() {
    if (!this.#isOpen) return;
    if (await this.#save()) this.#leave();
  }

  #leave() {
    this.#isOpen = false;
    this.#name = null;
    this.#was = "";
    this.#seenAt = null;
    this.#text.value = "";
    this.#opened(null);
  }

  show() {
    show(this.node, this.#isOpen);
    if (!this.#isOpen) return;
    this.#text.readOnly = isReadOnly(this.#controller.status.scope);
    const memo = this.#memo;
    show(this.#remove, memo !== null);
    show(this.#copy, Boolean(memo?.copy));
    setText(this.#copy, memo?.copy ?? "");
    if (this.#name === null || this.#isUnsaved) return;
    if (memo !== null && memo.modifiedAt > (this.#seenAt ?? 0)) this.#follow(memo);
    else if (memo === null && this.#seenAt !== null) this.#gone();
  }

  /** Shows the text of another device; there is no unsaved text to lose. */
  #follow({ content, modifiedAt }) {
    this.#seenAt = modifiedAt;
    if (content === this.#was) return;
    const { selectionStart, selectionEnd } = this.#text;
    this.#was = content;
    this.#text.value = content;
    this.#text.setSelectionRange(selectionStart, selectionEnd);
    setText(this.#saved, "Changed on another device");
  }

  #gone() {
    this.#notify("This memo was deleted on another device.");
    this.#leave();
  }

  #typed() {
    const { browser } = this.#controller;
    setText(this.#saved, "");
    browser.clearTimer(this.#rest);
    this.#rest = browser.setTimer(() => this.#save(), limits.memoRestMilliseconds);
  }

  /** Saves; resolves with true if nothing is unsaved. Text that could not be saved stays in the
   * editor. */
  #save() {
    this.#controller.browser.clearTimer(this.#rest);
    this.#saving = this.#saving.then(() => this.#saveNow());
    return this.#saving;
  }

  async #saveNow() {
    const [name, content, was] = [this.#name, this.#text.value, this.#was];
    if (!this.#isOpen || !this.#isUnsaved) return true;
    if (isBlank(content)) {
      if (name !== null) setText(this.#saved, "A memo needs a word. Delete it instead.");
      return true;
    }
    // Deleted on another device while the person typed: the typed text becomes a new memo.
    const isNew = name === null || (this.#seenAt !== null && this.#memo === null);
    const action = isNew ? { do: "add", content } : { do: "edit", memo: name, was, content };
    try {
      const records = await this.#controller.act(memosApp, action);
      if (isNew) this.#name = records[0].name;
      const made = records.find((it) => it.name === this.#name);
      this.#seenAt = this.#memo === null ? null : made.modifiedAt;
      this.#was = content;
      setText(this.#saved, "Saved");
      this.#opened(this.#name);
      return true;
    } catch (error) {
      setText(this.#saved, errorText(error));
      return false;
    }
  }

  /** Deletes a memo, open or not, if the person confirms it. */
  async remove(name) {
    const isWanted = await confirmAction({
      title: "Delete this memo?", words: "It goes from all of your devices.", yes: "Delete",
    });
    if (!isWanted) return;
    try {
      const isOpen = name === this.#name;
      if (isOpen) this.#controller.browser.clearTimer(this.#rest);
      await this.#saving;
      await this.#controller.act(memosApp, { do: "remove", memo: name });
      if (isOpen) this.#leave();
      this.#notify("Deleted.");
    } catch (error) {
      this.#notify(errorText(error));
    }
  }
}
