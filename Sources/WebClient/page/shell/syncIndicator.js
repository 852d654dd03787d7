import { button } from "../components/controls.js";
import { element, setAttribute, setText, show } from "../components/element.js";
import { t } from "../language/language.js";
import { errorText } from "../text/errorText.js";
import { syncText } from "../text/syncText.js";

/** Sync status: an indicator that is always visible, and a panel that opens when it is pressed. */
export class SyncIndicator {
  #controller;
  #notify;
  #words = element("span", { class: "sync-words" });
  #panelTitle = element("h2", { class: "sync-title" });
  #lines = element("div", { class: "stack-small" });
  #now = button(t("Sync now"), () => this.#sync(), { kind: "primary" });
  #shown = "";
  node = element("button", { type: "button", class: "sync-sign", popovertarget: "sync-panel" },
    element("span", { class: "sync-dot", "aria-hidden": "true" }), this.#words);
  panel = element("div", { id: "sync-panel", class: "sync-panel", popover: "auto",
    role: "dialog", "aria-label": t("How the sync stands") },
    this.#panelTitle, this.#lines, this.#now);
  /** For screen readers: changed rarely, and only for important states. */
  announcement = element("p", { class: "visually-hidden", role: "status" });

  constructor(controller, notify) {
    this.#controller = controller;
    this.#notify = notify;
  }

  show() {
    const { status, now, minutesAhead } = this.#controller;
    const { tone, short, lines, canSync, again, relay = null } = syncText(status, now,
      minutesAhead);
    setAttribute(this.node, "data-tone", tone);
    setAttribute(this.node, "data-state", status.state);
    setAttribute(this.panel, "data-tone", tone);
    setText(this.#words, short);
    setAttribute(this.node, "aria-label", t("Sync: {short}. Show more", { short }));
    setText(this.#panelTitle, short);
    const text = [...lines, relay].join("\n");
    if (text !== this.#shown) {
      this.#shown = text;
      this.#lines.replaceChildren(...lines.map((line) => element("p", {}, line)),
        ...relay === null ? [] : [element("p", {}, element("a", { href: relay }, relay))]);
    }
    show(this.#now, canSync);
    setText(this.#now, again);
    // Syncing begins and ends with each change, so it is not announced.
    if (tone === "away" || tone === "bad") {
      setText(this.announcement, t("Sync: {short}", { short }));
    } else if (tone === "good" && this.announcement.textContent !== "") {
      setText(this.announcement, t("In sync again"));
    }
  }

  async #sync() {
    this.#now.disabled = true;
    try {
      const { state } = await this.#controller.lockstep.syncNow();
      if (state === "inSync") this.#notify(t("In sync."));
    } catch (error) {
      this.#notify(errorText(error));
    }
    this.#now.disabled = false;
    this.show();
  }
}
