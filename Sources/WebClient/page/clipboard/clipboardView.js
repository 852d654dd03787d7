import { clipboardApp } from "../../apps/clipboard/clipboardApp.js";
import { imageTypes } from "../../apps/clipboard/clipboardContents.js";
import { button, emptyNote, field, form, iconButton, searchField }
  from "../components/controls.js";
import { confirmAction } from "../components/dialog.js";
import { element, icon, show } from "../components/element.js";
import { KeyedList } from "../components/keyedList.js";
import { listKeys, searchKey } from "../components/listKeys.js";
import { swipeable } from "../components/swipe.js";
import { t, tCount } from "../language/language.js";
import { joinSentences } from "../text/sentences.js";
import { pastedContent } from "./clipboardInput.js";
import { ClipboardItems } from "./clipboardItems.js";
import { clipboardRows, waitingRows } from "./clipboardModel.js";

/** View of the clipboard history of all devices. */
export class ClipboardView {
  title = t("Clipboard");
  zone = clipboardApp.zone;
  #controller;
  #notify;
  #items;
  #words = "";
  #text = element("textarea", { rows: 2, placeholder: t("Type or paste a text") });
  #files = element("input", { type: "file", accept: Object.keys(imageTypes).join(","),
    multiple: true, hidden: true, "aria-label": t("Images") });
  #list = element("ul", { class: "rows clipboard-rows" });
  #rows = new KeyedList(this.#list, (item) =>
    (item.isWaiting ? this.#waitingRow(item) : this.#row(item)));
  #empty = emptyNote(t("Nothing copied yet"),
    t("What you add here is on your other devices at once."), { "data-changes": true });
  #none = emptyNote(t("Nothing found"), t("No item has these words."));
  #search = searchField(t("Search the clipboard"), (words) => {
    this.#words = words;
    this.show();
  });
  #clear = button(t("Delete all"), () => this.#clearAll(),
    { kind: "quiet", "data-changes": true });
  /** True from the opening of the view until what was shared is added. */
  #isShareDue = false;
  #pasted = (event) => this.#handlePaste(event);

  shortcuts = [
    { keys: ["n"], words: t("New item"), act: () => this.#text.focus(), changes: true },
    { keys: ["p"], words: t("Pin or unpin the row with the focus"), changes: true,
      act: () => this.#focused("pin")?.click() },
    searchKey(this.#search), ...listKeys(this.#list),
  ];

  constructor(controller, notify, { images }) {
    this.#controller = controller;
    this.#notify = notify;
    this.#items = new ClipboardItems(controller, notify, images);
    this.#text.addEventListener("keydown", (event) => {
      const isSent = event.key === "Enter" && (event.ctrlKey || event.metaKey);
      if (isSent && !event.isComposing) this.#add();
    });
    this.#files.addEventListener("change", () => this.#addFiles());
    this.node = element("section", { class: "view", "aria-labelledby": "clipboard-title" },
      element("div", { class: "view-head" },
        element("h1", { id: "clipboard-title" }, t("Clipboard")), this.#clear),
      form({ class: "card add-text", "data-changes": true }, () => this.#add(),
        field(t("New item"), this.#text),
        element("div", { class: "add-actions" },
          button(t("Paste"), () => this.#paste()),
          button(t("Choose images"), () => this.#files.click()), this.#files,
          element("button", { type: "submit", class: "button primary" }, t("Add"))),
        element("p", { class: "hint for-keyboards" },
          t("Ctrl+V, or ⌘V on a Mac, pastes anywhere in this view."))),
      this.#search, this.#list, this.#empty, this.#none);
  }

  /** Fields whose text outlives a reload by the page. */
  get drafts() { return { text: this.#text }; }

  enter() {
    document.addEventListener("paste", this.#pasted);
    this.#isShareDue = true;
  }

  leave() { document.removeEventListener("paste", this.#pasted); }

  show() {
    if (this.#isShareDue && this.#items.takesShares) {
      this.#isShareDue = false;
      this.#items.addShared();
    }
    const { now, minutesAhead } = this.#controller;
    const state = this.#controller.state(clipboardApp);
    const rows = [...waitingRows(this.#items.waiting, this.#words),
      ...clipboardRows(state, this.#words, now, minutesAhead)];
    const hasAny = rows.length > 0 || this.#items.waiting.length > 0
      || clipboardRows(state, "", now, minutesAhead).length > 0;
    this.#rows.show(rows);
    show(this.#search, hasAny);
    show(this.#clear, hasAny);
    show(this.#empty, !hasAny);
    show(this.#none, hasAny && rows.length === 0);
  }

  #row({ key, text, isCut, from, isPinned, isImage, about }) {
    const pin = isPinned ? t("Unpin") : t("Pin");
    const row = element("li", { class: isImage ? "row image-row" : "row" },
      isImage && this.#picture(this.#items.thumbnail(key)),
      element("div", { class: "row-body" },
        element("p", { class: "clip" }, isCut ? `${text}…` : text || (isImage ? t("Image") : "")),
        isImage && element("p", { class: "small" }, about),
        element("p", { class: "muted small" },
          isPinned ? t("Pinned · {from}", { from }) : from)),
      element("div", { class: "row-actions" },
        iconButton("copy", t("Copy"), () => this.#items.copy(key), { "data-name": "copy" }),
        isImage && iconButton("download", t("Download"), () => this.#items.download(key),
          { "data-name": "download" }),
        iconButton("pin", pin, () => this.#items.setPin(key, !isPinned),
          { "data-name": "pin", "aria-pressed": String(isPinned), "data-changes": true }),
        iconButton("remove", t("Delete"), () => this.#items.remove(key),
          { "data-name": "remove", "data-changes": true })));
    return swipeable(row, {
      left: { icon: "remove", words: t("Delete"), act: () => this.#items.remove(key), changes: true,
        isDanger: true },
      right: { icon: "copy", words: t("Copy"), act: () => this.#items.copy(key) },
    });
  }

  /** An image that only this browser has yet. */
  #waitingRow({ id, text, about, problem }) {
    const image = this.#items.waiting.find((it) => it.id === id);
    return element("li", { class: "row" }, this.#picture(image?.thumbnail),
      element("div", { class: "row-body" },
        element("p", { class: "clip" }, text || t("Image")),
        element("p", { class: "small" }, about),
        element("p", { class: "muted small" },
          problem || t("Waits here until it is sent to your other devices."))),
      element("div", { class: "row-actions" },
        iconButton("remove", t("Delete"), () => this.#items.removeWaiting(id),
          { "data-name": "remove", "data-changes": true })));
  }

  #picture(thumbnail) {
    return element("div", { class: "clip-picture" }, thumbnail
      ? element("img", { src: thumbnail, alt: "", decoding: "async" }) : icon("image"));
  }

  #focused(name) {
    const row = [...this.#list.children].find((it) => it.contains(document.activeElement));
    return row?.querySelector(`[data-name="${name}"]`);
  }

  async #add() {
    const content = this.#text.value;
    // At once: what a person types meanwhile is another item.
    this.#text.value = "";
    this.#text.focus();
    const isAdded = await this.#items.addTyped(content);
    if (!isAdded && this.#text.value === "") this.#text.value = content;
  }

  async #addFiles() {
    const files = [...this.#files.files];
    this.#files.value = "";
    if (files.length > 0) await this.#items.addFiles(files);
  }

  /** Reads the system's clipboard; if the browser does not allow it, the person pastes. */
  async #paste() {
    let content;
    try {
      content = await this.#controller.browser.clipboard.read();
    } catch {
      this.#text.focus();
      this.#notify(t("This browser does not let the page read what you copied. Paste it into the "
        + "field."));
      return;
    }
    await this.#items.addPasted(content);
  }

  /** A paste into a text field stays there, unless it is an image. */
  #handlePaste(event) {
    const content = pastedContent(event.clipboardData);
    const isTyping = Boolean(event.target?.closest?.("textarea, input"));
    const isFixed = this.node.closest("[data-read-only]") !== null
      || document.querySelector("dialog[open]") !== null;
    if (isFixed || (isTyping && content.images.length === 0)) return;
    event.preventDefault();
    this.#items.addPasted(content);
  }

  async #clearAll() {
    const { now, minutesAhead } = this.#controller;
    const state = this.#controller.state(clipboardApp);
    const rows = clipboardRows(state, "", now, minutesAhead);
    const pinned = rows.filter(({ isPinned }) => isPinned).length;
    const isAllPinned = pinned === rows.length && this.#items.waiting.length === 0;
    const staying = pinned > 0 && !isAllPinned
      ? tCount(pinned, "The pinned item stays.", "Pinned items stay.") : "";
    const isWanted = await confirmAction({
      title: isAllPinned ? t("Delete all pinned items?") : t("Delete all items?"),
      words: joinSentences([t("They go from all of your devices."), staying]),
      yes: t("Delete all"),
    });
    if (isWanted) await this.#items.clear(isAllPinned);
  }
}
