import { button, emptyNote, field, searchField } from "../page/components/controls.js";
import { element, setAttribute, setText, show } from "../page/components/element.js";
import { accountPage, orders, rangeText, rowOf } from "./accountsModel.js";
import { Rows } from "./action.js";
import { faultText } from "./ownerFault.js";
import { limits } from "./limits.js";

const columns = [
  ["devices", "Devices"], ["seen", "Last seen"], ["room", "Room taken"], ["files", "Files"],
  ["records", "Records"], ["plan", "Plan"],
];

/** List of all accounts: search, order, pages. */
export class AccountsView {
  title = "Accounts";
  #page;
  #choice = { query: "", order: orders[0].key, page: 0 };
  #problem = element("p", { class: "problem", role: "alert", hidden: true });
  #waiting = element("p", { class: "muted centered" }, "Reading the accounts …");
  #range = element("p", { class: "muted small", role: "status" });
  #cut = element("p", { class: "muted small", hidden: true }, "There are more accounts than this "
    + "page lists. lockstep account list prints all of them.");
  #body = element("tbody", { role: "rowgroup" });
  #table = element("table", { class: "accounts", role: "table", "aria-label": "Accounts" },
    element("thead", { role: "rowgroup" }, element("tr", { role: "row" },
      ["Name", ...columns.map(([, words]) => words)].map((words) =>
        element("th", { scope: "col", role: "columnheader" }, words)))),
    this.#body);
  #rows = new Rows(this.#body, (row) => this.#row(row));
  #none = emptyNote("No account yet", "Make the first one, and send its link to a person.");
  #noMatch = emptyNote("No account found", "Search for a part of a name or of an id.");
  #search = searchField("Search by name or id", (query) => this.#choose({ query, page: 0 }));
  #order = element("select", { on: { change: () =>
    this.#choose({ order: this.#order.value, page: 0 }) } },
  orders.map(({ key, words }) => element("option", { value: key }, words)));
  #former = button("Previous page", () => this.#turn(-1));
  #next = button("Next page", () => this.#turn(1));
  #pages = element("nav", { class: "actions pages", "aria-label": "Pages of the list" },
    this.#former, this.#next);

  /** @param {import("./ownerPage.js").OwnerPage} page */
  constructor(page) {
    this.#page = page;
    this.node = element("div", { class: "view" },
      element("div", { class: "view-head" }, element("h1", {}, "Accounts"),
        element("a", { class: "button primary", href: "#new" }, "New account")),
      element("div", { class: "list-tools" }, this.#search, field("Order", this.#order)),
      this.#problem, this.#waiting, this.#none, this.#noMatch, this.#table,
      element("div", { class: "list-foot" }, this.#range, this.#pages), this.#cut);
  }

  get interval() { return limits.listMilliseconds; }

  async refresh() {
    try {
      await this.#page.readAccounts();
      show(this.#problem, false);
    } catch (error) {
      setText(this.#problem, faultText(error));
      show(this.#problem, true);
      show(this.#waiting, false);
    }
    this.show();
  }

  show() {
    const { list } = this.#page;
    const isRead = list !== null;
    const accounts = list?.accounts ?? [];
    const shown = accountPage(accounts, this.#choice);
    this.#choice.page = shown.page;
    const { now, minutesAhead } = this.#page;
    this.#rows.show(shown.rows.map((account) => rowOf(account, now, minutesAhead)));
    if (isRead) show(this.#waiting, false);
    show(this.#none, isRead && accounts.length === 0);
    show(this.#noMatch, accounts.length > 0 && shown.count === 0);
    show(this.#table, shown.count > 0);
    show(this.#cut, list?.isComplete === false);
    setText(this.#range, shown.count > 0 ? rangeText(shown, accounts.length) : "");
    show(this.#pages, shown.pages > 1);
    setAttribute(this.#former, "aria-disabled", shown.page === 0 && "true");
    setAttribute(this.#next, "aria-disabled", shown.page === shown.pages - 1 && "true");
  }

  #choose(change) {
    Object.assign(this.#choice, change);
    this.show();
  }

  #turn(step) {
    const before = this.#choice.page;
    this.#choose({ page: before + step });
    if (this.#choice.page !== before) this.#table.scrollIntoView({ block: "start" });
  }

  #row(row) {
    return element("tr", { role: "row" },
      element("th", { scope: "row", role: "rowheader" },
        element("a", { href: `#account/${row.id}`, "data-name": row.id }, row.name)),
      columns.map(([name, words]) =>
        element("td", { role: "cell", class: `is-${name}`, "data-label": words }, row[name])));
  }
}
