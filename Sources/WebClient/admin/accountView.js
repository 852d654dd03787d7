import { button } from "../page/components/controls.js";
import { confirmAction } from "../page/components/dialog.js";
import { element, setText, show } from "../page/components/element.js";
import { dayAt, longDate } from "../page/text/time.js";
import { bytes, count } from "../status/format.js";
import { accountOf, nameOf } from "./accountsModel.js";
import { Action, Rows } from "./action.js";
import { CodeCard, validityField } from "./codeCard.js";
import { offerOf } from "./codeModel.js";
import { deviceRows } from "./deviceModel.js";
import { ExportCard } from "./exportCard.js";
import { limits } from "./limits.js";
import { OwnerFault, faultText } from "./ownerFault.js";
import { PlanForm } from "./planForm.js";
import { RemoveCard } from "./removeCard.js";

/** View of one account. */
export class AccountView {
  #page;
  /** Id of the account that is shown. */
  #id = null;
  #account = null;
  #devices = [];
  #heading = element("h1", {});
  #problem = element("p", { class: "problem", role: "alert", hidden: true });
  #facts = element("dl", { class: "facts" });
  #list = element("ul", { class: "device-rows" });
  #rows = new Rows(this.#list, (row) => this.#row(row));
  #noDevice = element("p", { class: "muted" },
    "No device has joined yet, or all were removed. Make a code below.");
  #deviceProblem = element("p", { class: "problem", role: "alert", hidden: true });
  #validity = validityField(600);
  #code;
  #issue = new Action("Make a code", () => this.#issueCode(), { kind: "primary" });
  #plan = new PlanForm((plan, saved) => this.#savePlan(plan, saved));
  #export;
  #remove;
  #content;

  constructor(page) {
    this.#page = page;
    this.#code = new CodeCard(page);
    this.#export = new ExportCard(page);
    this.#remove = new RemoveCard((account) => this.#removeAccount(account),
      (words) => page.notify(words));
    this.#content = element("div", { class: "account-parts", hidden: true },
      element("section", { class: "card stack part-devices", "aria-labelledby": "devices-title" },
        element("h2", { id: "devices-title" }, "Devices"), this.#noDevice, this.#list,
        this.#deviceProblem),
      element("section", { class: "card stack part-code", "aria-labelledby": "code-title" },
        element("h2", { id: "code-title" }, "Add a device"),
        element("p", { class: "muted" }, "A code lets one more device into the account: also if "
          + "all its devices are lost. If its records are sealed, that device then asks for the "
          + "recovery phrase, or for a code of a device that has the keys."),
        this.#code.node, this.#validity.node, this.#issue.problem,
        element("div", { class: "actions start" }, this.#issue.button)),
      element("div", { class: "part-others" },
        this.#plan.node, this.#export.node, this.#remove.node));
    this.node = element("div", { class: "view" },
      element("p", { class: "back" }, element("a", { href: "#accounts" }, "All accounts")),
      element("div", { class: "view-head" }, this.#heading), this.#facts, this.#problem,
      this.#content);
  }

  get title() { return this.#account ? nameOf(this.#account) : "Account"; }

  get interval() { return limits.accountMilliseconds; }

  /** @param {string} id */
  enter(id) {
    this.leave();
    this.#id = id;
    this.#account = this.#page.list?.accounts.find((it) => it.id === id) ?? null;
    this.#devices = null;
    show(this.#content, false);
    show(this.#problem, false);
    show(this.#deviceProblem, false);
    this.#facts.replaceChildren();
    this.#plan.reset();
    setText(this.#heading, this.title);
  }

  leave() {
    this.#id = null;
    this.#code.close();
    setText(this.#issue.button, "Make a code");
    this.#issue.reset();
    this.#export.reset();
  }

  async refresh() {
    const id = this.#id;
    if (id === null) return;
    try {
      const account = accountOf(await this.#page.calls.account(id));
      const { devices } = await this.#page.calls.devices(id);
      if (id !== this.#id) return;
      this.#account = account;
      this.#devices = devices;
      show(this.#problem, false);
    } catch (error) {
      if (id !== this.#id) return;
      const isGone = error instanceof OwnerFault && error.code === "notFound";
      setText(this.#problem, isGone
        ? "There is no such account; it was removed. Go back to all accounts." : faultText(error));
      show(this.#problem, true);
      if (isGone) this.#close();
    }
    this.show();
  }

  /** Shows no more of an account that is gone, and does not ask for it again. */
  #close() {
    this.#id = null;
    this.#account = null;
    show(this.#content, false);
  }

  show() {
    if (this.#account === null || this.#devices === null) return;
    const { now, minutesAhead } = this.#page;
    setText(this.#heading, nameOf(this.#account));
    this.#page.showTitle();
    this.#showFacts(minutesAhead);
    this.#rows.show(deviceRows(this.#devices, now, minutesAhead));
    show(this.#noDevice, this.#devices.length === 0);
    this.#plan.show(this.#account.plan);
    this.#export.show(this.#account);
    this.#remove.show(this.#account);
    this.#code.show();
    if (this.#problem.hidden) show(this.#content, true);
  }

  #showFacts(minutesAhead) {
    const { id, madeAt, recordBytes, chunkBytes, records } = this.#account;
    const facts = [
      ["Made", longDate(dayAt(madeAt, minutesAhead))], ["Records", count(records)],
      ["Room of records", bytes(recordBytes)], ["Room of files", bytes(chunkBytes)],
      ["Id", id],
    ];
    const texts = facts.flat();
    const shown = [...this.#facts.querySelectorAll("dt, dd")].map((it) => it.textContent);
    if (texts.join("\n") === shown.join("\n")) return;
    this.#facts.replaceChildren(...facts.map(([words, value]) =>
      element("div", {}, element("dt", {}, words), element("dd", {}, value))));
  }

  #row({ id, name, isConnected, about, scope }) {
    return element("li", { class: "device-row" },
      element("span", { class: "presence", "data-connected": isConnected, "aria-hidden": "true" }),
      element("div", { class: "device-words" },
        element("p", { class: "device-name" }, name),
        element("p", { class: "small" }, scope), element("p", { class: "muted small" }, about)),
      button("Revoke", () => this.#revoke(id, name),
        { kind: "danger", "aria-label": `Revoke ${name}`, "data-name": id }));
  }

  async #revoke(device, name) {
    const id = this.#id;
    const isSure = await confirmAction({ title: `Revoke “${name}”?`, yes: "Revoke",
      words: "It is cut off at once and gets nothing new. What it already holds it keeps. If the "
        + "account's records are sealed, remove it on another device of the account instead: that "
        + "one changes the keys, too." });
    if (!isSure || id !== this.#id) return;
    show(this.#deviceProblem, false);
    try {
      await this.#page.calls.revoke(id, device);
      this.#page.notify(`“${name}” is revoked.`);
    } catch (error) {
      const isGone = error instanceof OwnerFault && error.code === "notFound";
      setText(this.#deviceProblem,
        isGone ? `“${name}” was revoked already.` : faultText(error));
      show(this.#deviceProblem, true);
    }
    await this.refresh();
  }

  async #issueCode() {
    const id = this.#id;
    const answer = await this.#page.calls.issueCode(id, Number(this.#validity.input.value));
    if (id !== this.#id) return;
    this.#code.open(offerOf(answer), nameOf(this.#account));
    this.#issue.words = "Make another code";
  }

  async #savePlan(plan, saved) {
    const id = this.#id;
    await this.#page.calls.setPlan(id, plan);
    saved();
    this.#page.notify("The plan is saved.");
    if (id === this.#id) await this.refresh();
  }

  async #removeAccount(account) {
    await this.#page.calls.remove(account.id);
    this.#page.forget(account.id);
    this.#page.notify(`“${nameOf(account)}” is removed.`);
    if (account.id === this.#id) this.#page.go("accounts");
  }
}
