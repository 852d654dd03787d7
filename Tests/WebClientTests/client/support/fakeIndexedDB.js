/**
 * The part of IndexedDB that the store uses, in memory: transactions run one after the other, each
 * completely or not at all; values are copied on the way in and out. The content of a factory
 * survives its connections.
 */
export class FakeIndexedDB {
  #databases = new Map();
  /** Set by a test: throws if the browser refuses. */
  onOpen = () => {};
  /** Called before a transaction is written; an error aborts it. */
  onCommit = () => {};

  /** Closes the connections, as a browser does with pages in the background. */
  dropConnections() {
    for (const { connections } of this.#databases.values()) {
      for (const connection of [...connections]) connection.close();
    }
  }

  open(name, version) {
    this.onOpen();
    const request = {};
    setImmediate(() => {
      const held = this.#databases.get(name) ?? { version: 0, stores: new Map(), turn: null,
        connections: new Set() };
      if (held.version > version) {
        request.error = Object.assign(new Error("older"), { name: "VersionError" });
        request.onerror();
        return;
      }
      this.#databases.set(name, held);
      request.result = new Connection(this, held);
      if (held.version < version) {
        for (const other of held.connections) other.onversionchange?.();
        const oldVersion = held.version;
        held.version = version;
        request.onupgradeneeded({ oldVersion });
      }
      held.connections.add(request.result);
      request.onsuccess();
    });
    return request;
  }
}

class Connection {
  onversionchange = null;
  #factory;
  #held;
  #isClosed = false;

  constructor(factory, held) {
    this.#factory = factory;
    this.#held = held;
  }

  createObjectStore(name) { this.#held.stores.set(name, new Map()); }

  close() {
    this.#isClosed = true;
    this.#held.connections.delete(this);
  }

  transaction(names) {
    if (this.#isClosed) {
      throw Object.assign(new Error("the connection is closing"), { name: "InvalidStateError" });
    }
    const transaction = new Transaction(this.#factory, this.#held, names);
    const before = this.#held.turn ?? Promise.resolve();
    this.#held.turn = before.then(() => transaction.run());
    return transaction;
  }
}

class Transaction {
  error = null;
  oncomplete = null;
  onabort = null;
  #factory;
  #held;
  #requests = [];
  #copies;
  #isAborted = false;
  #names;

  constructor(factory, held, names) {
    this.#factory = factory;
    this.#held = held;
    this.#names = names;
  }

  objectStore(name) {
    const ask = (act) => {
      const request = { act: () => act(this.#copies.get(name)) };
      this.#requests.push(request);
      return request;
    };
    const sorted = (map) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));
    return {
      get: (key) => ask((map) => structuredClone(map.get(key))),
      getAll: () => ask((map) => structuredClone(sorted(map).map(([, value]) => value))),
      getAllKeys: () => ask((map) => sorted(map).map(([key]) => key)),
      put: (value, key) => {
        const copy = structuredClone(value);
        return ask((map) => { map.set(key, copy); });
      },
      delete: (key) => ask((map) => { map.delete(key); }),
      clear: () => ask((map) => map.clear()),
    };
  }

  abort() { this.#isAborted = true; }

  async run() {
    await new Promise((resolve) => { setImmediate(resolve); });
    this.#copies = new Map(this.#names.map((name) => [name, new Map(this.#held.stores.get(name))]));
    while (this.#requests.length > 0 && !this.#isAborted) {
      const request = this.#requests.shift();
      request.result = request.act();
      request.onsuccess?.();
    }
    try {
      if (!this.#isAborted) this.#factory.onCommit(this.#copies);
    } catch (error) {
      this.error = error;
      this.#isAborted = true;
    }
    if (this.#isAborted) {
      this.onabort?.();
      return;
    }
    for (const [name, copy] of this.#copies) this.#held.stores.set(name, copy);
    this.oncomplete?.();
  }
}
