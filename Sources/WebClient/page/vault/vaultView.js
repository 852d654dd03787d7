import { vaultApp } from "../../apps/vault/vaultApp.js";
import { button, emptyNote, iconButton } from "../components/controls.js";
import { element, icon, setAttribute, setText, show } from "../components/element.js";
import { KeyedList } from "../components/keyedList.js";
import { listKeys } from "../components/listKeys.js";
import { swipeable } from "../components/swipe.js";
import { t } from "../language/language.js";
import { limits } from "../limits.js";
import { isReadOnly } from "../text/scopeText.js";
import { VaultLibrary } from "./vaultLibrary.js";
import { fileRows, limitText, transferRow } from "./vaultModel.js";
import { VaultOrders } from "./vaultOrders.js";

/** View of the vault's files. */
export class VaultView {
  title = t("Files");
  zone = vaultApp.zone;
  #controller;
  #library;
  #orders;
  #choose = element("input", { type: "file", multiple: true, hidden: true,
    on: { change: () => this.#addChosen() } });
  #add = button([icon("plus"), t("Add files")], () => this.#choose.click(),
    { kind: "primary", "data-name": "add", "data-changes": true });
  #limit = element("p", { class: "card vault-limit", role: "status" });
  #transferList = element("ul", { class: "rows vault-transfers",
    "aria-label": t("On their way") });
  #transfers = new KeyedList(this.#transferList, (item) => this.#transfer(item));
  #askingList = element("ul", { class: "vault-asking", "aria-label": t("To decide") });
  #asking = new KeyedList(this.#askingList, (item) => this.#question(item));
  #list = element("ul", { class: "rows vault-rows", "aria-label": t("Files") });
  #rows = new KeyedList(this.#list, (item) => this.#row(item));
  #rest = element("p", { class: "muted small" });
  #empty = emptyNote(t("No files yet"),
    t("Add one here, drop it or paste it: it is the same on all devices that add it."),
    { "data-changes": true });

  shortcuts = [
    { keys: ["n"], words: t("Add files"), changes: true,
      act: () => { if (this.#mayAdd) this.#choose.click(); } },
    ...listKeys(this.#list),
  ];

  constructor(controller, notify) {
    this.#controller = controller;
    this.#library = new VaultLibrary(controller, () => this.#showIfOpen());
    this.#orders = new VaultOrders(controller, { library: this.#library, notify,
      changed: () => this.#showIfOpen() });
    this.node = element("section", { class: "view vault", "aria-labelledby": "files-title" },
      element("div", { class: "view-head" }, element("h1", { id: "files-title" }, t("Files")),
        this.#choose, this.#add),
      this.#limit, this.#askingList, this.#transferList, this.#list, this.#rest, this.#empty);
    this.#acceptDrops();
    document.addEventListener("paste", (event) => this.#handlePaste(event));
    addEventListener("beforeunload", (event) => {
      if (this.#orders.isSending) event.preventDefault();
    });
  }

  enter() { this.#library.checkContent(); }

  show() {
    const { now, minutesAhead } = this.#controller;
    const { contents, asking, isZoneSealed, isKnown } = this.#library;
    const { list: transfers } = this.#orders.transfers;
    const rows = fileRows(contents, { ...this.#library.known, now, minutesAhead,
      isFetching: (name) => this.#orders.isFetching(name) });
    this.#rows.show(rows.slice(0, limits.vaultRows));
    this.#transfers.show(transfers.map(transferRow));
    this.#asking.show(asking.map(({ name, file }) => ({ key: name, file })));
    const count = (problem) => contents.unreadable.filter((it) => it.problem === problem).length;
    setText(this.#limit, isKnown ? limitText({ isZoneSealed, noKeyCount: count("noKey"),
      malformedCount: count("malformed") }) : "");
    show(this.#limit, this.#limit.textContent !== "");
    setText(this.#rest, rows.length > limits.vaultRows
      ? t("The first {shown} of {count} files are shown.",
        { shown: limits.vaultRows, count: rows.length }) : "");
    setAttribute(this.node, "data-unsealed", isKnown && !isZoneSealed);
    const hasAny = rows.length + transfers.length > 0;
    show(this.#empty, isZoneSealed && !hasAny && contents.unreadable.length === 0);
  }

  #showIfOpen() { if (this.node?.isConnected) this.show(); }

  get #mayAdd() {
    const { scope, lockedZones } = this.#controller.status;
    return this.#library.isZoneSealed && !isReadOnly(scope)
      && !lockedZones.includes(vaultApp.zone);
  }

  async #addChosen() {
    const files = [...this.#choose.files];
    // The same file may be chosen again.
    this.#choose.value = "";
    await this.#addAll(files);
  }

  async #addAll(files) {
    // Files may be dropped before the view knows whether the zone is sealed.
    if (!this.#library.isKnown) await this.#library.read();
    if (!this.#mayAdd || files.length === 0) return;
    await this.#orders.add(files);
  }

  #acceptDrops() {
    const isOfFiles = ({ dataTransfer }) => [...dataTransfer?.types ?? []].includes("Files");
    const mark = (event, isOver) => {
      if (!isOfFiles(event)) return;
      event.preventDefault();
      setAttribute(this.node, "data-drop", isOver && this.#mayAdd);
    };
    // A file that misses the list would replace the page.
    for (const kind of ["dragenter", "dragover"]) {
      document.addEventListener(kind, (event) => {
        if (this.node.isConnected) mark(event, true);
      });
    }
    document.addEventListener("dragleave", (event) => {
      if (this.node.isConnected && event.relatedTarget === null) mark(event, false);
    });
    document.addEventListener("drop", (event) => {
      if (!this.node.isConnected || !isOfFiles(event)) return;
      mark(event, false);
      this.#addAll([...event.dataTransfer.files]);
    });
  }

  #handlePaste(event) {
    const files = [...event.clipboardData?.files ?? []];
    if (!this.node.isConnected || files.length === 0) return;
    event.preventDefault();
    this.#addAll(files);
  }

  #row({ key, file, about, state, isFetching, copyOf, copies }) {
    const row = element("li", { class: "row vault-row" },
      element("div", { class: "vault-file" },
        element("button", { type: "button", class: "vault-name", "data-name": "details",
          on: { click: () => this.#orders.showDetails(key) } },
        element("span", { class: "file-name" }, file),
        element("span", { class: "muted small" }, about),
        copyOf !== null && element("span", { class: "badge" },
          t("Conflict copy of {file}", { file: copyOf })),
        stateElement(state)),
        this.#rowActions(key, file, isFetching)),
      copies.map((copy) => this.#copy(key, copy)));
    return swipeable(row, {
      left: { icon: "remove", words: t("Delete"), act: () => this.#orders.remove(key),
        changes: true, isDanger: true },
      right: { icon: "download", words: t("Download"), act: () => this.#orders.save(key) },
    });
  }

  #rowActions(key, file, isFetching) {
    if (isFetching) {
      return element("div", { class: "row-actions" }, button(t("Stop"),
        () => this.#orders.stopFetching(key), { kind: "quiet", "data-name": "stop" }));
    }
    return element("div", { class: "row-actions" },
      iconButton("download", t("Download {file}", { file }), () => this.#orders.save(key),
        { "data-name": "download" }),
      iconButton("remove", t("Delete {file}", { file }), () => this.#orders.remove(key),
        { "data-name": "remove", "data-changes": true }));
  }

  /** Returns a conflict copy beside its file, with the decision. */
  #copy(original, { key, words, about, state, isFetching, isNeedless }) {
    const decide = (keep) => () => this.#orders.decide(original, key, keep);
    return element("div", { class: "vault-copy" },
      element("p", {}, words), element("p", { class: "muted small" }, about),
      state.tone !== "good" && stateElement(state),
      element("div", { class: "file-orders" },
        isFetching ? button(t("Stop"), () => this.#orders.stopFetching(key))
          : button(t("Download this version"), () => this.#orders.save(key),
            { "data-name": `save ${key}` }),
        button(isNeedless ? t("Delete the copy") : t("Keep the file"), decide("this"),
          { "data-changes": true }),
        !isNeedless && button(t("Keep this version"), decide("other"), { "data-changes": true }),
        !isNeedless && button(t("Keep both"), decide("both"), { "data-changes": true })));
  }

  #transfer({ key, file, words, share, state }) {
    const { transfers } = this.#orders;
    return element("li", { class: "row" },
      element("div", { class: "row-body" }, element("p", { class: "file-name" }, file),
        state === "running" && element("progress", { max: 100, value: share,
          "aria-label": t("Sending {file}", { file }) }),
        element("p", { class: "small", "data-tone": state === "failed" ? "bad" : "busy" }, words)),
      element("div", { class: "file-orders" },
        ["failed", "paused"].includes(state) && button(t("Try again"),
          () => transfers.tryAgain(key), { "data-name": "again" }),
        button(state === "failed" ? t("Dismiss") : t("Stop"), () => transfers.stop(key),
          { kind: "quiet", "data-name": "stop" })));
  }

  #question({ key, file }) {
    return element("li", { class: "card stack-small" },
      element("p", {}, t("{file} was changed in two places at once, and this browser cannot read "
        + "one of the two versions.", { file })),
      element("div", { class: "file-orders" },
        button(t("Keep this browser's version"), () => this.#orders.choose(key, true),
          { "data-changes": true }),
        button(t("Keep the other version"), () => this.#orders.choose(key, false),
          { "data-changes": true })));
  }
}

const stateElement = ({ tone, words }) =>
  element("span", { class: "vault-state small", "data-tone": tone }, words);
