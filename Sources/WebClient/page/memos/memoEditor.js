import { isBlank } from "../../apps/edit.js";
import { memosApp, newMemoName } from "../../apps/memos/memosApp.js";
import { button, iconButton } from "../components/controls.js";
import { element, setAttribute, setText, show } from "../components/element.js";
import { t } from "../language/language.js";
import { limits } from "../limits.js";
import { isReadOnly } from "../text/scopeText.js";
import { joinSentences } from "../text/sentences.js";
import { errorText } from "../text/errorText.js";
import { withTask } from "./markdown.js";
import { MemoPreview } from "./memoPreview.js";
import { conflictNote, typedText } from "./memosModel.js";

/**
 * Editor of one memo. Saves when typing pauses, and when the person leaves; until then the text is
 * a draft in this browser. If another device changes the memo meanwhile, the editor shows the
 * change at once if it has no unsaved text; otherwise both texts are kept.
 */
export class MemoEditor {
  #controller;
  #library;
  #drafts;
  #orders;
  #isOpen = false;
  /** Name of the open memo, also of one that is not stored yet. */
  #name = null;
  #isNew = false;
  /** The text that the person began to change. */
  #was = "";
  /** The stamp of that text; null until the memo is among the records, which in a tab that does not
   * lead may be a moment after it was made. */
  #seenAt = null;
  #draftID = null;
  #rest = null;
  #isPreview = false;
  /** True while the person's own order deletes the memo. */
  #isRemoving = false;
  /** Saves run one after the other: the next begins with the result of the last. */
  #saving = Promise.resolve();
  #text = element("textarea", { class: "memo-text", "aria-label": t("Memo"), spellcheck: "true",
    placeholder: t("The first line is the title") });
  #preview = new MemoPreview((at, isDone) => this.#tick(at, isDone));
  #back = iconButton("back", t("Back to the list"), () => this.close(),
    { class: "icon-button memo-back" });
  #saved = element("p", { class: "muted small memo-saved" });
  #note = element("p", {});
  #decide = button(t("Compare"), () => this.#showDecision(), { kind: "secondary" });
  #noteRow = element("div", { class: "memo-note" }, this.#note, this.#decide);
  #previewButton = iconButton("preview", t("Preview"), () => this.#togglePreview(),
    { "aria-pressed": "false" });
  #versions = iconButton("history", t("Former versions"), () => this.#showVersions());
  #remove = iconButton("remove", t("Delete this memo"), () => this.remove(),
    { "data-changes": true });
  node = element("div", { class: "memo-editor card", hidden: true },
    element("div", { class: "memo-bar" },
      this.#back, this.#saved, this.#previewButton, this.#versions, this.#remove),
    this.#noteRow, this.#text, this.#preview.node);

  /**
   * @param {object} parts `library`, `drafts`; `orders`: `notify(words, offer?)`,
   *   `opened(name | null, isInAddress)`, called when another memo is opened, or none,
   *   `decide(conflict)`, `versions(memo)`, `remove(name)` and `words()`, those that are searched
   */
  constructor(controller, { library, drafts, orders }) {
    this.#controller = controller;
    this.#library = library;
    this.#drafts = drafts;
    this.#orders = orders;
    this.#text.addEventListener("input", () => this.#typed());
    this.#text.addEventListener("blur", () => this.#save());
    addEventListener("pagehide", () => this.#save());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.#save();
    });
  }

  get isOpen() { return this.#isOpen; }

  get name() { return this.#name; }

  get #memo() { return this.#isOpen ? this.#library.memo(this.#name) : null; }

  get #isUnsaved() { return this.#text.value !== typedText(this.#was); }

  get #isFixed() {
    const { scope, lockedZones } = this.#controller.status;
    return isReadOnly(scope) || lockedZones.includes(memosApp.zone);
  }

  get #conflict() {
    const memo = this.#memo;
    return memo && conflictNote(memo, memo.copyOf === null ? null
      : this.#library.memo(memo.copyOf), this.#library.copiesOf(memo.name));
  }

  /** @param {string | null} name null for a new memo */
  async open(name, { isFromAddress = false } = {}) {
    if (this.#isOpen && name !== null && name === this.#name) {
      if (!isFromAddress) this.#focus();
      return;
    }
    await this.#save();
    await this.#drafts.isRead;
    const memo = name === null ? null : this.#library.memo(name);
    const draft = name === null ? null : this.#drafts.of(name);
    if (name !== null && memo === null && draft === null) return this.#missing(isFromAddress);
    this.#isOpen = true;
    this.#name = name ?? newMemoName(this.#controller.browser.random);
    this.#isNew = memo === null && draft?.seenAt === null || name === null;
    this.#draftID = draft?.id ?? newMemoName(this.#controller.browser.random);
    this.#was = memo?.content ?? "";
    this.#seenAt = memo?.modifiedAt ?? null;
    this.#text.value = this.#was;
    setText(this.#saved, "");
    if (name === null) this.#isPreview = false;
    this.#preview.forget();
    if (draft !== null) this.#resume(draft, memo);
    this.#orders.opened(this.#name, isFromAddress);
    if (isFromAddress || this.#isPreview) return;
    this.#focus();
    this.#text.setSelectionRange(this.#text.value.length, this.#text.value.length);
    this.#text.scrollTop = 0;
  }

  /** Focuses the text; on a phone only that of a new memo: who opens another one wants to read it,
   * and the keyboard would cover half of it. */
  #focus() {
    const isToRead = !this.#isNew && this.#controller.browser.hasScreenKeyboard;
    (isToRead ? this.#back : this.#text).focus();
  }

  /** Continues with what was typed and not saved. */
  #resume(draft, memo) {
    if (memo !== null && typedText(memo.content) === draft.content) {
      this.#drafts.remove(draft.id);
      return;
    }
    // A draft of a new memo that was saved since continues that text.
    if (draft.seenAt !== null) [this.#was, this.#seenAt] = [draft.was, draft.seenAt];
    this.#text.value = draft.content;
    this.#isPreview = false;
    this.#typed();
    setText(this.#saved, t("Goes on with your draft"));
  }

  #missing(isFromAddress) {
    if (this.#isOpen) this.#leave(isFromAddress);
    else this.#orders.opened(null, false);
    this.#orders.notify(t("That memo is not here."));
  }

  /** Closes the memo. Text that cannot be saved stays as a draft. */
  async close({ isFromAddress = false } = {}) {
    if (!this.#isOpen) return;
    const [name, draftID] = [this.#name, this.#draftID];
    if (!await this.#save()) {
      this.#orders.notify(t("Not saved: the text is kept here as a draft."));
    }
    // Otherwise another memo was opened meanwhile. A new name is in the address.
    if (this.#draftID === draftID) this.#leave(isFromAddress && this.#name === name);
  }

  /** Saves before another view is shown. Text that cannot be saved stays in the editor. */
  async leaveView() {
    const draftID = this.#draftID;
    if (await this.#save() && this.#draftID === draftID) this.#leave(true);
  }

  #leave(isFromAddress = false) {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#name = null;
    this.#was = "";
    this.#seenAt = null;
    this.#text.value = "";
    this.#orders.opened(null, isFromAddress);
  }

  show() {
    show(this.node, this.#isOpen);
    if (!this.#isOpen) return;
    const isFixed = this.#isFixed;
    this.#text.readOnly = isFixed;
    const memo = this.#memo;
    // Also a draft that could not be saved.
    show(this.#remove, memo !== null || this.#drafts.of(this.#name) !== null);
    show(this.#versions, memo !== null);
    this.#showConflict(this.#conflict, isFixed);
    if (!this.#isNew && !this.#isUnsaved) {
      if (memo !== null && memo.modifiedAt > (this.#seenAt ?? 0)) this.#follow(memo);
      else if (memo === null && this.#seenAt !== null && !this.#isRemoving) return this.#gone();
    }
    setAttribute(this.#previewButton, "aria-pressed", String(this.#isPreview));
    show(this.#text, !this.#isPreview);
    show(this.#preview.node, this.#isPreview);
    if (this.#isPreview) {
      this.#preview.show(this.#text.value, { words: this.#orders.words(), isFixed });
    }
  }

  #showConflict(conflict, isFixed) {
    const isShown = conflict !== null && !(isFixed && conflict.memo === null);
    show(this.#noteRow, isShown);
    if (!isShown) return;
    setText(this.#note, conflict.words);
    setText(this.#decide, conflict.action);
  }

  /** Shows the text of another device; there is no unsaved text to lose. */
  #follow({ content, modifiedAt }) {
    this.#seenAt = modifiedAt;
    if (content === this.#was) return;
    const { selectionStart, selectionEnd } = this.#text;
    this.#was = content;
    this.#text.value = content;
    this.#text.setSelectionRange(selectionStart, selectionEnd);
    setText(this.#saved, t("Changed on another device"));
  }

  #gone() {
    this.#orders.notify(t("This memo was deleted on another device."));
    this.#leave();
  }

  #typed() {
    const { browser } = this.#controller;
    setText(this.#saved, "");
    this.#keepDraft();
    browser.clearTimer(this.#rest);
    this.#rest = browser.setTimer(() => this.#save(), limits.memoRestMilliseconds);
  }

  #keepDraft() {
    const content = this.#text.value;
    if (isBlank(content) || !this.#isUnsaved) return this.#drafts.remove(this.#draftID);
    const seenAt = this.#isNew ? null : this.#seenAt ?? 0;
    this.#drafts.keep({ id: this.#draftID, memo: this.#name, content, was: this.#was, seenAt,
      at: this.#controller.now });
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
      if (!this.#isNew) setText(this.#saved, t("A memo needs a word. Delete it instead."));
      return true;
    }
    // Deleted on another device while the person typed: the typed text becomes a new memo.
    const isGone = !this.#isNew && this.#seenAt !== null && this.#memo === null;
    const added = isGone ? newMemoName(this.#controller.browser.random) : name;
    const action = this.#isNew || isGone ? { do: "add", content, name: added }
      : { do: "edit", memo: name, was, content };
    try {
      const records = await this.#controller.act(memosApp, action);
      this.#name = added;
      this.#isNew = false;
      const made = records.find((it) => it.name === this.#name);
      this.#seenAt = this.#memo === null ? null : made.modifiedAt;
      this.#was = content;
      setText(this.#saved, t("Saved"));
      this.#keepDraft();
      this.#orders.opened(added, added === name);
      return true;
    } catch (error) {
      setText(this.#saved, joinSentences([errorText(error), this.#drafts.problem]));
      this.show();
      return false;
    }
  }

  #togglePreview() {
    this.#isPreview = !this.#isPreview;
    this.#save();
    this.show();
    if (!this.#isPreview) this.#text.focus();
  }

  /** Ticks a task of the preview in the text. */
  #tick(at, isDone) {
    const text = withTask(this.#text.value, at, isDone);
    if (text === null) {
      this.#preview.forget();
    } else {
      this.#text.value = text;
      this.#preview.accept(text);
      this.#typed();
      this.#save();
    }
    this.show();
  }

  async #showDecision() {
    await this.#save();
    const conflict = this.#conflict;
    if (conflict !== null) await this.#orders.decide(conflict);
  }

  async #showVersions() {
    await this.#save();
    const memo = this.#memo;
    if (memo !== null) await this.#orders.versions(memo);
  }

  /** Deletes the open memo, or its draft if it is not stored. */
  async remove() {
    await this.#save();
    const name = this.#name;
    this.#isRemoving = true;
    const isRemoved = await this.#orders.remove(name);
    this.#isRemoving = false;
    if (isRemoved && this.#name === name) this.#leave();
  }
}
