import { act } from "../apps/edit.js";
import { t } from "./language/language.js";
import { limits } from "./limits.js";

/** Joins the apps to the client for a person's actions. Does not use the page's elements. */
export class AppController {
  #lockstep;
  #browser;
  #devices = { account: null, list: [] };
  #lastRequest = { at: -Infinity, answer: null, account: null };
  #isLoadingDevices = false;
  #nameRefresh = null;
  #checkWords = { account: null, needsKeys: false, words: null };
  #listeners = new Set();

  constructor(lockstep, browser) {
    this.#lockstep = lockstep;
    this.#browser = browser;
    lockstep.subscribe((event) => {
      this.#refreshNames(event);
      this.#followKeys(event);
      this.#notify(event);
    });
    this.#refreshNames({ kind: "status" });
  }

  get lockstep() { return this.#lockstep; }

  get browser() { return this.#browser; }

  get status() { return this.#lockstep.status; }

  /** Relay time in whole milliseconds. */
  get now() { return Math.floor(this.#lockstep.now); }

  get minutesAhead() { return this.#browser.minutesAhead(this.now); }

  /** Devices of the account as last known. After a reload only their names are known, until the
   * relay answers. */
  get devices() {
    const { account, list } = this.#devices;
    return account === this.status.accountID ? list : [];
  }

  /** Words to compare with the account's other devices, as last read; null if this browser does not
   * have the account's keys. */
  get checkWords() {
    const { account, words } = this.#checkWords;
    return account === this.status.accountID ? words : null;
  }

  async refreshCheckWords() {
    const { accountID: account, needsKeys } = this.status;
    // Set before the wait: what happens during it is followed.
    this.#checkWords = { ...this.#checkWords, account, needsKeys,
      words: this.checkWords };
    const words = await this.#lockstep.checkWords();
    if (this.#checkWords.account !== account) return;
    this.#checkWords = { ...this.#checkWords, words };
    this.#notify({ kind: "checkWords" });
  }

  /** Reads the check words again after the account has got new keys, if they were read before:
   * another device, or another tab, may make them. */
  #followKeys({ kind, records = [] }) {
    if (this.#checkWords.account === null) return;
    const { accountID, needsKeys } = this.status;
    const isChanged = this.#checkWords.account !== accountID
      || this.#checkWords.needsKeys !== needsKeys
      || (kind === "changed" && records.some(({ zone }) => zone === "Keys"));
    if (isChanged && accountID !== null) this.refreshCheckWords().catch(() => {});
  }

  /** Subscribes to changes of records, of the sync status, of the devices (`kind` "devices"),
   * and of the check words ("checkWords"). */
  subscribe(listener) { this.#listeners.add(listener); }

  /** Returns the input of an app. @returns {import("../apps/edit.js").AppState} */
  state(app) {
    const { asking, deviceID } = this.status;
    return {
      records: this.#lockstep.records(app.zone),
      asking: asking.filter(({ zone }) => zone === app.zone).map(({ server }) => server),
      device: deviceID ?? "", deviceNames: this.#deviceNames,
    };
  }

  /**
   * Performs a person's action. Resolves with the changed records, once they are stored.
   *
   * @throws {import("../lockstep.js").EditError} the message is for the person
   */
  async act(app, action) {
    const { asking, random } = { asking: this.state(app).asking, random: this.#browser.random };
    if (action.do === "keep") return this.#decide(app, action);
    return this.#lockstep.change(({ records, stamp, device, now }) =>
      act(app, { records: records(app.zone), asking, stamp, device }, action, Math.floor(now),
        random).changes);
  }

  async #decide(app, action) {
    const { decisions } = act(app, this.state(app), action, this.now, this.#browser.random);
    for (const decision of decisions) await this.#lockstep.decide(decision);
    return [];
  }

  /** Asks the relay for the devices, unless the last answer is recent. */
  async refreshDevices({ isForced = false } = {}) {
    const account = this.status.accountID;
    if (!account) return;
    const isFresh = this.now - this.#lastRequest.at < limits.devicesMilliseconds
      && this.#lastRequest.account === account;
    if (isFresh && !isForced) return this.#lastRequest.answer;
    const answer = this.#lockstep.devices().then((list) => this.#setDevices(account, list));
    this.#lastRequest = { at: this.now, answer, account };
    return answer;
  }

  #setDevices(account, list) {
    this.#devices = { account, list };
    this.#notify({ kind: "devices" });
  }

  /** Uses the stored names until the relay answers. */
  async #loadKnownDevices(account) {
    if (this.#isLoadingDevices) return;
    this.#isLoadingDevices = true;
    const list = await this.#lockstep.knownDevices().catch(() => []);
    this.#isLoadingDevices = false;
    if (this.#devices.account !== account && this.status.accountID === account) {
      this.#setDevices(account, list);
    }
  }

  /** Asks the relay for names if a change comes from a device without a known name. A device with a
   * scope gets its own name alone. */
  #refreshNames({ kind, records = [] }) {
    const { state, accountID, scope } = this.status;
    if (accountID !== null && accountID !== this.#devices.account) {
      this.#loadKnownDevices(accountID);
    }
    const isNew = accountID !== this.#lastRequest.account
      && ["inSync", "needsPerson"].includes(state);
    const names = this.#deviceNames;
    const hasUnknownDevice = kind === "changed" && scope === null
      && records.some(({ device }) => !Object.hasOwn(names, device));
    if (isNew) this.refreshDevices().catch(() => {});
    if (hasUnknownDevice) this.#scheduleNameRefresh();
  }

  /** Asks for the names after a delay: a recent answer may be older than the new device. If there
   * is no answer, the names stay unknown; nothing waits for them. */
  #scheduleNameRefresh() {
    const rest = Math.min(this.#lastRequest.at + limits.devicesMilliseconds - this.now,
      limits.devicesMilliseconds);
    this.#browser.clearTimer(this.#nameRefresh);
    this.#nameRefresh = this.#browser.setTimer(
      () => this.refreshDevices({ isForced: true }).catch(() => {}), rest);
  }

  get #deviceNames() {
    const names = this.devices.map(({ deviceID, deviceName }) => [deviceID, deviceName]);
    return { ...Object.fromEntries(names), [this.status.deviceID ?? ""]: t("this browser") };
  }

  #notify(event) { for (const listener of [...this.#listeners]) listener(event); }
}
