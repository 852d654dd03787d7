import { act } from "../apps/edit.js";
import { limits } from "./limits.js";

/**
 * Where a person works: joins the apps to the client. It knows no element of the page.
 */
export class Desk {
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

  /** The account's devices as last known: of those that were heard of before a reload, the names
   * alone. */
  get devices() {
    const { account, list } = this.#devices;
    return account === this.status.accountID ? list : [];
  }

  /** Told of each change of records, of the sync, and of the devices (`kind` "devices"). */
  subscribe(listener) { this.#listeners.add(listener); }

  /** What an app has before it. @returns {import("../apps/edit.js").AppState} */
  state(app) {
    const { asking, deviceID } = this.status;
    return {
      records: this.#lockstep.records(app.zone),
      asking: asking.filter(({ zone }) => zone === app.zone).map(({ server }) => server),
      device: deviceID ?? "", deviceNames: this.#deviceNames,
    };
  }

  /**
   * A person acts. Resolves with the records that changed, once they are kept.
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

  /** Asks the relay for the devices, unless that was done a moment ago. */
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

  /** Until the relay answers, the names are those of the last time. */
  async #remember(account) {
    if (this.#isRemembering) return;
    this.#isRemembering = true;
    const list = await this.#lockstep.knownDevices().catch(() => []);
    this.#isRemembering = false;
    if (this.#devices.account !== account && this.status.accountID === account) {
      this.#know(account, list);
    }
  }

  /** Of whom there is news without a name, the relay knows one. */
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

  /** An answer of a moment ago may be from before the stranger came. Where there is none they go
   * without: a name is nothing to wait for. */
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
