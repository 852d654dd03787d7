import { element, icon, setAttribute, setText, show } from "../components/element.js";
import { t } from "../language/language.js";
import { hasZone, isReadOnly, readOnlyText } from "../text/scopeText.js";
import { planText } from "../text/syncText.js";
import { Shortcuts } from "./shortcuts.js";
import { SyncIndicator } from "./syncIndicator.js";

/** Frame of the page: navigation, sync status, and the current view. */
export class Shell {
  #views;
  #links = new Map();
  #current = null;
  #main = element("main", { id: "main", tabindex: -1 });
  #nav = element("nav", { class: "nav", "aria-label": t("Views") });
  #note = element("p", { class: "page-note", hidden: true });
  #plan = element("p", { class: "plan-note", role: "status" });
  #scope = element("p", { class: "scope-note", role: "status" });
  #controller;
  #bar;
  #indicator;
  #isFixed = false;

  /** @param {{name: string, view: object}[]} views in their order; the first is shown first */
  constructor(controller, { views, welcome, notices, place }) {
    this.#controller = controller;
    this.#views = new Map(views.map(({ name, view }) => [name, view]));
    this.#views.set("welcome", welcome);
    this.#indicator = new SyncIndicator(controller, (words) => notices.show(words));
    for (const { name, view } of views) {
      const link = element("a", { href: `#${name}`, class: "nav-link" }, icon(name),
        element("span", {}, view.title));
      this.#links.set(name, link);
      this.#nav.append(link);
    }
    const shortcuts = new Shortcuts(this, controller.browser.choices);
    this.#bar = element("header", { class: "bar" },
      element("a", { href: "#timer", class: "brand" },
        element("img", { src: "page/icons/icon.svg", alt: "", width: 28, height: 28 }),
        element("span", {}, "Lockstep")),
      this.#nav,
      element("button", { type: "button", class: "shortcuts-button",
        on: { click: () => shortcuts.toggleSheet() } },
      icon("keyboard"), element("span", {}, t("Keyboard shortcuts"))),
      this.#indicator.node, this.#indicator.announcement);
    show(this.#bar, false);
    place.replaceChildren(this.#bar, this.#main, this.#indicator.panel, notices.node);
    this.#main.append(this.#plan, this.#scope, this.#note);
  }

  focusMain() { this.#main.focus(); }

  /**
   * @param {string} name a view; a person without an account sees only the welcome view
   * @param {string | null} [entry] what the view opens, such as a memo; null for nothing
   */
  open(name, entry = null) {
    const view = this.#views.get(name);
    if (view !== this.#current) this.#openView(name, view);
    view.openEntry?.(entry);
  }

  #openView(name, view) {
    const hadFocus = this.#current?.node.contains(document.activeElement);
    this.#current?.leave?.();
    this.#current?.node.remove();
    this.#current = view;
    this.#scope.after(view.node);
    const isWelcome = name === "welcome";
    document.body.classList.toggle("is-welcome", isWelcome);
    show(this.#bar, !isWelcome);
    for (const [other, link] of this.#links) {
      setAttribute(link, "aria-current", other === name ? "page" : null);
    }
    view.enter?.();
    this.#showView();
    // The focused element is gone; a screen reader continues at the beginning of the new view.
    if (hadFocus) this.focusMain();
    scrollTo(0, 0);
  }

  get isEmpty() { return this.#current === null; }

  get isWelcome() { return this.#current === this.#views.get("welcome"); }

  get isTimer() { return this.#current === this.#views.get("timer"); }

  get title() { return this.#current?.title ?? ""; }

  /** Shortcuts of the current view. */
  get shortcuts() { return this.#current?.shortcuts ?? []; }

  /** True if this device may not change what the current view shows. */
  get isFixed() { return this.#isFixed; }

  /** Names of the views that are offered, in their order. */
  get shownNames() { return [...this.#links.keys()].filter((name) => this.has(name)); }

  /** True for a view of which this device may show something. */
  has(name) {
    const { zone } = this.#views.get(name) ?? {};
    return this.#links.has(name) && hasZone(this.#controller.status.scope, zone);
  }

  get first() { return this.shownNames[0]; }

  show() {
    for (const [name, link] of this.#links) show(link, this.has(name));
    this.#indicator.show();
    this.#showView();
  }

  /** A view of an app has its `zone`. A device that may only read it, or lacks its keys, is not
   * offered what changes something (`data-changes`). Without the keys it is not known whether the
   * view is empty (`data-locked`). */
  #showView() {
    const { status } = this.#controller;
    const zone = this.#current?.zone;
    setText(this.#plan, planText(status, zone));
    setText(this.#scope, readOnlyText(status.scope, zone));
    this.#isFixed = zone !== undefined
      && (isReadOnly(status.scope) || status.lockedZones.includes(zone));
    setAttribute(this.#main, "data-read-only", this.#isFixed);
    setAttribute(this.#main, "data-locked",
      zone !== undefined && status.lockedZones.includes(zone));
    this.#current?.show();
  }

  /** Shows one line below the view. */
  setNote(words) {
    setText(this.#note, words);
    show(this.#note, words !== "");
  }
}
