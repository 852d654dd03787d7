import { button } from "../page/components/controls.js";
import { element, setAttribute, setText, show } from "../page/components/element.js";
import { Notices } from "../page/components/notices.js";
import { accountOf } from "./accountsModel.js";
import { AccountsView } from "./accountsView.js";
import { AccountView } from "./accountView.js";
import { signInCode } from "./codeModel.js";
import { LiveView } from "./liveView.js";
import { NewAccountView } from "./newAccountView.js";
import { OwnerCalls } from "./ownerCalls.js";
import { OwnerFault, faultText } from "./ownerFault.js";
import { SignInView } from "./signInView.js";
import { StoreView } from "./storeView.js";

const usedLink = "That link was used already, or is older than 10 minutes. Make a new one on the "
  + "relay's machine: sudo lockstep relay admin";

/**
 * The owner's page: sign-in, navigation, and one view at a time. A view has `node` and `title`, and
 * may have `enter(argument)`, `leave()`, `show()` (its texts depend on the time) and `refresh()`,
 * which is called every `interval` milliseconds while the page is visible.
 */
export class OwnerPage {
  browser;
  calls;
  /** `{accounts, isComplete}` as last read; null before. */
  list = null;
  #views;
  #signIn = new SignInView((code) => this.#begin(code));
  #current = null;
  #timer = null;
  #links = new Map();
  #main = element("main", { id: "main", tabindex: -1 });
  #bar;
  #notices;

