import { button } from "../components/controls.js";
import { element, setAttribute, setText, show } from "../components/element.js";
import { problemWords } from "../words/problem.js";
import { syncWords } from "../words/sync.js";

/** Sync status: an indicator that is always visible, and a panel that opens when it is pressed. */
export class SyncIndicator {
  #desk;
  #tell;
  #words = element("span", { class: "sync-words" });
  #panelTitle = element("h2", { class: "sync-title" });
  #lines = element("div", { class: "stack-small" });
  #now = button("Sync now", () => this.#sync(), { kind: "primary" });
  #shown = "";
  node = element("button", { type: "button", class: "sync-sign", popovertarget: "sync-panel" },
    element("span", { class: "sync-dot", "aria-hidden": "true" }), this.#words);
  panel = element("div", { id: "sync-panel", class: "sync-panel", popover: "auto",
    role: "dialog", "aria-label": "How the sync stands" },
    this.#panelTitle, this.#lines, this.#now);
  /** For screen readers: changed rarely, and only for important states. */
  news = element("p", { class: "visually-hidden", role: "status" });

  constructor(desk, tell) {
    this.#desk = desk;
    this.#tell = tell;
  }

  show() {
    const { status, now, minutesAhead } = this.#desk;
    const { tone, short, lines, canSync, again } = syncWords(status, now, minutesAhead);
    setAttribute(this.node, "data-tone", tone);
    setAttribute(this.node, "data-state", status.state);
    setAttribute(this.panel, "data-tone", tone);
    setText(this.#words, short);
    setAttribute(this.node, "aria-label", `Sync: ${short}. Show more`);
    setText(this.#panelTitle, short);
    const text = lines.join("\n");
    if (text !== this.#shown) {
      this.#shown = text;
      this.#lines.replaceChildren(...lines.map((line) => element("p", {}, line)));
    }
    show(this.#now, canSync);
    setText(this.#now, again);
    // Syncing begins and ends with each change, so it is not announced.
    if (tone === "away" || tone === "bad") setText(this.news, `Sync: ${short}`);
    else if (tone === "good" && this.news.textContent !== "") setText(this.news, "In sync again");
  }

  async #sync() {
    this.#now.disabled = true;
    try {
      const { state } = await this.#desk.lockstep.syncNow();
      if (state === "inSync") this.#tell("In sync.");
    } catch (error) {
      this.#tell(problemWords(error));
    }
    this.#now.disabled = false;
    this.show();
  }
}
