/**
 * Lockstep for web pages and scripts: each is a device of an account. A person's changes are in the
 * store, and on the screen, at once; the relay and the account's other devices follow, also after
 * hours offline. All open tabs of a page are one device. docs/page-client.md has examples.
 *
 *     const lockstep = await Lockstep.open({ relay: "https://relay.example", rules: {
 *       zone: "Todos", types: { Todo: { fields: { done: "or" } } } } });
 *     await lockstep.join("code", { deviceName: "Browser" });
 *     const id = await lockstep.save("Todos", "Todo", { title: "milk", done: false });
 *     await lockstep.update("Todos", id, (todo) => ({ ...todo, done: true }));
 *     for await (const todos of lockstep.live("Todos", "Todo")) show(todos);
 *
 * An item is the fields of a record and its name as `id`. Methods and properties:
 * - `save(zone, type, item, {id?})`: writes the whole record; a new one without an `id`, in the
 *   options or in the item. Resolves with the id once it is in the store.
 * - `update(zone, id, make)`: `make` gets the item as it is then, and `{device, now}`, and returns
 *   the new item. It may be called more than once, so it must have no side effects.
 * - `delete(zone, id)`.
 * - `live(zone, type, {where?, sortBy?})`: an async iterator of snapshots, arrays of items. `where`
 *   selects items; `sortBy` is the name of a field, or compares two items.
 * - `changes(zone, type)`: an async iterator of `{kind: "saved", id, item}` and
 *   `{kind: "deleted", id}`; several changes of one record are given as the last.
 * - `statusUpdates`: an async iterator of the status, without flicker.
 * - `change(make)`: several edits at once. `make({record, records, stamp, now, device})` returns a
 *   list of edits `{zone, name, type, fields, stamp?}`, `fields` null to delete; all are made or
 *   none. It may be called more than once. Resolves with the records once they are in the store;
 *   rejects with an `EditError` (`code`, `message`) if nothing was changed. `stamp(zone, name)` is
 *   the record's next `modifiedAt`, for fields that contain it too.
 * - `records(zone?, type?)`, `record(zone, id)`: the live records, `{zone, name, type, fields,
 *   modifiedAt, device, tag}`, frozen with all that they hold.
 * - `decide({zone, name, keepLocal})`: decides a conflict in `status.asking`.
 * - `subscribe(listener)`: the listener receives `{kind: "changed", records}` (deleted ones without
 *   fields) and `{kind: "status", status}`. Returns a function that ends the subscription. An error
 *   that a listener throws stops nothing; it is an uncaught error of the app.
 * - `status`: the sync status; see `client/sync/status.js`. `now`: relay time.
 * - `syncNow()`: retries everything at once; resolves with the resulting status.
 * - `createAccount(device, {isSealed?})`, `join(code, device, options?)`: `device` is
 *   `{deviceName, platform?, appVersion?}`. What was edited before goes to the account. The relay
 *   cannot read the records of an account that `isSealed`. The code of an account whose zones are
 *   sealed has 24 letters, of which the relay gets the first 12. If the others are missing or
 *   wrong, `askSecondHalf({isWrong, triesLeft})` resolves with them, null to give up.
 *   A device with `status.needsKeys` joins its account again in this way, to get the keys.
 *   `issueCode({zones?, access?, expiresIn?})`: a code for another device, `{code, linkCode,
 *   expiresAt, scope?}`; `linkCode` is what a link may have of it: its first half, with a mark if
 *   there is a second, which `join` takes, too. `zones`, 1 to 16 names,
 *   and `access`, "read" or "write", limit that device; what is missing is that of this device,
 *   and more than it has is refused. `expiresIn`: seconds for which the code is valid, 10 to 600;
 *   it does not limit the device. `devices()`: a limited device has a `scope`, `{zones?, access}`,
 *   as `status.scope` of such a device; it gets itself alone, and its edits outside of the scope
 *   are refused at once. `rename(deviceID, deviceName)`. `revoke(deviceID)`: in a sealed account,
 *   the other devices get new keys first; resolves with `{pairAgain}`, those that cannot get them
 *   and must be paired again. `signOut({discardUnsent?, offline?})`. These reject with a
 *   `RefusedError` (the relay refused) or a `CallError` (no answer). `knownDevices()`: the last
 *   result of `devices()`, also after a reload, with names only: `{deviceID, deviceName,
 *   platform}`.
 * - `checkWords()`: six words that are the same on all devices with the account's keys, for a
 *   person to compare; null if this device does not have them. `recoveryPhrase()`: 17 words that
 *   open the account after the loss of all devices. `restoreKeys(phrase)`: gets the keys from
 *   them, on a device that joined without keys, with a code of the relay's owner.
 * - `acceptsAccounts()`: false if the relay makes no accounts for anyone, so that `createAccount`
 *   would be refused.
 * - `wakeKey()`: key of the relay for `PushManager.subscribe`; null if it wakes no devices.
 *   `registerWake(subscription, id?, options?)`: asks the relay to wake this device by that
 *   subscription (or its JSON) while it has no connection. The first push contains a code, for
 *   `verifyWake(id, code)`. `options`: `notification`, `{title, navigate}`, what a browser with
 *   Declarative Web Push shows for a wake if it did not run the worker. `removeWake(id?)`,
 *   `wakes()`: the registrations, `{id, kind, state, verifiedAt?, sentAt?, answeredAt?, error?}`.
 *   Without an `id` it is `page`. The client renews no subscription by itself: register again when
 *   the browser has another one, or `wakeKey()` has changed.
 * - `files`: content of files that records name (`client/files/files.js`). `upload(zone, blob,
 *   {name?, isCutByContent?, onProgress?, signal?})` sends what the relay lacks, sealed if the zone
 *   is, and resolves with `{file, chunks, sha256, parts}`; `file` is for a field of a record, to be
 *   saved within a day. `download(zone, file, {type?, onProgress?, signal?})`: a `Blob`, whose
 *   bytes are checked. `missing(zone, chunks)`: those that the relay does not have.
 *   `isSealed(zone)`. `bytesMax`. They reject with a `FileError` (`code`, `message`), a `CallError`
 *   or a `RefusedError`.
 * - `unsent()`: changes that the relay does not have yet, `{zone, name, type, fields}` (`fields`
 *   null for a delete): for a person who is about to sign out.
 * - `close()`: closes this tab's client and ends its iterators; another tab continues. Resolves
 *   once the store is closed.
 *
 * `counterValue(value)` and `counterAdded(value, device, by)` read and change a field with the rule
 * `counter`. `numberOf(text)`, `numberText(value)`, `equal(left, right)` and `serialize(value)` are
 * for values with numbers that JavaScript would round.
 */