  constructor(browser, place) {
    this.browser = browser;
    this.calls = new OwnerCalls(browser);
    this.calls.onEnd = () => this.#ended();
    this.#notices = new Notices(browser);
    this.#views = new Map([
      ["accounts", new AccountsView(this)], ["account", new AccountView(this)],
      ["new", new NewAccountView(this)], ["store", new StoreView(this)],
      ["live", new LiveView(this)],
    ]);
    const links = [["accounts", "Accounts"], ["store", "Store"], ["live", "Live figures"]];
    for (const [name, words] of links) {
      this.#links.set(name, element("a", { href: `#${name}`, class: "owner-link" }, words));
    }
    this.#bar = element("header", { class: "owner-bar", hidden: true },
      element("a", { href: "#accounts", class: "owner-brand" },
        element("img", { src: "/page/icons/icon.svg", alt: "", width: 28, height: 28 }),
        element("span", {}, "Lockstep"), element("span", { class: "badge" }, "Owner")),
      element("nav", { class: "owner-nav", "aria-label": "Views" }, ...this.#links.values()),
      button("Sign out", () => this.#signOut(), { kind: "quiet" }));
    place.replaceChildren(this.#bar, this.#main, this.#notices.node);
  }

  /** Time of the relay, by which its answers are dated. */
  get now() { return this.browser.now() + this.calls.clockAhead; }

  get minutesAhead() { return this.browser.minutesAhead(this.now); }

  async start() {
    addEventListener("hashchange", () => this.#follow());
    document.addEventListener("visibilitychange", () => this.#tick());
    await this.#follow();
  }

  notify(words) { this.#notices.show(words); }

  /** Opens a view by its name. */
  go(place) {
    if (location.hash === `#${place}`) this.#open(place);
    else location.hash = place;
  }

  /** Reads all accounts. Concurrent calls share one reading. */
  readAccounts() {
    this.#reading ??= this.#readList().finally(() => { this.#reading = null; });
    return this.#reading;
  }

  #reading = null;

  async #readList() {
    const { accounts, isComplete } = await this.calls.accounts();
    this.list = { accounts: accounts.map(accountOf), isComplete };
    return this.list;
  }

  /** Drops an account from the list that was read. */
  forget(id) {
    if (this.list === null) return;
    this.list = { ...this.list, accounts: this.list.accounts.filter((it) => it.id !== id) };
  }

  showTitle() { document.title = `${this.#current.title} – Lockstep, owner`; }

  /** Acts on the address: a link to sign in, or the name of a view. The code leaves the address
   * before it is used, so that it is in no history. */
  async #follow() {
    const { hash } = location;
    if (hash.startsWith("#code=")) {
      history.replaceState(null, "", location.pathname);
      await this.#useLink(signInCode(hash));
      return;
    }
    if (this.calls.isSignedIn) this.#open(decoded(hash.slice(1)));
    else this.#show(this.#signIn);
  }

  async #useLink(code) {
    const isSignedIn = this.calls.isSignedIn;
    if (!isSignedIn) {
      this.#signIn.tell("Signing in …");
      this.#show(this.#signIn);
    }
    try {
      if (code === null) throw new OwnerFault({ code: "badCode" });
      await this.#begin(code);
    } catch (error) {
      if (isSignedIn) {
        this.#open("accounts");
        this.notify(`${signInProblem(error)} You are still signed in.`);
        return;
      }
      this.#signIn.tell("");
      this.#signIn.fail(signInProblem(error));
    }
  }

  /** Begins a session, and shows the accounts. Throws the fault with the words for a person. */
  async #begin(code) {
    try {
      await this.calls.signIn(code);
    } catch (error) {
      throw new OwnerFault({ code: "signIn", detail: signInProblem(error) });
    }
    this.list = null;
    this.#signIn.tell("");
    this.go("accounts");
  }

  async #signOut() {
    let words = "You are signed out.";
    try {
      await this.calls.signOut();
    } catch (error) {
      words = `You are signed out here. ${faultText(error)} The session ends by itself within 12 `
        + "hours.";
    }
    this.#leaveAll(words);
  }

  #ended() { this.#leaveAll("Your session has ended: sign in again with a new link."); }

  #leaveAll(words) {
    this.list = null;
    for (const dialog of document.querySelectorAll("dialog")) dialog.close();
    this.#signIn.tell(words);
    this.#show(this.#signIn);
  }

  #open(place) {
    const [name, argument = ""] = place.split("/");
    const isKnown = this.#views.has(name) && (name === "account") === (argument !== "");
    const view = this.#views.get(isKnown ? name : "accounts");
    this.#show(view, argument);
    for (const [other, link] of this.#links) {
      const isCurrent = other === name || (other === "accounts" && this.#isOfAccounts(view));
      setAttribute(link, "aria-current", isCurrent ? "page" : null);
    }
  }

  #isOfAccounts(view) {
    return ["accounts", "account", "new"].some((name) => this.#views.get(name) === view);
  }

  #show(view, argument) {
    const isFirst = this.#current === null;
    this.#current?.leave?.();
    this.#current = view;
    const isSignedOut = view === this.#signIn;
    show(this.#bar, !isSignedOut);
    document.body.classList.toggle("is-signed-out", isSignedOut);
    this.#main.replaceChildren(view.node);
    view.enter?.(argument);
    view.show?.();
    this.showTitle();
    scrollTo(0, 0);
    // A screen reader continues at the beginning of the new view.
    const hasFocus = this.#main.contains(document.activeElement);
    if (!isFirst && !hasFocus) this.#main.focus({ preventScroll: true });
    this.#tick();
  }

  /** Reads again what is shown, while the page is visible. */
  async #tick() {
    this.browser.clearTimer(this.#timer);
    const view = this.#current;
    if (!view?.refresh || document.hidden) return;
    await view.refresh();
    if (view !== this.#current) return;
    this.browser.clearTimer(this.#timer);
    this.#timer = this.browser.setTimer(() => this.#tick(), view.interval);
  }
}

function signInProblem(error) {
  if (!(error instanceof OwnerFault)) return faultText(error);
  if (error.code === "signIn") return error.detail;
  const isOfRelay = !["noAnswer", "intercepted", "tooManyRequests"].includes(error.code);
  return isOfRelay ? usedLink : faultText(error);
}

/** Returns the name of a view in an address; empty if it is malformed. */
function decoded(hash) {
  try {
    return decodeURIComponent(hash);
  } catch (error) {
    if (error instanceof URIError) return "";
    throw error;
  }
}
