import { clipboardApp } from "../../apps/clipboard/clipboardApp.js";
import { button, emptyNote, field, form, iconButton, searchField }
  from "../components/controls.js";
import { copyText } from "../components/copyText.js";
import { confirmAction } from "../components/dialog.js";
import { element, show } from "../components/element.js";
import { KeyedList } from "../components/keyedList.js";
import { listKeys, searchKey } from "../components/listKeys.js";
import { swipeable } from "../components/swipe.js";
import { errorText } from "../text/syncText.js";
import { clipboardRows } from "./clipboardModel.js";

/** View of the clipboard history of all devices. */
export class ClipboardView {
  title = "Clipboard";
  zone = clipboardApp.zone;
  #controller;
  #notify;
  #words = "";
  #text = element("textarea", { rows: 2, placeholder: "Type or paste a text" });
  #list = element("ul", { class: "rows" });
  #rows = new KeyedList(this.#list, (item) => this.#row(item));
  #empty = emptyNote("Nothing copied yet", "What you add here is on your other devices at once.",
    { "data-changes": true });
  #none = emptyNote("Nothing found", "No item has these words.");
  #search = searchField("Search the clipboard", (words) => {
    this.#words = words;
    this.show();
  });
  #clear = button("Delete all", () => this.#clearAll(),
    { kind: "quiet", "data-changes": true });

  shortcuts = [
    { keys: ["n"], words: "New item", act: () => this.#text.focus(), changes: true },
    searchKey(this.#search), ...listKeys(this.#list),
  ];

  constructor(controller, notify) {
    this.#controller = controller;
    this.#notify = notify;
    this.#text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#add();
    });
    this.node = element("section", { class: "view", "aria-labelledby": "clipboard-title" },
      element("div", { class: "view-head" },
        element("h1", { id: "clipboard-title" }, "Clipboard"), this.#clear),
      form({ class: "card add-text", "data-changes": true }, () => this.#add(),
        field("New item", this.#text),
        element("button", { type: "submit", class: "button primary" }, "Add")),
      this.#search, this.#list, this.#empty, this.#none);
  }

  show() {
    const { now, minutesAhead } = this.#controller;
    const state = this.#controller.state(clipboardApp);
    const rows = clipboardRows(state, this.#words, now, minutesAhead);
    const hasAny = rows.length > 0 || clipboardRows(state, "", now, minutesAhead).length > 0;
    this.#rows.show(rows);
    show(this.#search, hasAny);
    show(this.#clear, hasAny);
    show(this.#empty, !hasAny);
    show(this.#none, hasAny && rows.length === 0);
  }

  #row({ key, text, isCut, from }) {
    const row = element("li", { class: "row" },
      element("div", { class: "row-body" },
        element("p", { class: "clip" }, isCut ? `${text}…` : text),
        element("p", { class: "muted small" }, from)),
      element("div", { class: "row-actions" },
        iconButton("copy", "Copy", () => this.#copy(key), { "data-name": "copy" }),
        iconButton("remove", "Delete", () => this.#remove(key),
          { "data-name": "remove", "data-changes": true })));
    return swipeable(row, {
      left: { icon: "remove", words: "Delete", act: () => this.#remove(key), changes: true,
        isDanger: true },
      right: { icon: "copy", words: "Copy", act: () => this.#copy(key) },
    });
  }

  #content(name) {
    const record = this.#controller.lockstep.record(clipboardApp.zone, name);
    return record?.fields.content ?? "";
  }

  async #add() {
    const content = this.#text.value;
    if (await this.#act({ do: "add", content })) this.#text.value = "";
    this.#text.focus();
  }

  async #copy(name) {
    const isCopied = await copyText(this.#content(name));
    this.#notify(
      isCopied ? "Copied." : "This browser does not let the page copy. Select the text.");
  }

  async #remove(item) {
    const content = this.#content(item);
    if (!await this.#act({ do: "remove", item })) return;
    this.#notify("Deleted.", content === "" ? null
      : { words: "Undo", act: () => this.#act({ do: "add", content }) });
  }

  async #clearAll() {
    const isWanted = await confirmAction({
      title: "Delete all items?", words: "They go from all of your devices.", yes: "Delete all",
    });
    if (isWanted) await this.#act({ do: "clear" });
  }

  async #act(action) {
    try {
      await this.#controller.act(clipboardApp, action);
      return true;
    } catch (error) {
      this.#notify(errorText(error));
      return false;
    }
  }
}
