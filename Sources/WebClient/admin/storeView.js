import { element, setAttribute, setText, show } from "../page/components/element.js";
import { Rows } from "./action.js";
import { limits } from "./limits.js";
import { faultText } from "./ownerFault.js";
import { backupText, checkText, storeFacts } from "./storeModel.js";

/** View of the store: what it is, and how it is kept. */
export class StoreView {
  title = "Store";
  #page;
  #store = null;
  #problem = element("p", { class: "problem", role: "alert", hidden: true });
  #list = element("dl", { class: "fact-rows" });
  #rows = new Rows(this.#list, ([words, value]) =>
    element("div", {}, element("dt", {}, words), element("dd", {}, value)));
  #backup = new UpkeepCard("Last backup", "backup");
  #check = new UpkeepCard("Last check", "check");
  #content;

  constructor(page) {
    this.#page = page;
    this.#content = element("div", { class: "store-parts", hidden: true },
      this.#backup.node, this.#check.node,
      element("section", { class: "card", "aria-labelledby": "store-title" },
        element("h2", { id: "store-title" }, "Store and relay"), this.#list));
    this.node = element("div", { class: "view" },
      element("div", { class: "view-head" }, element("h1", {}, "Store")), this.#problem,
      this.#content);
  }

  get interval() { return limits.listMilliseconds; }

  async refresh() {
    try {
      this.#store = await this.#page.calls.store();
      show(this.#problem, false);
    } catch (error) {
      setText(this.#problem, faultText(error));
      show(this.#problem, true);
    }
    this.show();
  }

  show() {
    if (this.#store === null) return;
    const { now, minutesAhead } = this.#page;
    this.#rows.show(storeFacts(this.#store, now, minutesAhead));
    this.#backup.show(backupText(this.#store, now, minutesAhead));
    this.#check.show(checkText(this.#store, now, minutesAhead));
    show(this.#content, true);
  }
}

/** Card of a backup or a check: when it was, and if the owner should act. */
class UpkeepCard {
  #title = element("p", { class: "upkeep-title" });
  #lines = element("div", { class: "muted" });
  #rows = new Rows(this.#lines, ({ line }) => element("p", {}, line));

  constructor(words, name) {
    this.node = element("section", { class: "card upkeep stack-small",
      "aria-labelledby": `${name}-title` },
    element("h2", { id: `${name}-title` }, words), this.#title, this.#lines);
  }

  show({ tone, title, lines }) {
    setAttribute(this.node, "data-tone", tone);
    setText(this.#title, title);
    this.#rows.show(lines.map((line) => ({ line })));
  }
}