import { Accounts, RefusedError } from "./client/accounts.js";
import { appsOf } from "./client/appsOf.js";
import {
  CodeKeys, keysIn, keysOfPhrase, membersIn, newAccountKeys, ringPlace,
} from "./client/codeKeys.js";
import { FileError } from "./client/files/fileError.js";
import { Files } from "./client/files/files.js";
import { limits } from "./client/limits.js";
import { fieldsOf, itemOf } from "./client/live/item.js";
import { Each, Latest } from "./client/live/latest.js";
import { LiveList } from "./client/live/liveList.js";
import { SteadyStatus } from "./client/live/steadyStatus.js";
import { markedCode, typedCode, wholeCode } from "./client/pairingCode.js";
import { pairingRequest } from "./client/pairingRequest.js";
import { unjoinedDevice } from "./client/record.js";
import { EditError } from "./client/replica/editing.js";
import { keysChanged, keysZone } from "./client/replica/keyHandover.js";
import { includes } from "./client/scope.js";
import { openStore } from "./client/store/indexedStore.js";
import { MemoryStore, StoreError } from "./client/store/memoryStore.js";
import { Tabs } from "./client/tabs/tabs.js";
import { systemEnvironment } from "./client/transport/environment.js";
import { CallError } from "./client/transport/httpCall.js";
import { checkedTransports } from "./client/transport/transportSelector.js";
import { wakeRegistration } from "./client/wakeRegistration.js";
import { WireError } from "./client/wireError.js";
import { equal, isObject, numberOf, numberText, serialize } from "./json/jsonValue.js";
import { counterAdded, counterValue } from "./model/counter.js";
import { RuleFault } from "./model/mergeRules.js";
import { withoutStamps } from "./model/stamps.js";

export {
  CallError, counterAdded, counterValue, EditError, equal, FileError, numberOf, numberText,
  RefusedError, RuleFault, serialize, StoreError,
};

/** Version of this package, and of the program that it belongs to. */
export const version = "0.2.0";

/** Store that lasts as long as the client: for tests, and for scripts that begin anew each time. */
export const memoryStore = () => ({ open: async () => new MemoryStore() });

