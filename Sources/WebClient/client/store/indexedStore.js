import { limits } from "../limits.js";
import { MemoryStore, nextLead, StoreError } from "./memoryStore.js";

/**
 * Store that survives a reload: IndexedDB, one transaction per step, with strict durability (synced
 * to disk). The same interface as `MemoryStore`.
 *
 * Object stores: `records` (key: zone, line feed, name), `outbox` (key: number), `values`, `lead`
 * (one row: term, holder, until).
 */
export class IndexedStore {
  isDurable = true;
  isShared = true;
  reason = null;
  /** Called if another tab has opened a later version of the page. */
  onOutdated = null;
  #database;
  #reopen;
  #isClosed = false;

  /** Version of the stored format. A page that finds a later one does not open it. */
  static version = 1;
  static names = ["records", "outbox", "values"];

  /** Called by `open`. */
  constructor(database, reopen) {
    this.#reopen = reopen;
    this.#use(database);
  }

  /**
   * @param {IDBFactory} factory
   * @param {{name: string, setTimer: Function, clearTimer: Function, milliseconds: number}} options
   * @returns {Promise<IndexedStore>}
   */
  static async open(factory, options) {
    const open = () => IndexedStore.#connect(factory, options);
    return new IndexedStore(await open(), open);
  }

  static #connect(factory, { name, setTimer, clearTimer, milliseconds }) {
    return new Promise((resolve, reject) => {
      let isLate = false;
      const fail = (error) => {
        clearTimer(timer);
        reject(storeError(error));
      };
      const timer = setTimer(() => {
        isLate = true;
        reject(new StoreError("failed", "another tab keeps the store from being opened"));
      }, milliseconds);
      let request;
      try {
        request = factory.open(name, IndexedStore.version);
      } catch (error) {
        fail(error);
        return;
      }
      request.onupgradeneeded = ({ oldVersion }) => upgrade(request.result, oldVersion);
      request.onerror = () => fail(request.error);
      request.onsuccess = () => {
        clearTimer(timer);
        if (isLate) request.result.close();
        else resolve(request.result);
      };
    });
  }

  async load() {
    const [records, outbox, values, keys] = await this.#transact(
      IndexedStore.names, "readonly", (stores) => [
        stores.records.getAll(), stores.outbox.getAll(), stores.values.getAll(),
        stores.values.getAllKeys(),
      ],
    );
    return { records, outbox, values: keys.map((key, at) => [key, values[at]]) };
  }

  async value(key) {
    const [value] = await this.#transact(["values"], "readonly", ({ values }) => [values.get(key)]);
    return value;
  }

  async write(term, writes) {
    await this.#asLeader(term, (stores) => {
      for (const { store, key, value } of writes) {
        if (value === undefined) stores[store].delete(key);
        else stores[store].put(value, key);
      }
    });
  }

  async claim(claim) {
    let outcome = null;
    await this.#transact(["lead"], "readwrite", ({ lead }) => {
      const read = lead.get("lead");
      read.onsuccess = () => {
        outcome = nextLead(read.result ?? { term: 0, holder: null, until: 0 }, claim);
        if (outcome.isHeld) lead.put(outcome.lead, "lead");
      };
      return [];
    });
    return { isHeld: outcome.isHeld, term: outcome.lead.term };
  }

  async erase(term) {
    await this.#asLeader(term, (stores) => {
      for (const name of IndexedStore.names) stores[name].clear();
    });
  }

  close() {
    this.#isClosed = true;
    this.#database.close();
  }

  #use(database) {
    this.#database = database;
    // Closes, because another tab opens a later version of the page.
    database.onversionchange = () => {
      this.close();
      this.onOutdated?.();
    };
  }

  /** Writes as the leader. A suspended tab may not know that another tab leads; its transaction is
   * aborted. */
  async #asLeader(term, act) {
    let isDeposed = false;
    try {
      await this.#transact([...IndexedStore.names, "lead"], "readwrite", (stores, transaction) => {
        const read = stores.lead.get("lead");
        read.onsuccess = () => {
          isDeposed = read.result?.term !== term;
          if (isDeposed) transaction.abort();
          else act(stores);
        };
        return [];
      });
    } catch (error) {
      if (isDeposed) throw new StoreError("deposed", "another tab leads now");
      throw error;
    }
  }

  /** Runs a transaction. A browser may close the connection of a page in the background; then it is
   * opened again. */
  async #transact(names, mode, act) {
    if (this.#isClosed) throw new StoreError("closed", "the store was closed");
    try {
      return await this.#transactOnce(names, mode, act);
    } catch (error) {
      if (error.code !== "refused" || this.#isClosed) throw error;
    }
    this.#use(await this.#reopen());
    return this.#transactOnce(names, mode, act);
  }

  /** Resolves with the requests' results once the transaction is on disk. */
  #transactOnce(names, mode, act) {
    return new Promise((resolve, reject) => {
      let transaction;
      let requests;
      try {
        transaction = this.#database.transaction(names, mode, { durability: "strict" });
        const stores = Object.fromEntries(
          names.map((name) => [name, transaction.objectStore(name)]),
        );
        requests = act(stores, transaction);
      } catch (error) {
        reject(storeError(error));
        return;
      }
      transaction.oncomplete = () => resolve(requests.map((request) => request.result));
      transaction.onabort = () => reject(storeError(transaction.error));
    });
  }
}

/** Upgrades one version at a time; a page of any earlier version may have written the data. */
function upgrade(database, oldVersion) {
  if (oldVersion < 1) {
    for (const name of [...IndexedStore.names, "lead"]) database.createObjectStore(name);
  }
}

function storeError(error) {
  const name = error?.name ?? "AbortError";
  if (name === "QuotaExceededError") {
    return new StoreError("full", "the browser has no room left for this page");
  }
  if (name === "VersionError") {
    return new StoreError("newer", "a later version of this page was used here; reload it");
  }
  if (name === "SecurityError" || name === "InvalidStateError") {
    return new StoreError("refused", "it refuses pages a store");
  }
  return new StoreError("failed", `the browser's store failed (${error?.message ?? name})`);
}

/**
 * Opens the best store that the browser has. If the browser refuses IndexedDB (some private
 * windows), opens one in memory, which reports the reason. If a store exists and cannot be read,
 * throws the error and makes no other store.
 */
export async function openStore(factory, name, environment) {
  if (!factory) {
    return new MemoryStore("there is no store here that outlasts the page or script");
  }
  const nothing = "this browser keeps nothing beyond the open page";
  const { setTimer, clearTimer } = environment;
  try {
    return await IndexedStore.open(factory, { name, setTimer, clearTimer,
      milliseconds: limits.openMilliseconds });
  } catch (error) {
    if (error.code !== "refused") throw error;
    return new MemoryStore(`${nothing}: ${error.message}`);
  }
}
