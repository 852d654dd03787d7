import { checkWordList } from "../components/checkWords.js";
import { button } from "../components/controls.js";
import { copyText } from "../components/copyText.js";
import { element, setText, show } from "../components/element.js";
import { KeyProgress } from "../components/keyProgress.js";
import { showPhrase } from "../components/recoveryPhrase.js";
import { t } from "../language/language.js";
import { qrCode } from "../qr/qrCode.js";
import { qrDrawing } from "../qr/qrDrawing.js";
import { halvesOf, linkTo } from "../text/deviceText.js";
import { abilities, scopeText } from "../text/scopeText.js";
import { errorText } from "../text/errorText.js";
import { CodeLimits } from "./codeLimits.js";
import { arrivalState, arrivalText, codeLifetime, newcomers } from "./devicesModel.js";

/** Card with a pairing code for another device, as a QR code, as text and as a link. */
export class PairCard {
  #controller;
  #notify;
  #shownCode;
  #issued = null;
  /** Ids of the devices that were there before the code was shown. */
  #former = [];
  /** Devices that joined with the last code, as last known. */
  #arrived = [];
  /** Second half of the code that they have used; empty if it has none. They may ask for it. */
  #half = "";
  #arrivalState = "opening";
  /** Changes each time when a code, also one that is being made, is not to be shown. */
  #turn = 0;
  #picture = element("div", { class: "qr" });
  #codeLead = element("p", { class: "muted small" });
  #code = element("p", { class: "code" });
  #halfNote = element("p", { class: "muted small half-note" },
    t("The picture and the link have only the first half. The other device then asks for the "
      + "second half: type the last 12 letters there."));
  #may = element("p", { class: "pair-may", role: "status" });
  #life = element("p", { class: "muted small" });
  #arrival = element("p", { class: "pair-arrival", role: "status" });
  #copies = element("div", { class: "actions start" },
    button(t("Copy code"), () => this.#copy(this.#issued.code), { kind: "primary" }),
    button(t("Copy link"), () => this.#copy(this.#link)));
  #shown = element("div", { class: "pair-shown", hidden: true, tabindex: -1, role: "group",
    "aria-label": t("Pairing code") }, this.#picture,
  element("div", { class: "pair-words" },
    this.#codeLead, this.#code, this.#halfNote, this.#life, this.#copies));
  #words = element("div", { class: "compare", hidden: true });
  #shownWords = null;
  #ask = button(t("Show a pairing code"), () => this.#issue(), { kind: "primary" });
  #lead = element("p", { class: "muted" });
  #problem = element("p", { class: "problem", role: "alert", hidden: true });
  #limits;
  #progress;

  /** @param {() => void} shownCode called when a code is shown, so that devices are watched */
  constructor(controller, notify, shownCode) {
    this.#controller = controller;
    this.#notify = notify;
    this.#shownCode = shownCode;
    this.#progress = new KeyProgress(controller.browser.keyWorker, t("Preparing the keys…"));
    // A code that is shown keeps the limits with which it was made.
    this.#limits = new CodeLimits(controller, () => this.#hideCode());
    this.node = element("section", { class: "card pair", "aria-labelledby": "pair-title" },
      element("h2", { id: "pair-title" }, t("Add a device")),
      this.#lead, this.#arrival, this.#shown, this.#may, this.#words, this.#limits.node,
      this.#problem, this.#progress.node, this.#ask);
  }

  /** True while a device may come, or is being opened. */
  get isShown() {
    return this.#issued !== null || (this.#arrived.length > 0 && this.#arrivalState === "opening");
  }

  /** Hides the code, so that it is not on the screen longer than needed, and limits the next one in
   * nothing. */
  hide() {
    this.#limits.reset();
    this.#forgetArrival();
    this.#hideCode();
  }

  #forgetArrival() {
    this.#arrived = [];
    this.#half = "";
    this.#arrivalState = "opening";
  }

  /** Names the devices that have joined; a new device may still change its name. A device without
   * the keys of a used code may leave again. */
  #showArrival() {
    const { devices, checkWords, lockstep } = this.#controller;
    const ids = this.#arrived.map(({ deviceID }) => deviceID);
    const here = devices.filter(({ deviceID }) => ids.includes(deviceID));
    if (here.length > 0) this.#arrived = here;
    // Who has joined, and is removed then, had opened the account.
    else if (["joined", "limited"].includes(this.#arrivalState)) this.#forgetArrival();
    if (this.#arrived.length > 0 && this.#arrivalState !== "joined") {
      this.#arrivalState = arrivalState(here, { carriesKeys: this.#half !== "",
        hasKey: (device) => lockstep.record("Keys", `device/${device}`) !== null });
    }
    setText(this.#arrival, this.#arrived.length === 0 ? ""
      : arrivalText(this.#arrived, this.#arrivalState, checkWords !== null));
  }

  /** Hides a code with which a device has joined, except for the half that the device may ask
   * for. */
  #handleArrival() {
    if (!this.#issued) return;
    const arrived = newcomers(this.#controller.devices, this.#former);
    if (arrived.length === 0) return;
    this.#arrived = arrived;
    [, this.#half] = halvesOf(this.#issued.code);
    this.#code.replaceChildren(element("span", {}, this.#half));
    this.#issued = null;
    this.#turn += 1;
  }

  /** True if a device that has used the code may ask for its second half. */
  get #mayAskHalf() {
    return this.#half !== "" && this.#arrived.length > 0
      && ["opening", "limited"].includes(this.#arrivalState);
  }

  #hideCode() {
    this.#issued = null;
    this.#turn += 1;
    show(this.#problem, false);
    this.show();
  }

  show() {
    this.#handleArrival();
    this.#showArrival();
    const isLimited = scopeText(this.#controller.status.scope) !== "";
    setText(this.#lead, isLimited
      ? t("Who has the code gets what this browser may use, and not more.")
      : t("Who has the code gets into this account. Show it to your own devices alone."));
    this.#limits.show();
    setText(this.#may, this.#issued ? abilities(this.#issued.scope) : "");
    this.#showWords();
    this.#keepFocus();
    show(this.#shown, this.#issued !== null || this.#mayAskHalf);
    for (const it of [this.#picture, this.#life, this.#copies]) show(it, this.#issued !== null);
    setText(this.#codeLead, this.#issued ? t("Scan it, or type on the other device:")
      : t("If the other device asks for the second half of the code, type there:"));
    show(this.#halfNote, this.#issued !== null && this.#issued.code !== this.#issued.linkCode);
    setText(this.#ask, this.#issued ? t("Show a new code") : t("Show a pairing code"));
    this.#ask.classList.toggle("primary", this.#issued === null);
    if (!this.#issued) return;
    setText(this.#life, codeLifetime(this.#issued.expiresAt, this.#controller.now));
  }

  /** A focused button goes with the code. The person looks at this place, which on a phone is far
   * from the button that stays. */
  #keepFocus() {
    if (this.#issued || !this.#shown.contains(document.activeElement)) return;
    (this.#mayAskHalf ? this.#shown : this.#ask).focus({ preventScroll: true });
    this.#arrival.scrollIntoView({ block: "nearest" });
  }

  #showWords() {
    const { checkWords } = this.#controller;
    show(this.#words, checkWords !== null);
    if (checkWords === null || checkWords === this.#shownWords) return;
    this.#shownWords = checkWords;
    this.#words.replaceChildren(
      element("h3", {}, t("Check words")), checkWordList(checkWords),
      element("p", { class: "muted small" },
        t("Each device with the account's keys shows these six words. Compare them after you have "
          + "added one: if they differ, remove that device.")),
      element("div", { class: "actions start" },
        button(t("Show the recovery phrase"), () => this.#showPhrase())));
  }

  async #showPhrase() {
    try {
      const phrase = await this.#controller.lockstep.recoveryPhrase();
      if (phrase) showPhrase(phrase);
    } catch (error) {
      this.#notify(errorText(error));
    }
  }

  get #link() { return linkTo(location.origin, this.#issued.linkCode); }

  async #issue() {
    const { options } = this.#limits;
    this.#problem.textContent = t("Choose at least one app for the new device.");
    show(this.#problem, options === null);
    if (options === null) return this.#limits.focusZones();
    this.#ask.disabled = true;
    const turn = this.#turn;
    try {
      await this.#controller.refreshDevices({ isForced: true });
      this.#former = this.#controller.devices.map(({ deviceID }) => deviceID);
      const issued = await this.#progress.during(
        () => this.#controller.lockstep.issueCode(options));
      if (turn === this.#turn) this.#display(issued);
    } catch (error) {
      this.#notify(errorText(error));
    }
    this.#ask.disabled = false;
    this.show();
    if (this.#issued && turn === this.#turn) this.#bringIntoView();
  }

  /** On a phone the code is above what was on the screen. */
  #bringIntoView() {
    this.#shown.focus({ preventScroll: true });
    this.#shown.scrollIntoView({ block: "start" });
  }

  #display(issued) {
    this.#issued = issued;
    this.#forgetArrival();
    this.#shownCode();
    this.#code.replaceChildren(...codeParts(issued.code));
    this.#picture.replaceChildren(qrDrawing(qrCode(this.#link), t("Pairing link as a QR code")));
  }

  async #copy(text) {
    const isCopied = await copyText(text);
    this.#notify(
      isCopied ? t("Copied.") : t("This browser does not let the page copy. Select the text."));
  }
}

/** Returns the halves of a code as two parts that a narrow screen shows below one another. */
function codeParts(code) {
  const [first, second] = halvesOf(code);
  return second === "" ? [element("span", {}, first)]
    : [element("span", {}, `${first}-`), element("wbr"), element("span", {}, second)];
}
