import { button } from "../components/controls.js";
import { element, setAttribute, setText, show } from "../components/element.js";
import { t } from "../language/language.js";

/**
 * View whose script is loaded when a person opens it, or soon after the page's start (`prepare`).
 * Until then it shows that it is loading; if it cannot be loaded, it offers to reload the page,
 * because browsers may keep a failed load until then. `prepare` of the view itself, if it has one,
 * reads what would otherwise move the view once it is shown.
 */
export class LaterView {
  #load;
  #view = null;
  #loading = null;
  #isOpen = false;
  #loaded;
  #entry = null;
  #words = element("p", { role: "status" });
  #reload;

  /**
   * @param {{name: string, title: string, zone?: string, reload: () => void,
   *   load: () => Promise<object>, loaded: () => void}} view its name in the address, title and
   *   zone; `load` returns the view itself, and `loaded` is called before that is shown
   */
  constructor({ name, title, zone, reload, load, loaded }) {
    this.title = title;
    this.zone = zone;
    this.#load = load;
    this.#loaded = loaded;
    this.#reload = button(t("Reload"), reload, { hidden: true });
    this.node = element("section",
      { class: "view", "data-view": name, "aria-label": title, "aria-busy": "true" },
      element("div", { class: "view-head" }, element("h1", {}, title)), this.#words, this.#reload);
  }

  get shortcuts() { return this.#view?.shortcuts ?? []; }

  /** Fields whose text outlives a reload by the page; none before the view is there. */
  get drafts() { return this.#view?.drafts ?? {}; }

  /** Loads the view if it is not there yet. */
  prepare() {
    this.#loading ??= this.#load()
      .then((view) => Promise.resolve(view.prepare?.()).then(() => this.#showLoaded(view)),
        () => this.#showFault());
    return this.#loading;
  }

  #showLoaded(view) {
    this.#view = view;
    this.#loaded();
    const waiting = this.node;
    this.node = view.node;
    waiting.replaceWith(view.node);
    if (!this.#isOpen) return;
    view.enter?.();
    view.show();
    view.openEntry?.(this.#entry);
  }

  #showFault() {
    setText(this.#words, t("This part of the page could not be loaded. It may need the relay, or "
      + "the relay may have a newer page."));
    setAttribute(this.node, "aria-busy", false);
    show(this.#reload, true);
  }

  enter() {
    this.#isOpen = true;
    if (this.#view) {
      this.#view.enter?.();
    } else {
      setText(this.#words, t("Loading this view …"));
      this.prepare();
    }
  }

  leave() {
    this.#isOpen = false;
    this.#view?.leave?.();
  }

  show() { this.#view?.show(); }

  openEntry(entry) {
    this.#entry = entry;
    this.#view?.openEntry?.(entry);
  }
}
