import { memosApp } from "../../apps/memos/memosApp.js";
import { button, emptyNote, searchField } from "../components/controls.js";
import { element, icon, setAttribute, show } from "../components/element.js";
import { KeyedList } from "../components/keyedList.js";
import { listKeys, searchKey } from "../components/listKeys.js";
import { swipeable } from "../components/swipe.js";
import { isReadOnly } from "../text/scopeText.js";
import { MemoEditor } from "./memoEditor.js";
import { memoRows } from "./memosModel.js";

/** View of the memos: the list and the open memo; a phone shows one of them at a time. */
export class MemosView {
  title = "Memos";
  zone = memosApp.zone;
  #controller;
  #words = "";
  #editor;
  #list = element("ul", { class: "rows memo-rows" });
  #rows = new KeyedList(this.#list, (item) => this.#row(item));
  #empty = emptyNote("No memos yet", "Write one here, and read it on any of your devices.",
    { "data-changes": true });
  #none = emptyNote("Nothing found", "No memo has all of these words.");
  #search = searchField("Search the memos", (words) => {
    this.#words = words;
    this.show();
  });

  shortcuts = [
    { keys: ["n"], words: "New memo", act: () => this.#editor.open(null), changes: true },
    searchKey(this.#search), ...listKeys(this.#list),
  ];

  constructor(controller, notify) {
    this.#controller = controller;
    this.#editor = new MemoEditor(controller, notify, (name) => this.#opened(name));
    this.node = element("section", { class: "view memos", "aria-labelledby": "memos-title" },
      // On a phone the list is hidden while a memo is open; the view's title must stay.
      element("h1", { id: "memos-title", class: "visually-hidden" }, "Memos"),
      element("div", { class: "memo-list" },
        element("div", { class: "view-head" },
          element("p", { class: "view-title", "aria-hidden": "true" }, "Memos"),
          button([icon("plus"), "New memo"], () => this.#editor.open(null),
            { kind: "primary", "data-name": "new", "data-changes": true })),
        this.#search, this.#list, this.#empty, this.#none),
      this.#editor.node);
  }

  leave() { this.#editor.close(); }

  show() {
    const { now, minutesAhead } = this.#controller;
    const state = this.#controller.state(memosApp);
    const rows = memoRows(state, this.#words, now, minutesAhead);
    const hasAny = rows.length > 0 || memoRows(state, "", now, minutesAhead).length > 0;
    this.#rows.show(rows.map((row) => ({ ...row, isOpen: row.key === this.#editor.name })));
    show(this.#search, hasAny);
    show(this.#empty, !hasAny && !this.#editor.isOpen);
    show(this.#none, hasAny && rows.length === 0);
    this.#editor.show();
    setAttribute(this.node, "data-open", this.#editor.isOpen);
  }

  #row({ key, title, beginning, written, copy, isOpen }) {
    const row = element("li", { class: "row" },
      element("button", { type: "button", class: "memo-row", "data-name": "open",
        "aria-current": isOpen ? "true" : null, on: { click: () => this.#editor.open(key) } },
      element("span", { class: "memo-title" }, title),
      element("span", { class: "memo-beginning muted small" },
        element("span", { class: "memo-date" }, written), beginning ? ` · ${beginning}` : ""),
      copy && element("span", { class: "badge" }, copy)));
    return swipeable(row, {
      left: { icon: "remove", words: "Delete", act: () => this.#editor.remove(key), changes: true,
        isDanger: true },
    });
  }

  /** @param {string | null} name the open memo; null if the list is shown again */
  #opened(name) {
    this.show();
    if (name !== null) return;
    const isFixed = isReadOnly(this.#controller.status.scope);
    this.node.querySelector(`[data-name="${isFixed ? "open" : "new"}"]`)?.focus();
  }
}
