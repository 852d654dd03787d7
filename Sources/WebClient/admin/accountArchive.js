import { serialize } from "../json/jsonValue.js";
import { hex } from "../sealing/hex.js";
import { sha256 } from "../sealing/sha256.js";
import { bytes as bytesText } from "../status/format.js";
import { objectIn, OwnerFault } from "./ownerFault.js";
import { amount } from "./amount.js";
import { limits } from "./limits.js";
import { elementsIn } from "./messageParts.js";
import { tarEnd, tarFilling, tarHeader } from "./tar.js";

/** An export was ended by the person. */
export class ExportEnded extends Error {
  name = "ExportEnded";
}

/**
 * Reads a whole account, and packs it into a tar archive with the files that
 * `lockstep account export` writes: account.json, devices.jsonl, records.jsonl, chunks/HASH.
 *
 * The records are those of one moment: a snapshot is read page by page, then the changes that were
 * made meanwhile. If a chunk is gone, the record that named it has changed since, and the further
 * changes are read.
 */
export class AccountArchive {
  #calls;
  #account;
  #now;
  #show;
  #signal;
  /** By zone and name, in the order of their last versions: `{line, chunks, isSealed}`. */
  #records = new Map();
  #token = null;
  #read = 0;
  /** Hashes of the chunks in `#parts`. */
  #chunks = new Set();
  #chunkBytes = 0;
  /** Parts of the archive: blobs, which a browser may keep on the disk. */
  #parts = [];
  #folder;

  /**
   * @param {{calls: object, account: object, now: () => number, show: (words: string) => void,
   *   signal: AbortSignal}} options `account`: the relay's answer; `show` is called with the
   *   progress
   */
  constructor({ calls, account, now, show, signal }) {
    this.#calls = calls;
    this.#account = account;
    this.#now = now;
    this.#show = show;
    this.#signal = signal;
    this.#folder = `lockstep-${account.accountID}`;
  }

  /** @returns {Promise<{blob: Blob, records: number, chunks: number, sealed: number}>} */
  async pack() {
    for (let attempt = 0; attempt < limits.exportAttempts; attempt += 1) {
      await this.#readChanges();
      if (await this.#addChunks()) return this.#finished();
    }
    throw new OwnerFault({ code: "chunksMissing", detail: "Chunks of files that records name are "
      + "missing again and again. Run lockstep relay check: the store may be damaged." });
  }

  /** Reads up to the newest change: the end of the snapshot, and of what came after it. */
  async #readChanges() {
    // The end of a snapshot is not the newest change: what was made meanwhile follows it.
    let isAfterEnd = this.#token !== null;
    for (;;) {
      this.#checkSignal();
      const body = await this.#calls.changes(this.#account.accountID, this.#token);
      const page = objectIn(body);
      const lines = elementsIn(body, "changes");
      const isPage = Array.isArray(page?.changes) && page.changes.length === lines.length
        && typeof page.token === "string";
      if (!isPage) throw new OwnerFault({ code: "intercepted", detail: "no page of changes" });
      page.changes.forEach((record, index) => this.#put(record, lines[index]));
      this.#token = page.token;
      this.#read += page.changes.length;
      this.#show(`${amount(this.#read, "record")} read`);
      if (page.more !== true && isAfterEnd) return;
      isAfterEnd = page.more !== true;
    }
  }

  #put(record, line) {
    const key = serialize([record.zone, record.name]);
    this.#records.delete(key);
    if (record.deleted === true) return;
    // White space between values may have line feeds.
    this.#records.set(key, {
      line: `${line.replace(/[\r\n]/g, " ")}\n`,
      chunks: Array.isArray(record.chunks) ? record.chunks.filter(isHash) : [],
      isSealed: typeof record.fields?.sealed === "string"
        && typeof record.fields.key === "string",
    });
  }

  /** Returns false if the account no longer has a chunk. */
  async #addChunks() {
    for (const { chunks } of this.#records.values()) {
      for (const hash of chunks.filter((it) => !this.#chunks.has(it))) {
        this.#checkSignal();
        const bytes = await this.#calls.chunk(this.#account.accountID, hash);
        if (bytes === null) return false;
        if (hex(sha256(bytes)) !== hash) {
          throw new OwnerFault({ code: "chunkDamaged", detail: `The bytes of the chunk ${hash} do `
            + "not match its hash. Run lockstep relay check: the store is damaged." });
        }
        this.#add(`chunks/${hash}`, bytes);
        this.#chunks.add(hash);
        this.#chunkBytes += bytes.length;
        this.#show(`${amount(this.#read, "record")} read, ${
          amount(this.#chunks.size, "chunk")} of files (${bytesText(this.#chunkBytes)})`);
      }
    }
    return true;
  }

  async #finished() {
    const { body } = await this.#calls.devices(this.#account.accountID);
    this.#checkSignal();
    const records = [...this.#records.values()];
    this.#add("records.jsonl", ...records.map(({ line }) => line));
    this.#add("devices.jsonl", ...elementsIn(body, "devices").map((line) => `${line}\n`));
    this.#add("account.json", `${serialize(this.#facts(records.length))}\n`);
    return {
      blob: new Blob([...this.#parts, tarEnd()], { type: "application/x-tar" }),
      records: records.length, chunks: this.#chunks.size,
      sealed: records.filter(({ isSealed }) => isSealed).length,
    };
  }

  #facts(records) {
    const { accountID, label, plan, madeAt } = this.#account;
    return { accountID, token: this.#token, records, chunks: this.#chunks.size,
      chunkBytes: this.#chunkBytes, label, plan, madeAt, exportedAt: this.#now() };
  }

  #add(name, ...content) {
    const blob = new Blob(content);
    const header = tarHeader({
      name: `${this.#folder}/${name}`, bytes: blob.size, seconds: this.#now() / 1_000,
    });
    this.#parts.push(header, blob, tarFilling(blob.size));
  }

  #checkSignal() {
    if (this.#signal.aborted) throw new ExportEnded();
  }
}

const isHash = (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);

/** Returns the name of the file of an account's archive: `lockstep-mum-2026-03-01.tar`. */
export function archiveName({ accountID, label }, date) {
  const words = label.normalize("NFC").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");
  return `lockstep-${[...words].slice(0, 40).join("") || accountID}-${date}.tar`;
}
