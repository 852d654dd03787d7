/**
 * Lockstep for web pages: a page that is a device. A person's changes are in the browser's store,
 * and on the screen, at once; the relay and the account's other devices follow, also after hours
 * offline. All open tabs are one device. docs/page-client.md has an example.
 *
 *     const lockstep = await Lockstep.open({ relay: "https://relay.example", apps });
 *     lockstep.subscribe(({ kind }) => show());
 *     await lockstep.pair("code", { deviceName: "Browser" });
 *     await lockstep.change(() => [{ zone: "Notes", name: "first", type: "Note",
 *       fields: { text: "hello" } }]);
 *
 * Methods and properties:
 * - `change(make)`: `make({record, records, stamp, now, device})` returns a list of edits
 *   `{zone, name, type, fields, stamp?}`, `fields` null to delete; all are made or none. It may be
 *   called more than once, so it must have no side effects. Resolves with the records once they are
 *   in the store; rejects with an `EditError` (`code`, `message`) if nothing was changed.
 *   `stamp(zone, name)` is the record's next `modifiedAt`, for fields that contain it too.
 * - `records(zone?, type?)`, `record(zone, name)`: the live records. Do not change them in place.
 * - `decide({zone, name, keepLocal})`: decides a conflict in `status.asking`.
 * - `subscribe(listener)`: the listener receives `{kind: "changed", records}` (deleted ones without
 *   fields) and `{kind: "status", status}`. Returns a function that ends the subscription.
 * - `status`: the sync status; see `client/sync/status.js`. `now`: relay time.
 * - `syncNow()`: retries everything at once; resolves with the resulting status.
 * - `createAccount(device)`, `pair(code, device)`: `device` is
 *   `{deviceName, platform?, appVersion?}`. `issueCode()`: a code for another device,
 *   `{code, expiresAt}`. `devices()`, `rename(deviceID, deviceName)`, `revoke(deviceID)`,
 *   `signOut({discardUnsent?, offline?})`. These reject with a `RefusedError` (the relay refused)
 *   or a `CallError` (no answer). `knownDevices()`: the last result of `devices()`, also after a
 *   reload, with names only: `{deviceID, deviceName, platform}`.
 * - `unsent()`: changes that the relay does not have yet, `{zone, name, type, fields}` (`fields`
 *   null for a delete): for a person who is about to sign out.
 * - `close()`: closes this tab's client; another tab continues.
 *
 * `apps`: the rules of each app (`App` in `client/replica/merging.js`).
 */

import { Accounts, RefusedError } from "./client/accounts.js";
import { limits } from "./client/limits.js";
import { EditError } from "./client/replica/editing.js";
import { openStore } from "./client/store/indexedStore.js";
import { Tabs } from "./client/tabs/tabs.js";
import { systemEnvironment } from "./client/transport/environment.js";
import { CallError } from "./client/transport/httpCall.js";
import { withoutStamps } from "./model/stamps.js";

export { CallError, EditError, RefusedError };

export class Lockstep {
  #accounts;
  #store;
  #tabs;
  #listeners = new Set();
  #removePageListeners;

  /**
   * @param {{
   *   relay: string,
   *   apps: import("./client/replica/merging.js").App[],
   *   name?: string,
   *   transports?: ("websocket" | "events" | "long-poll" | "poll")[],
   *   browser?: object,
   * }} options `relay`: its address, `http(s)://host[:port]`. `name`: name of the store in the
   *   browser; two names are two devices. `transports`: best first. `browser`: the browser's
   *   interfaces, for tests.
   */
  static async open({ relay, apps, name = "lockstep", transports, browser = systemBrowser() }) {
    const address = new URL(relay);
    if (!["http:", "https:"].includes(address.protocol) || address.pathname !== "/") {
      throw new TypeError("a relay's address has the form https://host[:port]");
    }
    const { environment, indexedDB, locks, openChannel, target } = browser;
    const store = await openStore(indexedDB, name, environment);
    const lockstep = new Lockstep({
      environment, store, locks, name, apps, relay: address.origin, target,
      // A store in memory belongs to this tab only.
      channel: store.isDurable && openChannel ? openChannel(`lockstep ${name}`) : null,
      transports: transports ?? ["websocket", "long-poll", "poll"],
    });
    store.onOutdated = () => lockstep.#end("a newer version of this page is open; reload it");
    await lockstep.#tabs.start();
    return lockstep;
  }

  /** Called by `open`. */
  constructor({ environment, relay, store, target, ...options }) {
    this.#accounts = new Accounts(environment, relay);
    this.#store = store;
    this.#tabs = new Tabs({ ...options, environment, relay, store,
      notify: (event) => this.#notify(event) });
    this.#removePageListeners = addPageListeners(target, () => this.#tabs.wake());
  }

