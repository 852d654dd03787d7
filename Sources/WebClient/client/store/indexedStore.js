import { nextLead } from "./memoryStore.js";
import { StoreError } from "./storeError.js";

/**
 * What survives a reload: IndexedDB, one transaction a step, with the durability of a disk that was
 * synced. The same interface as `MemoryStore`.
 *
 * Object stores: `records` (key: zone, line feed, name), `outbox` (key: number), `values`, `lead`
 * (one row: term, holder, until).
 */
export class IndexedStore {
  isDurable = true;
  reason = null;
  /** Called where another tab has brought a later version of the page. */
  onOutdated = null;
  #database;
  #reopen;
  #isClosed = false;

  /** The form of what is stored. A page that finds a later one leaves it alone. */
  static version = 1;
  static names = ["records", "outbox", "values"];

  /** By `open`. */
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
    // Another tab brings a later version of the page: this one makes way.
    database.onversionchange = () => {
      this.close();
      this.onOutdated?.();
    };
  }

  /** A tab that was put to sleep may not know that another leads: what it writes then is undone. */
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

  /** A browser may close the connection of a page in the background; then it is opened anew. */
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

  /** Resolves with the requests' results once the transaction is on the disk. */
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

/** One step a version; a page of any earlier version may have written what is there. */
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