export class Lockstep {
  #accounts;
  #codeKeys;
  #environment;
  #files;
  #store;
  #tabs;
  /** Iterators that have not ended. */
  #iterators = new Set();
  #listeners = new Set();
  #removePageListeners;
  #isClosed = false;

  /**
   * @param {{
   *   relay: string,
   *   rules?: object | object[],
   *   apps?: import("./client/replica/merging.js").App[],
   *   store?: {open: () => Promise<object>},
   *   name?: string,
   *   transports?: ("websocket" | "events" | "long-poll" | "poll")[],
   *   readAhead?: (deviceID: string) => Promise<string[]>,
   *   scrypt?: (password: Uint8Array, parameters: object) => Promise<Uint8Array>,
   *   browser?: object,
   * }} options `relay`: its address, `http(s)://host[:port]`. `rules`: tables of merge rules, one
   *   for each zone (`model/mergeRules.js`); without a table, all fields are `newest`-wins as a
   *   whole record. `apps`: rules as code. `store`: IndexedDB if it is missing. `name`: name of the
   *   store in the browser; two names are two devices. `transports`: best first. `readAhead`:
   *   returns the answers to `GET /v1/changes` that a service worker has read for that device while
   *   no page was open, as texts, oldest first; they are applied before the device is connected, if
   *   they begin at its position. `scrypt`: computes the key of a code's second half elsewhere, as
   *   in a worker (`sealing/scryptWorker.js`); without it, the thread is blocked for a part of a
   *   second. `browser`: the browser's interfaces, for tests.
   * @throws {TypeError} if an option is unknown, missing or wrong
   */
  static async open(options) {
    checkOptions(options);
    const { relay, rules = [], apps = [], store: from, name = "lockstep",
      transports: names = ["websocket", "long-poll", "poll"], readAhead, scrypt,
      browser = systemBrowser() } = options;
    const allApps = appsOf(rules, apps);
    const transports = checkedTransports(names);
    const origin = originOf(relay);
    const { environment, indexedDB, locks, openChannel, target } = browser;
    const store = await (from ? from.open() : openStore(indexedDB, name, environment));
    const lockstep = new Lockstep({
      environment, store, locks, name, apps: allApps, relay: origin, target,
      channel: store.isShared && openChannel ? openChannel(`lockstep ${name}`) : null,
      transports, readAhead, scrypt,
    });
    store.onOutdated = () => lockstep.#end("a newer version of this page is open; reload it");
    try {
      await lockstep.#tabs.start();
    } catch (error) {
      await lockstep.close();
      throw error;
    }
    return lockstep;
  }

