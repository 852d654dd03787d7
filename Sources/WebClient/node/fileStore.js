import { open, readFile, readdir, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { keyOf, readRecord } from "../client/record.js";
import { MemoryStore, StoreError } from "../client/store/memoryStore.js";
import { parseMessage } from "../json/jsonParser.js";
import { isObject, serialize } from "../json/jsonValue.js";
import { defined } from "../client/live/item.js";
import { FileLock } from "./fileLock.js";

/**
 * Store in one file, for Node.js and Deno: everything survives a crash of the process or of the
 * machine. Each step writes the whole file as a draft, syncs it to the disk, and renames it, so
 * that a file is always complete. That suits some thousands of records.
 *
 * @param {string} path the file; it is made if it is missing. It holds the device's token, so only
 *   its owner may read it. `<path>.lock` beside it shows that a process has it open.
 */
export const fileStore = (path) => ({ open: () => FileStore.open(path) });

/** Version of the format. A program that finds a later one does not open the file. */
const version = 1;
const names = ["records", "outbox", "values"];

class FileStore {
  isDurable = true;
  isShared = false;
  reason = null;
  #path;
  #lock;
  #memory = new MemoryStore();
  /** JSON text of each row, by store and key: only what has changed is written anew. */
  #texts = new Map(names.map((name) => [name, new Map()]));
  #turn = Promise.resolve();
  #isClosed = false;
  #closing = null;

  constructor(path, lock) {
    this.#path = path;
    this.#lock = lock;
  }

  static async open(path) {
    const lock = new FileLock(lockOf(path));
    await lockedBy(lock, path);
    try {
      await removeDrafts(path);
      const store = new FileStore(path, lock);
      await store.#read();
      return store;
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  load() { return this.#memory.load(); }

  value(key) { return this.#memory.value(key); }

  claim(claim) { return this.#memory.claim(claim); }

  /** Nothing is changed if the file cannot be written. */
  write(term, writes) {
    return this.#inTurn(async () => {
      this.#memory.checkTerm(term);
      // A value that is no JSON throws an error here, before anything is changed.
      const changes = writes.map(({ store, key, value }) => ({ rows: this.#texts.get(store), key,
        text: value === undefined ? undefined : serialize([key, defined(value)]) }));
      const before = changes.map(({ rows, key, text }) => {
        const old = rows.get(key);
        setRow(rows, key, text);
        return { rows, key, text: old };
      });
      try {
        await this.#save();
      } catch (error) {
        for (const { rows, key, text } of before.reverse()) setRow(rows, key, text);
        throw error;
      }
      await this.#memory.write(term, writes);
    });
  }

  erase(term) {
    return this.#inTurn(async () => {
      this.#memory.checkTerm(term);
      const before = this.#texts;
      this.#texts = new Map(names.map((name) => [name, new Map()]));
      try {
        await this.#save();
      } catch (error) {
        this.#texts = before;
        throw error;
      }
      await this.#memory.erase(term);
    });
  }

  /** Resolves once another process may open the file. */
  close() {
    this.#isClosed = true;
    this.#closing ??= this.#turn.then(() => this.#lock.release());
    return this.#closing;
  }

  #inTurn(act) {
    if (this.#isClosed) return Promise.reject(new StoreError("closed", "the store was closed"));
    const done = this.#turn.then(act);
    this.#turn = done.catch(() => {});
    return done;
  }

  async #read() {
    let text;
    try {
      text = await readFile(this.#path, "utf8");
    } catch (error) {
      if (error.code === "ENOENT") return;
      throw new StoreError("failed", `${this.#path} cannot be read (${error.message})`);
    }
    const held = contentsOf(text, this.#path);
    for (const name of names) {
      const rows = held[name].map((row) => [row[0], serialize(row)]);
      this.#texts.set(name, new Map(rows));
    }
    this.#memory.restore(held);
  }

  async #save() {
    const rows = names.map((name) =>
      `"${name}":[\n${[...this.#texts.get(name).values()].join(",\n")}\n]`);
    const head = `{"lockstepStore":${version},"term":${this.#memory.term}`;
    const draft = `${this.#path}.${this.#lock.id}.draft`;
    try {
      await writeSynced(draft, `${head},\n${rows.join(",\n")}}\n`);
      await rename(draft, this.#path);
      await syncFolder(dirname(this.#path));
    } catch (error) {
      const isFull = error.code === "ENOSPC" || error.code === "EDQUOT";
      throw new StoreError(isFull ? "full" : "failed",
        `${this.#path} cannot be written (${error.message})`);
    }
  }
}

function setRow(rows, key, text) {
  if (text === undefined) rows.delete(key);
  else rows.set(key, text);
}

function contentsOf(text, path) {
  const advice = `${path} is no store of Lockstep, or is damaged; move it away, then pair again`;
  let held;
  try {
    held = parseMessage(text);
  } catch {
    throw new StoreError("failed", advice);
  }
  if (Number.isSafeInteger(held?.lockstepStore) && held.lockstepStore > version) {
    throw new StoreError("newer", `${path} was written by a later version; update this program`);
  }
  const isRowOf = (name) => (row) =>
    Array.isArray(row) && row.length === 2 && isContent[name](...row);
  const isStore = held?.lockstepStore === version && Number.isSafeInteger(held.term)
    && names.every((name) => Array.isArray(held[name]) && held[name].every(isRowOf(name)));
  if (!isStore) throw new StoreError("failed", advice);
  const { term, records, outbox, values } = held;
  return { term, records, outbox, values };
}

/** Checks of a row's key and value, by store. */
const isContent = {
  records: (key, row) => isObject(row) && Number.isSafeInteger(row.snapshot)
    && isRecord(row.record) && keyOf(row.record) === key,
  outbox: (key, entry) => Number.isSafeInteger(key) && isObject(entry) && entry.number === key
    && [entry.zone, entry.name, entry.type, entry.state?.kind].every((it) => typeof it === "string")
    && (entry.fields === null || isObject(entry.fields))
    && ((entry.base ?? null) === null || isRecord(entry.base)),
  values: (key) => typeof key === "string",
};

function isRecord(value) {
  try {
    readRecord(value);
    return true;
  } catch {
    return false;
  }
}

async function writeSynced(path, text) {
  const file = await open(path, "w", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path) {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

const lockOf = (path) => `${path}.lock`;

/** Takes the lock of a file, or throws an error that names its holder. */
async function lockedBy(lock, path) {
  let holder;
  try {
    holder = await lock.take();
  } catch (error) {
    throw new StoreError("failed", `${path} cannot be opened (${error.message})`);
  }
  if (holder === null) return;
  throw new StoreError("inUse", `${path} is open in ${holder}; end that process, or `
    + `remove ${lockOf(path)} if it is another program`);
}

/** Removes drafts of processes that were killed, as far as possible. Requires the lock. */
async function removeDrafts(path) {
  const folder = dirname(path);
  const start = `${basename(path)}.`;
  for (const name of await readdir(folder).catch(() => [])) {
    const isDraft = name.startsWith(start)
      && /^[0-9a-f]{16}\.draft$/.test(name.slice(start.length));
    if (isDraft) await unlink(join(folder, name)).catch(() => {});
  }
}
