/**
 * What the page keeps in this browser beside the account's records: unsaved texts and former
 * versions of memos and files, which never leave the browser, and images of the clipboard that wait
 * to be sent. IndexedDB; in memory if the browser refuses that.
 *
 * Object stores: `drafts`, `versions`, `files`, `images` (keys: texts), `values`.
 */
export class PageStore {
  #factory;
  #opened = null;
  #memory = Object.fromEntries(PageStore.names.map((name) => [name, new Map()]));

  static databaseName = "lockstep page";
  static version = 3;
  static names = ["drafts", "versions", "files", "images", "values"];

  /** @param {IDBFactory | undefined} factory */
  constructor(factory) { this.#factory = factory; }

  /** Returns all values of an object store, in the order of their keys. */
  async all(name) {
    return this.#run([name], "readonly", {
      act: (stores) => stores[name].getAll(),
      inMemory: (maps) => sorted(maps[name]).map(([, value]) => value),
    });
  }

  async put(name, key, value) {
    await this.#run([name], "readwrite", {
      act: (stores) => stores[name].put(value, key),
      inMemory: (maps) => maps[name].set(key, value),
    });
  }

  async remove(name, key) {
    await this.#run([name], "readwrite", {
      act: (stores) => stores[name].delete(key),
      inMemory: (maps) => maps[name].delete(key),
    });
  }

  /**
   * Changes an object store in one transaction.
   *
   * @param {(values: any[]) => {put?: [string, any][], remove?: string[]}} change gets all values
   */
  async update(name, change) {
    await this.#run([name], "readwrite", {
      act: (stores) => {
        const read = stores[name].getAll();
        read.onsuccess = () => {
          const { put = [], remove = [] } = change(read.result);
          for (const key of remove) stores[name].delete(key);
          for (const [key, value] of put) stores[name].put(value, key);
        };
        return read;
      },
      inMemory: (maps) => {
        const { put = [], remove = [] } = change(sorted(maps[name]).map(([, value]) => value));
        for (const key of remove) maps[name].delete(key);
        for (const [key, value] of put) maps[name].set(key, value);
      },
    });
  }

  /** Removes everything that another account has left here. */
  async keepFor(account) {
    await this.#run(PageStore.names, "readwrite", {
      act: (stores) => {
        const read = stores.values.get("account");
        read.onsuccess = () => {
          if (account !== null && read.result === account) return;
          for (const name of PageStore.names) stores[name].clear();
          stores.values.put(account, "account");
        };
        return read;
      },
      inMemory: (maps) => {
        if (account !== null && maps.values.get("account") === account) return;
        for (const name of PageStore.names) maps[name].clear();
        maps.values.set("account", account);
      },
    });
  }

  async #run(names, mode, { act, inMemory }) {
    const database = await this.#database();
    if (database === null) return inMemory(this.#memory);
    try {
      return await transact(database, names, mode, act);
    } catch (error) {
      if (error?.name !== "InvalidStateError") throw error;
    }
    // A browser may close the connection of a page in the background.
    this.#opened = null;
    const again = await this.#database();
    return again === null ? inMemory(this.#memory) : transact(again, names, mode, act);
  }

  /** Resolves with null if the browser has no store for this page. */
  #database() {
    this.#opened ??= this.#factory ? open(this.#factory).catch(() => null) : Promise.resolve(null);
    return this.#opened;
  }
}

function open(factory) {
  return new Promise((resolve, reject) => {
    const request = factory.open(PageStore.databaseName, PageStore.version);
    request.onupgradeneeded = () => {
      const { result } = request;
      for (const name of PageStore.names) {
        if (!result.objectStoreNames.contains(name)) result.createObjectStore(name);
      }
    };
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("another tab keeps the store from being opened"));
    request.onsuccess = () => {
      const database = request.result;
      database.onversionchange = () => database.close();
      resolve(database);
    };
  });
}

/** Resolves with the result of the request of `act` once the transaction is done. */
function transact(database, names, mode, act) {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(names, mode);
    const stores = Object.fromEntries(names.map((it) => [it, transaction.objectStore(it)]));
    const request = act(stores);
    transaction.oncomplete = () => resolve(request.result);
    transaction.onabort = () => reject(transaction.error);
  });
}

const sorted = (map) => [...map].sort(([one], [other]) => (one < other ? -1 : 1));
