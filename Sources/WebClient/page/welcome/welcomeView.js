import { askToCompare } from "../components/checkWords.js";
import { button, field, form } from "../components/controls.js";
import { element, setText, show } from "../components/element.js";
import { KeyProgress } from "../components/keyProgress.js";
import { showPhrase } from "../components/recoveryPhrase.js";
import { KeysCard } from "../devices/keysCard.js";
import { takeFreeName } from "../devices/ownName.js";
import { t } from "../language/language.js";
import { limits } from "../limits.js";
import { languageField } from "../shell/languageField.js";
import { codeIn, halvesOf } from "../text/deviceText.js";
import { errorText } from "../text/errorText.js";
import { RemovedDeviceCard } from "./removedDeviceCard.js";
import { SecondHalfCard } from "./secondHalfCard.js";

const about = () => t("A timer, a clipboard, memos and habits, in step on all your devices.");
const offered = () => t("A link brought a pairing code. Press Pair, and this browser is a device "
  + "of its account.");
const needsKeysText = () => t("This browser is in the account now. The relay cannot read what is "
  + "in it: type the words of the recovery phrase, or a code of a device that still has the "
  + "account.");

/** Name under which the browser keeps the account whose keys are asked for first. */
const asksKeysOf = "lockstep asks keys of";