  /** Called by `open`. */
  constructor({ environment, relay, store, target, scrypt, ...options }) {
    this.#environment = environment;
    const place = () => this.#tabs.status.relay ?? null;
    this.#accounts = new Accounts(environment, relay, place);
    this.#codeKeys = new CodeKeys(environment.randomBytes, scrypt);
    this.#files = new Files({ environment, relay: () => place() ?? relay,
      access: (zone) => this.#fileAccess(zone) });
    this.#store = store;
    this.#tabs = new Tabs({ ...options, environment, relay, store,
      notify: (event) => this.#notify(event) });
    this.#removePageListeners = addPageListeners(target, {
      wake: () => this.#tabs.wake(), leave: () => this.#tabs.leave(),
      networkLost: () => this.#tabs.networkLost(),
    });
  }

  get status() { return this.#tabs.status; }

  get now() { return this.#tabs.now; }

  get files() { return this.#files; }

  records(zone, type) { return this.#tabs.view.records(zone, type); }

  record(zone, name) { return this.#tabs.view.record(zone, name); }

  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** @returns {Promise<string>} the record's name */
  async save(zone, type, item, { id = item?.id ?? this.#environment.uuid() } = {}) {
    await this.change(({ record }) =>
      [{ zone, name: id, type, fields: fieldsOf(item, record(zone, id)) }]);
    return id;
  }

  async update(zone, id, make) {
    await this.change(({ record, device, now }) => {
      const held = record(zone, id);
      if (!held) {
        throw new EditError("nothingToUpdate", "there is no record of that name; save it first");
      }
      const item = make(structuredClone(itemOf(held)), { device, now });
      if (!isObject(item)) {
        throw new EditError("badEdit", "an update returns the whole item, and is not async");
      }
      return [{ zone, name: id, type: held.type, fields: fieldsOf(item, held) }];
    });
  }

  async delete(zone, id) {
    await this.change(({ record }) =>
      [{ zone, name: id, type: record(zone, id)?.type, fields: null }]);
  }

  live(zone, type, options) {
    const list = new LiveList(options);
    list.fill(this.records(zone, type));
    return this.#iterator(() => list.snapshot, ({ kind, records }) =>
      kind === "changed" && records.filter((record) => record.zone === zone)
        .map((record) => (record.type === type ? list.apply(record) : list.remove(record.name)))
        .includes(true));
  }

  changes(zone, type) {
    let changed = new Map();
    const known = new Set(this.records(zone, type).map(({ name }) => name));
    const batches = this.#iterator(() => {
      const batch = changed;
      changed = new Map();
      return [...batch.values()];
    }, ({ kind, records }) => {
      if (kind !== "changed") return false;
      for (const record of records.filter((it) => it.zone === zone)) {
        const { name: id } = record;
        const isThere = record.fields !== null && record.type === type;
        if (!isThere && !known.has(id)) continue;
        changed.delete(id);
        changed.set(id, isThere ? { kind: "saved", id, item: itemOf(record) }
          : { kind: "deleted", id });
        if (isThere) known.add(id);
        else known.delete(id);
      }
      return changed.size > 0;
    }, { isNews: false });
    return new Each(batches);
  }

  get statusUpdates() {
    let steady = null;
    const updates = this.#iterator(() => steady.status, ({ kind, status }) => {
      if (kind === "status") steady.update(status);
      return false;
    }, { end: () => steady.close() });
    steady = new SteadyStatus(this.#environment, this.status, () => updates.changed());
    return updates;
  }

  /** Returns an iterator over a state that events of the client change. `apply` returns true if an
   * event has changed it. */
  #iterator(read, apply, { isNews = true, end = () => {} } = {}) {
    const stop = this.subscribe((event) => {
      try {
        if (apply(event)) iterator.changed();
      } catch (error) {
        iterator.close(error);
      }
    });
    const iterator = new Latest({ read, isNews, end: () => {
      stop();
      end();
      this.#iterators.delete(iterator);
    } });
    if (this.#isClosed) iterator.close();
    else this.#iterators.add(iterator);
    return iterator;
  }

  change(make) {
    const deviceOf = async () =>
      (await this.#store.value("identity"))?.deviceID ?? unjoinedDevice;
    return this.#tabs.change(make, { deviceOf });
  }

  decide(decision) { return this.#tabs.order("decide", decision); }

  syncNow() { return this.#tabs.order("syncNow"); }

  createAccount(device, { isSealed = false } = {}) {
    return this.#join(async (described) => {
      const made = await this.#accounts.create(described);
      return isSealed ? { ...made, keys: newAccountKeys(this.#environment.randomBytes) } : made;
    }, device);
  }

  async join(text, device, { askSecondHalf: ask, isSealed = false } = {}) {
    if (typeof text !== "string") {
      throw new EditError("badCode", "a code is a text, which another device's issueCode gives");
    }
    const { code, ...typed } = typedCode(text);
    return this.#join(async (described) => {
      const known = await this.#store.value("identity");
      return this.#accounts.pair(code, described, known?.accountID ?? null);
    }, device, { code, ...typed, ask, sealsUnused: isSealed });
  }

  async issueCode(options = {}) {
    const { token, accountID, scope } = await this.#identity();
    const { zones = scope?.zones } = pairingRequest(options);
    const keys = await keysIn(this.#store);
    const given = zones ? keys?.limitedTo(zones) : keys;
    if (!given) {
      const issued = await this.#accounts.issueCode(token, options);
      return { ...issued, linkCode: issued.code };
    }
    const { secret, wrapped } = await this.#codeKeys.wrap(given, accountID);
    const issued = await this.#accounts.issueCode(token, options, wrapped);
    const code = wholeCode(issued.code, secret);
    if (code === null) throw new WireError("invalid pairing code");
    return { ...issued, code, linkCode: markedCode(issued.code) };
  }

  async checkWords() { return (await keysIn(this.#store))?.account?.current.checkWords() ?? null; }

  async restoreKeys(phrase) {
    const identity = await this.#identity();
    if (identity.scope?.zones) {
      throw new EditError("refused", "this device was paired for some zones, and the phrase opens "
        + "all: restore the keys on a device with the whole account");
    }
    const record = await this.#accounts.record(identity.token, ringPlace);
    const keys = keysOfPhrase(String(phrase), record).storedValue;
    await this.#tabs.order("joinSealed", { identity, keys });
  }

  async recoveryPhrase() { return (await keysIn(this.#store))?.account?.current.phrase() ?? null; }

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
    checkDevice({ deviceName });
    return this.#accounts.rename(await this.#token(), deviceID, deviceName);
  }

  async revoke(deviceID) {
    const { token, deviceID: own, scope = null } = await this.#identity();
    const keys = await keysIn(this.#store);
    const isSealed = !!keys?.account && scope === null && deviceID !== own;
    const pairAgain = isSealed ? await this.#replaceKeys(deviceID) : [];
    await this.#accounts.revoke(token, deviceID);
    return { pairAgain };
  }

  /** Makes new keys of the account without a device, and without those that have left the account.
   * Returns the other devices of the whole account that do not get them. */
  async #replaceKeys(removed) {
    const { token, deviceID: own } = await this.#identity();
    // Others may have made newer keys, or joined.
    await this.syncNow();
    const members = await membersIn(this.#store);
    // Newer than the members: one that is not on the list has left.
    const devices = await this.#accounts.devices(token);
    const isThere = new Set(devices.map(({ deviceID }) => deviceID));
    const left = members.list.map(({ device }) => device)
      .filter((device) => device !== removed && device !== own && !isThere.has(device));
    const without = [removed, ...left];
    const { records, receivers, ...made } = await this.#tabs.order("makeKeys", without);
    const batch = { id: this.#environment.uuid(), zone: keysZone, records };
    if (!await this.#accounts.saveTogether(token, batch)) throw keysChanged();
    await this.#tabs.order("adoptKeys", made);
    const holders = [own, removed, ...receivers];
    return devices.filter(({ deviceID, scope }) =>
      !scope?.zones && !holders.includes(deviceID));
  }

  /** @returns {Promise<boolean>} false if `createAccount` would be refused: the relay's owner makes
   * the accounts */
  acceptsAccounts() { return this.#accounts.acceptsAccounts(); }

  /** @returns {Promise<string | null>} the `applicationServerKey` of a subscription; null if the
   * relay wakes no devices */
  wakeKey() { return this.#accounts.wakeKey(); }

  async registerWake(subscription, id = "page", { notification } = {}) {
    const registration = wakeRegistration(subscription, notification);
    await this.#accounts.registerWake(await this.#token(), id, registration);
  }

  async verifyWake(id, code) {
    if (typeof code !== "string") {
      throw new EditError("badCode", "a code is a text, which the first push contains");
    }
    await this.#accounts.verifyWake(await this.#token(), id, code);
  }

  async removeWake(id = "page") { await this.#accounts.removeWake(await this.#token(), id); }

  async wakes() { return this.#accounts.wakes(await this.#token()); }

  /**
   * Removes this browser from the account: the relay deletes the device, and all local data is
   * erased. `discardUnsent`: also changes that the relay does not have yet. `offline`: also if the
   * relay is unreachable; the device then stays in the account's list.
   */
  async signOut({ discardUnsent = false, offline = false } = {}) {
    const { waiting, parkedCount, askingCount } = this.status;
    if (waiting + parkedCount + askingCount > 0 && !discardUnsent) {
      throw new EditError("unsent",
        "changes that no other device has would be lost; sync first, or set discardUnsent");
    }
    const identity = await this.#store.value("identity");
    if (identity) await this.#leave(identity, offline);
    await this.#tabs.order("erase");
  }

  async #leave({ token, deviceID }, offline) {
    try {
      await this.#accounts.revoke(token, deviceID);
    } catch (error) {
      const isGone = error.code === "badToken" || error.code === "notFound";
      if (!isGone && !(offline && error instanceof CallError)) throw error;
    }
  }

  async close() { await this.#end(null); }

  #end(reason) {
    this.#isClosed = true;
    this.#removePageListeners();
    const closed = this.#tabs.close(reason);
    for (const iterator of [...this.#iterators]) iterator.close();
    this.#listeners.clear();
    return closed;
  }

  /** `typed`: the parts of a code, and the question for its second half. */
  async #join(send, device, typed) {
    checkDevice(device);
    const { deviceName, platform = "web", appVersion = "1" } = device;
    const known = await this.#store.value("identity");
    const { state, needsKeys } = this.status;
    const mayJoin = !known || state === "needsPairing" || (typed && needsKeys);
    if (!mayJoin) {
      throw new EditError("alreadyPaired", "this device belongs to an account; sign out first");
    }
    const { identity, wrapped, keys: made } = await send({ deviceName, platform, appVersion });
    const { accountID: account, token, scope = null } = identity;
    try {
      // Nothing is stored before the keys are open: the device could send records as they are.
      if (made) {
        await this.#tabs.order("joinSealed", { identity, keys: made.storedValue });
      } else if (wrapped !== undefined) {
        const keys = await this.#codeKeys.unwrap(wrapped, { account, ...typed });
        await this.#tabs.order("joinSealed", { identity, keys });
      } else {
        if (typed?.carriesKeys) {
          await this.#codeKeys.checkVaultKey(typed, async (place) =>
            (includes(scope, place.zone) ? this.#accounts.record(token, place) : null));
        }
        const sealsUnused = typed?.sealsUnused && !typed.carriesKeys && !known && scope === null;
        if (sealsUnused && await this.#accounts.isUnused(token)) {
          const keys = newAccountKeys(this.#environment.randomBytes);
          await this.#tabs.order("joinSealed", { identity, keys: keys.storedValue });
        } else {
          await this.#tabs.order("join", identity);
        }
      }
    } catch (error) {
      // The new device would never be used.
      await this.#discard(identity);
      throw error;
    }
    // The former device of this browser, if it joined again for the keys, is not used any more.
    if (known && state !== "needsPairing") await this.#discard(known);
  }

  async #discard({ token, deviceID }) {
    await this.#accounts.revoke(token, deviceID).catch(() => {});
  }

  async #fileAccess(zone) {
    const { token } = await this.#identity();
    const keys = await keysIn(this.#store);
    const isLocked = this.status.lockedZones.includes(zone) && !keys?.zoneKeys(zone);
    return { token, keys, isLocked };
  }

  async #token() { return (await this.#identity()).token; }

  async #identity() {
    const identity = await this.#store.value("identity");
    if (!identity) throw new EditError("notPaired", "pair this device with an account first");
    return identity;
  }

  #notify(event) {
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch (error) {
        // Reported like any uncaught error of the app; the other listeners and the sync go on.
        queueMicrotask(() => { throw error; });
      }
    }
  }
}

/** Options of `open`, as `lockstep.d.ts` has them. */
const optionNames = [
  "relay", "rules", "apps", "store", "name", "transports", "readAhead", "scrypt",
];

function checkOptions(options) {
  if (!isObject(options)) {
    throw new TypeError(`the options are an object with \`relay\`, as "${exampleRelay}"`);
  }
  const known = [...optionNames, "browser"];
  const odd = Object.keys(options).find((name) => !known.includes(name));
  if (odd === undefined) return;
  throw new TypeError(`there is no option \`${odd}\`; known are ${optionNames.join(", ")}`);
}

const exampleRelay = "https://relay.example";

/** Returns the origin of a relay's address. */
function originOf(relay) {
  const address = URL.canParse(relay) ? new URL(relay) : null;
  if (["http:", "https:"].includes(address?.protocol) && address.pathname === "/") {
    return address.origin;
  }
  const fault = relay === undefined ? "is missing" : "is no address";
  throw new TypeError(`the option \`relay\` ${fault}: give http(s)://host[:port], `
    + `as "${exampleRelay}"`);
}

function checkDevice(device) {
  const isText = (value) => typeof value === "string";
  const isDevice = isText(device?.deviceName)
    && [device.platform, device.appVersion].every((it) => it === undefined || isText(it));
  if (isDevice) return;
  throw new EditError("badDevice", "a device is {deviceName, platform?, appVersion?}, all texts");
}

/** Calls `wake` after the page becomes visible or the network returns, or if a browser shows again
 * a page that was left; and `leave` when a person leaves the page, whether or not the browser keeps
 * it. */
function addPageListeners(target, { wake, leave, networkLost }) {
  if (!target) return () => {};
  const onVisible = () => { if (target.document?.visibilityState !== "hidden") wake(); };
  const onShow = ({ persisted }) => { if (persisted) wake(); };
  const listeners = [[target, "online", wake], [target, "pagehide", leave],
    [target, "pageshow", onShow], [target, "offline", networkLost],
    [target.document, "visibilitychange", onVisible]];
  for (const [on, name, listener] of listeners) on?.addEventListener(name, listener);
  return () => {
    for (const [on, name, listener] of listeners) on?.removeEventListener(name, listener);
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