  get status() { return this.#tabs.status; }

  get now() { return this.#tabs.now; }

  records(zone, type) { return this.#tabs.view.records(zone, type); }

  record(zone, name) { return this.#tabs.view.record(zone, name); }

  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  change(make) {
    const deviceOf = async () => (await this.#store.value("identity"))?.deviceID ?? "";
    // Copied, so that later changes by the caller do not change stored objects.
    return this.#tabs.change((context) => copied(make(context)), { deviceOf });
  }

  decide(decision) { return this.#tabs.order("decide", decision); }

  syncNow() { return this.#tabs.order("syncNow"); }

  createAccount(device) {
    return this.#join((described) => this.#accounts.create(described), device);
  }

  pair(code, device) {
    return this.#join(async (described) => {
      const known = await this.#store.value("identity");
      return this.#accounts.pair(code, described, known?.accountID ?? null);
    }, device);
  }

  async issueCode() { return this.#accounts.issueCode(await this.#token()); }

  async devices() {
    const devices = await this.#accounts.devices(await this.#token());
    const names = devices.slice(0, limits.knownDevices).map(
      ({ deviceID, deviceName, platform }) => ({ deviceID, deviceName, platform }));
    // The list is valid even if the browser cannot store it.
    this.#tabs.order("noteDevices", names).catch(() => {});
    return devices;
  }

  async unsent() {
    const { outbox } = await this.#store.load();
    const last = new Map(outbox.map((entry) => [`${entry.zone}\n${entry.name}`, entry]));
    return Array.from(last.values(), ({ zone, name, type, fields }) =>
      ({ zone, name, type, fields: withoutStamps(fields) }));
  }

  async knownDevices() { return await this.#store.value("devices") ?? []; }

  async rename(deviceID, deviceName) {
    return this.#accounts.rename(await this.#token(), deviceID, deviceName);
  }

  async revoke(deviceID) { await this.#accounts.revoke(await this.#token(), deviceID); }

  /**
   * Removes this browser from the account: the relay deletes the device, and all local data is
   * erased. `discardUnsent`: also changes that the relay does not have yet. `offline`: also if the
   * relay is unreachable; the device then stays in the account's list.
   */
  async signOut({ discardUnsent = false, offline = false } = {}) {
    const { waiting, parkedCount, askingCount } = this.status;
    if (waiting + parkedCount + askingCount > 0 && !discardUnsent) {
      throw new EditError("unsent", "changes that no other device has would be lost");
    }
    const identity = await this.#store.value("identity");
    if (!identity) return;
    try {
      await this.#accounts.revoke(identity.token, identity.deviceID);
    } catch (error) {
      const isGone = error.code === "badToken" || error.code === "notFound";
      if (!isGone && !(offline && error instanceof CallError)) throw error;
    }
    await this.#tabs.order("erase");
  }

  close() { this.#end(null); }

  #end(reason) {
    this.#removePageListeners();
    this.#tabs.close(reason);
    this.#listeners.clear();
  }

  async #join(send, { deviceName, platform = "web", appVersion = "1" }) {
    const known = await this.#store.value("identity");
    if (known && this.status.state !== "needsPairing") {
      throw new EditError("alreadyPaired", "this browser belongs to an account; sign out first");
    }
    const identity = await send({ deviceName, platform, appVersion });
    try {
      await this.#tabs.order("join", identity);
    } catch (error) {
      // The new device would never be used.
      await this.#accounts.revoke(identity.token, identity.deviceID).catch(() => {});
      throw error;
    }
  }

  async #token() {
    const identity = await this.#store.value("identity");
    if (!identity) throw new EditError("notPaired", "pair this device with an account first");
    return identity.token;
  }

  #notify(event) {
    for (const listener of [...this.#listeners]) listener(event);
  }
}

function copied(edits) {
  return edits.map((edit) => ({ ...edit, fields: structuredClone(edit.fields) }));
}

/** Calls `wake` after the page becomes visible or the network returns. */
function addPageListeners(target, wake) {
  if (!target) return () => {};
  const onVisible = () => { if (target.document?.visibilityState !== "hidden") wake(); };
  target.addEventListener("online", wake);
  target.document?.addEventListener("visibilitychange", onVisible);
  return () => {
    target.removeEventListener("online", wake);
    target.document?.removeEventListener("visibilitychange", onVisible);
  };
}

function systemBrowser() {
  const { indexedDB, navigator, BroadcastChannel } = globalThis;
  return {
    environment: systemEnvironment(), indexedDB, locks: navigator?.locks,
    openChannel: BroadcastChannel ? (name) => new BroadcastChannel(name) : null,
    target: globalThis.window,
  };
}
