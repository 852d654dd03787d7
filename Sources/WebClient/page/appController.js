import { act } from "../apps/edit.js";
import { limits } from "./limits.js";

/** Joins the apps to the client for a person's actions. Does not use the page's elements. */
export class AppController {
  #lockstep;
  #browser;
  #devices = { account: null, list: [] };
  #asked = { at: -Infinity, answer: null, account: null };
  #isRemembering = false;
  #nextNames = null;
  #listeners = new Set();

  constructor(lockstep, browser) {
    this.#lockstep = lockstep;
    this.#browser = browser;
    lockstep.subscribe((news) => {
      this.#learnNames(news);
      this.#tell(news);
    });
    this.#learnNames({ kind: "status" });
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

  /** Subscribes to changes of records, of the sync status, and of the devices (`kind`
   * "devices"). */
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
    const isFresh = this.now - this.#asked.at < limits.devicesMilliseconds
      && this.#asked.account === account;
    if (isFresh && !isForced) return this.#asked.answer;
    const answer = this.#lockstep.devices().then((list) => this.#know(account, list));
    this.#asked = { at: this.now, answer, account };
    return answer;
  }

  #know(account, list) {
    this.#devices = { account, list };
    this.#tell({ kind: "devices" });
  }

  /** Uses the stored names until the relay answers. */
  async #remember(account) {
    if (this.#isRemembering) return;
    this.#isRemembering = true;
    const list = await this.#lockstep.knownDevices().catch(() => []);
    this.#isRemembering = false;
    if (this.#devices.account !== account && this.status.accountID === account) {
      this.#know(account, list);
    }
  }

  /** Asks the relay for names if a change comes from a device without a known name. */
  #learnNames({ kind, records = [] }) {
    const { state, accountID } = this.status;
    if (accountID !== null && accountID !== this.#devices.account) this.#remember(accountID);
    const isNew = accountID !== this.#asked.account && ["inSync", "needsPerson"].includes(state);
    const names = this.#deviceNames;
    const isStranger = kind === "changed"
      && records.some(({ device }) => !Object.hasOwn(names, device));
    if (isNew) this.refreshDevices().catch(() => {});
    if (isStranger) this.#askForNames();
  }

  /** Asks for the names after a delay: a recent answer may be older than the new device. If there
   * is no answer, the names stay unknown; nothing waits for them. */
  #askForNames() {
    const rest = Math.min(this.#asked.at + limits.devicesMilliseconds - this.now,
      limits.devicesMilliseconds);
    this.#browser.clearTimer(this.#nextNames);
    this.#nextNames = this.#browser.setTimer(
      () => this.refreshDevices({ isForced: true }).catch(() => {}), rest);
  }

  get #deviceNames() {
    const names = this.devices.map(({ deviceID, deviceName }) => [deviceID, deviceName]);
    return { ...Object.fromEntries(names), [this.status.deviceID ?? ""]: "this browser" };
  }

  #tell(news) { for (const listener of [...this.#listeners]) listener(news); }
}