/** First view for a person: makes this browser a device of an account. */
export class WelcomeView {
  title = t("Welcome");
  #controller;
  #defaultName;
  #code = element("input", { type: "text", autocomplete: "off", autocapitalize: "characters",
    spellcheck: "false", placeholder: "XXXX-XXXX-XXXX", class: "code-input", maxlength: 200 });
  #name = element("input", { type: "text", autocomplete: "off", maxlength: limits.deviceName });
  #problem = element("p", { class: "problem", role: "alert", hidden: true });
  #pair = element("button", { type: "submit", class: "button primary wide" }, t("Pair"));
  #create = button(t("Make a new account"), () => this.#join(null), { class: "button wide" });
  #sealed = element("input", { type: "checkbox", checked: true });
  #sealedLabel = element("label", { class: "check small" }, this.#sealed,
    t("Seal it: the relay stores it, and cannot read it"));
  #or = element("p", { class: "or" }, element("span", {}, t("or")));
  #lead = element("p", { class: "lead" });
  #closed = element("p", { class: "hint centered", hidden: true },
    t("The owner of this relay makes the accounts. Ask for a pairing code, or a link."));
  /** False if the relay makes accounts for no one; null until it is known. */
  #isOpen = null;
  #isAsking = false;
  /** True while the second half of a code is asked for. */
  #isAskingHalf = false;
  /** Code of an opened link, with its mark. */
  #offered = null;
  /** True until it is known what a joined account needs. */
  #isJoining = false;
  /** Account whose keys are asked for first; null if none. Also after a reload. */
  #asksKeysOf;
  #changed;
  #left;
  #keys;
  #progress;
  #secondHalf;
  #form;
  #language;

  /**
   * @param {() => void} changed called when `isNeeded` may have changed
   * @param {() => void} reload shows the page in another language
   */
  constructor(controller, name, { changed, reload }) {
    this.#controller = controller;
    this.#changed = changed;
    this.#asksKeysOf = controller.browser.memory.read(asksKeysOf);
    controller.subscribe(({ kind }) => { if (kind === "status") this.#followKeys(); });
    this.#defaultName = name;
    this.#name.defaultValue = name;
    this.#progress = new KeyProgress(
      controller.browser.keyWorker, t("Opening the account's keys…"));
    this.#secondHalf = new SecondHalfCard(this.#progress);
    this.#keys = new KeysCard(controller, () => this.#changed(),
      button(t("Not now"), () => this.#setAsksKeysOf(null), { class: "button wide" }));
    this.#left = new RemovedDeviceCard(controller, (words) => this.#showProblem(words));
    this.#form = form({ class: "card stack" }, () => this.#pairByCode(),
      field(t("Pairing code"), this.#code,
        t("12 or 24 letters, from a device of the account, or from the relay's owner.")),
      field(t("This browser's name"), this.#name),
      this.#problem, this.#progress.node, this.#pair,
      this.#or, this.#create, this.#sealedLabel, this.#closed,
      element("p", { class: "hint centered" },
        t("No name, no password: the account lives on your devices.")));
    this.node = element("section", { class: "welcome", "aria-labelledby": "welcome-title" },
      element("img", { src: "page/icons/icon.svg", alt: "", width: 56, height: 56 }),
      element("h1", { id: "welcome-title" }, "Lockstep"),
      this.#lead, this.#left.node, this.#form, this.#secondHalf.node);
    this.#language = languageField(controller.browser.choices, reload);
    this.node.append(this.#language);
    setText(this.#lead, about());
  }

  /** Fields whose text outlives a reload by the page. */
  get drafts() { return { code: this.#code, name: this.#name }; }

  /** True if this view is to be shown, also in a browser that has an account. */
  get isNeeded() {
    return this.#controller.status.state === "needsPairing" || this.#isJoining || this.#asksKeys;
  }

  get #asksKeys() {
    const { accountID, needsKeys, state } = this.#controller.status;
    return needsKeys && state !== "needsPairing" && this.#asksKeysOf === accountID;
  }

  #setAsksKeysOf(account) {
    this.#asksKeysOf = account;
    this.#controller.browser.memory.write(asksKeysOf, account ?? "");
    this.#changed();
  }

  /** Fills in the code of an opened link: its first half, because a link that a browser opens must
   * not have the second. The person must still press Pair, because another person may have sent the
   * link. */
  offer(code) {
    const [half, second] = halvesOf(codeIn(code) ?? code);
    this.#offered = second === "" ? codeIn(code) : half;
    this.#code.value = half;
    setText(this.#lead, offered());
    this.show();
  }

  show() {
    const { accountID } = this.#controller.status;
    this.#left.show();
    this.#keys.show(needsKeysText());
    if (!this.#asksKeys) this.#keys.node.remove();
    else if (this.#keys.node.parentNode === null) this.#language.before(this.#keys.node);
    if (!this.#isAskingHalf) {
      for (const it of [this.#form, this.#lead]) show(it, !this.#asksKeys);
    }
    // Another account would be refused while the data of this one is in the browser. Who has opened
    // a link is to join that account.
    const isNew = accountID === null && this.#offered === null;
    if (isNew && this.#isOpen === null) this.#askRelay();
    for (const it of [this.#create, this.#sealedLabel, this.#or]) show(it, isNew && this.#isOpen);
    show(this.#closed, isNew && this.#isOpen === false);
  }

  /** Finds out if the relay makes accounts for anyone. Without an answer, the button is offered,
   * and a refusal says why. */
  async #askRelay() {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      this.#isOpen = await this.#controller.lockstep.acceptsAccounts();
    } catch {
      this.#isOpen = true;
    }
    this.#isAsking = false;
    this.show();
  }

  leave() {
    this.#isOpen = null;
    this.#keys.leave();
    this.#secondHalf.cancel();
    this.#sealed.checked = true;
  }

  async #pairByCode() {
    const code = codeIn(this.#code.value);
    if (code) return this.#join(this.#offered && halvesOf(this.#offered)[0] === code
      ? this.#offered : code);
    this.#showProblem(
      t("That is no pairing code: one has 12 or 24 letters and digits, in groups of four."));
    this.#code.focus();
  }

  async #join(code) {
    const { lockstep } = this.#controller;
    const deviceName = this.#name.value.trim() || t("Browser");
    show(this.#problem, false);
    this.#setBusy(true);
    this.#isJoining = true;
    try {
      if (code) await this.#progress.during(() => this.#joinByCode(code, deviceName));
      else await this.#createAccount(deviceName);
      this.#forgetCode();
      // Only what a person did not name: two devices may be meant to have one name.
      if (code && deviceName === this.#defaultName) {
        takeFreeName(lockstep, deviceName).catch(() => {});
      }
      // The browser may delete what it was not asked to keep. The answer may be no.
      this.#controller.browser.persist().catch(() => {});
    } catch (error) {
      this.#showProblem(errorText(error));
    }
    this.#setBusy(false);
    this.#isJoining = false;
    this.#changed();
  }

  async #createAccount(deviceName) {
    const { lockstep } = this.#controller;
    await lockstep.createAccount({ deviceName }, { isSealed: this.#sealed.checked });
    const phrase = await lockstep.recoveryPhrase();
    if (phrase) showPhrase(phrase);
  }

  async #joinByCode(code, deviceName) {
    const { lockstep } = this.#controller;
    let hasKeys = halvesOf(code)[1] !== "";
    const askSecondHalf = (question) => {
      hasKeys = true;
      this.#isAskingHalf = true;
      for (const it of [this.#form, this.#lead]) show(it, false);
      return this.#secondHalf.ask(question);
    };
    try {
      await lockstep.join(code, { deviceName }, { askSecondHalf, isSealed: true });
    } catch (error) {
      if (error.name === "EditError") this.#forgetCode();
      throw error;
    } finally {
      this.#isAskingHalf = false;
      this.#secondHalf.hide();
      this.#pair.before(this.#progress.node);
      for (const it of [this.#form, this.#lead]) show(it, true);
    }
    const words = await lockstep.checkWords();
    if (words && hasKeys) askToCompare(words);
    // The first device of an account that the relay's owner has made has sealed it.
    else if (words) showPhrase(await lockstep.recoveryPhrase());
    else await this.#askForKeys();
  }

  /** Asks for the keys of a sealed account that was joined without them, as with a code of the
   * relay's owner: until they are here, the other views are empty or old. The first sync shows if
   * the account is sealed; a long one goes on while the person sees the other views. */
  async #askForKeys() {
    const { lockstep, browser, status } = this.#controller;
    if (status.scope?.zones) return;
    this.#setAsksKeysOf(status.accountID);
    const rest = new Promise((resolve) => {
      browser.setTimer(resolve, limits.joinedMilliseconds);
    });
    await Promise.race([lockstep.syncNow(), rest]);
    if (!this.#asksKeys) return;
    this.show();
    this.#keys.focus();
  }

  /** Forgets the account once it is known that this browser needs no keys of it: who works in it is
   * not taken away from that if it is sealed later. */
  #followKeys() {
    const { accountID, needsKeys, state } = this.#controller.status;
    const isKnown = ["inSync", "needsPerson"].includes(state) && !needsKeys;
    if (isKnown && this.#asksKeysOf === accountID) this.#setAsksKeysOf(null);
  }

  /** Forgets a code that was used, also if nothing was joined. */
  #forgetCode() {
    this.#code.value = "";
    this.#offered = null;
    setText(this.#lead, about());
    this.show();
  }

  #setBusy(isBusy) {
    for (const it of [this.#pair, this.#create]) it.disabled = isBusy;
    setText(this.#pair, isBusy ? t("One moment…") : t("Pair"));
  }

  #showProblem(words) {
    this.#problem.textContent = words;
    show(this.#problem, true);
  }
}
