import { memosApp } from "../../apps/memos/memosApp.js";
import { button, emptyNote, searchField } from "../components/controls.js";
import { element, icon, setAttribute, setText, show } from "../components/element.js";
import { KeyedList } from "../components/keyedList.js";
import { listKeys, searchKey } from "../components/listKeys.js";
import { swipeable } from "../components/swipe.js";
import { t } from "../language/language.js";
import { limits } from "../limits.js";
import { isReadOnly } from "../text/scopeText.js";
import { MemoAddress } from "./memoAddress.js";
import { MemoDrafts } from "./memoDrafts.js";
import { MemoEditor } from "./memoEditor.js";
import { MemoLibrary } from "./memoLibrary.js";
import { MemoOrders } from "./memoOrders.js";
import { draftRows, memoRows } from "./memosModel.js";
import { MemoVersions } from "./memoVersions.js";

/** View of the memos: the list and the open memo; a phone shows one of them at a time. */
export class MemosView {
  title = t("Memos");
  zone = memosApp.zone;
  #controller;
  #notify;
  #library;
  #drafts;
  #address = new MemoAddress();
  #words = "";
  /** Key of the tag that filters the list; null if none does. */
  #tag = null;
  #rowCount = limits.memoRows;
  #isEntering = false;
  #account;
  #shown = "";
  #editor;
  #orders;
  #list = element("ul", { class: "rows memo-rows" });
  #rows = new KeyedList(this.#list, (item) => this.#row(item));
  #more = button(t("Show more"), () => this.#showMore(), { class: "button quiet wide" });
  #tagRow = element("ul", { class: "memo-tags", "aria-label": t("Tags") });
  #tagRows = new KeyedList(this.#tagRow, (item) => this.#tagChip(item));
  #empty = emptyNote(t("No memos yet"),
    t("Write one here, and read it on any of your devices."), { "data-changes": true });
  #none = emptyNote(t("Nothing found"), t("No memo has all of these words."));
  #found = element("p", { class: "visually-hidden", role: "status" });
  #search = searchField(t("Search the memos"), (words) => {
    this.#words = words;
    this.#rowCount = limits.memoRows;
    this.show();
  });

  shortcuts = [
    { keys: ["n"], words: t("New memo"), act: () => this.#editor.open(null), changes: true },
    searchKey(this.#search), ...listKeys(this.#list),
  ];

  constructor(controller, notify) {
    this.#controller = controller;
    this.#notify = notify;
    this.#followAccount();
    this.#library = new MemoLibrary(controller);
    this.#drafts = new MemoDrafts(controller.browser.pageStore, () => this.#draftsChanged());
    const versions = new MemoVersions(controller);
    this.#orders = new MemoOrders(controller, { library: this.#library, drafts: this.#drafts,
      versions, notify, open: (name) => this.#editor.open(name) });
    this.#editor = new MemoEditor(controller, { library: this.#library, drafts: this.#drafts,
      orders: { notify, words: () => this.#words,
        opened: (name, isFromAddress) => this.#opened(name, isFromAddress),
        remove: (name) => this.#orders.remove(name),
        decide: (conflict) => this.#orders.decide(conflict),
        versions: (memo) => this.#orders.showVersions(memo) } });
    controller.subscribe(() => this.#followAccount());
    this.node = this.#makeNode();
    new IntersectionObserver(([{ isIntersecting }]) => {
      if (isIntersecting) this.#showMore();
    }, { rootMargin: "400px" }).observe(this.#more);
  }

  #makeNode() {
    return element("section", { class: "view memos", "aria-labelledby": "memos-title" },
      // On a phone the list is hidden while a memo is open; the view's title must stay.
      element("h1", { id: "memos-title", class: "visually-hidden" }, t("Memos")),
      element("div", { class: "memo-list" },
        element("div", { class: "view-head" },
          element("p", { class: "view-title", "aria-hidden": "true" }, t("Memos")),
          button([icon("plus"), t("New memo")], () => this.#editor.open(null),
            { kind: "primary", "data-name": "new", "data-changes": true })),
        this.#search, this.#tagRow, this.#found, this.#list, this.#more, this.#empty, this.#none),
      this.#editor.node);
  }

  enter() { this.#isEntering = true; }

  leave() { this.#editor.leaveView(); }

  /** Opens the memo in the address; without one, closes the open memo. */
  openEntry(name) {
    const isEntering = this.#isEntering;
    this.#isEntering = false;
    if (name !== null) this.#editor.open(name, { isFromAddress: true });
    // A text that could not be saved when the person left the view.
    else if (isEntering && this.#editor.isOpen) this.#address.open(this.#editor.name);
    else this.#editor.close({ isFromAddress: true });
  }

  show() {
    this.#library.refresh();
    const { now } = this.#controller;
    const state = [this.#library.revision, this.#words, this.#tag, this.#rowCount,
      this.#editor.name, Math.floor(now / 30_000)].join("\n");
    if (state !== this.#shown) {
      this.#shown = state;
      this.#showList();
    }
    this.#editor.show();
    setAttribute(this.node, "data-open", this.#editor.isOpen);
  }

  #showList() {
    const { now, minutesAhead } = this.#controller;
    const { memos, tags } = this.#library;
    if (!tags.some(({ key }) => key === this.#tag)) this.#tag = null;
    const found = this.#library.found(this.#words, this.#tag);
    const isWhole = this.#words.trim() === "" && this.#tag === null;
    const drafts = isWhole ? this.#newDrafts : [];
    const rows = [...draftRows(drafts),
      ...memoRows(found.slice(0, this.#rowCount), { words: this.#words, now, minutesAhead })];
    const hasAny = memos.length + drafts.length > 0;
    const drafted = new Set(this.#drafts.all.map(({ memo }) => memo));
    this.#rows.show(rows.map((row) => {
      const isOpen = row.key === this.#editor.name;
      return { ...row, isOpen, badge: !isOpen && drafted.has(row.key) ? t("Draft") : row.badge };
    }));
    this.#tagRows.show(tags.slice(0, limits.offeredTags).map((tag) =>
      ({ ...tag, isChosen: tag.key === this.#tag })));
    show(this.#tagRow, tags.length > 0);
    show(this.#search, hasAny);
    show(this.#more, found.length > this.#rowCount);
    show(this.#empty, !hasAny && !this.#editor.isOpen);
    show(this.#none, memos.length > 0 && found.length === 0);
    setText(this.#found, isWhole ? ""
      : t("{found} of {count} memos", { found: found.length, count: memos.length }));
  }

  /** Drafts of memos that are not stored, except the open one. */
  get #newDrafts() {
    return this.#drafts.all.filter(({ memo }, index, all) =>
      memo !== this.#editor.name && this.#library.memo(memo) === null
      && all.findIndex((it) => it.memo === memo) === index);
  }

  #row({ key, title, beginning, written, badge, isOpen }) {
    const row = element("li", { class: "row" },
      element("button", { type: "button", class: "memo-row", "data-name": "open",
        "aria-current": isOpen ? "true" : null, on: { click: () => this.#editor.open(key) } },
      element("span", { class: "memo-title" }, partElements(title)),
      element("span", { class: "memo-beginning muted small" },
        element("span", { class: "memo-date" }, written), beginning.length > 0 && " · ",
        partElements(beginning)),
      badge && element("span", { class: "badge" }, badge)));
    return swipeable(row, {
      left: { icon: "remove", words: t("Delete"), act: () => this.#remove(key), changes: true,
        isDanger: true },
    });
  }

  /** Deletes a memo by its row; the open one with what is typed in it. */
  async #remove(key) {
    if (key === this.#editor.name) await this.#editor.remove();
    else await this.#orders.remove(key);
  }

  #tagChip({ key, tag, count, isChosen }) {
    const choose = () => {
      this.#tag = isChosen ? null : key;
      this.#rowCount = limits.memoRows;
      this.show();
    };
    return element("li", {}, element("button", { type: "button", class: "memo-tag",
      "data-name": "tag", "aria-pressed": String(isChosen), on: { click: choose } }, tag,
    element("span", { class: "visually-hidden" }, ", "), " ",
    element("span", { class: "memo-tag-count" }, String(count))));
  }

  #showMore() {
    this.#rowCount += limits.memoRows;
    this.show();
  }

  #draftsChanged() {
    this.#shown = "";
    if (this.node?.isConnected) this.show();
  }

  /** Forgets what another account has left in this browser. */
  #followAccount() {
    const { accountID: account, state } = this.#controller.status;
    // A tab that takes over the lead does not know the account for a moment.
    if (account === this.#account || (account === null && state !== "needsPairing")) return;
    const isLeft = this.#account !== undefined;
    this.#account = account;
    this.#controller.browser.pageStore.keepFor(account).catch(() =>
      this.#notify(t("This browser did not remove the drafts and versions of another account.")));
    if (isLeft) this.#drafts.clear();
  }

  /** @param {string | null} name the open memo; null if the list is shown again */
  #opened(name, isFromAddress) {
    this.show();
    if (name !== null) {
      if (this.node.isConnected && !isFromAddress) this.#address.open(name);
      return;
    }
    if (!isFromAddress) this.#address.close();
    if (!this.node.isConnected || isFromAddress) return;
    const isFixed = isReadOnly(this.#controller.status.scope);
    this.node.querySelector(`[data-name="${isFixed ? "open" : "new"}"]`)?.focus();
  }
}

const partElements = (parts) => parts.map(({ text, isMarked }) =>
  (isMarked ? element("mark", {}, text) : text));
