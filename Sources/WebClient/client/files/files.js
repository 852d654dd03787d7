import { areChunks } from "../../model/fileReference.js";
import { limits as modelLimits } from "../../model/limits.js";
import { base64url } from "../../sealing/base64url.js";
import { hex } from "../../sealing/hex.js";
import { sha256, SHA256 } from "../../sealing/sha256.js";
import { limits } from "../limits.js";
import { ChunkCalls } from "./chunkCalls.js";
import { checkAborted, FileError } from "./fileError.js";
import { contentParts, cutsFor, fixedParts } from "./fileParts.js";
import { FileSeal } from "./fileSeal.js";

/**
 * Reference to the content of a file, for a field of a record (`model/fileReference.js`).
 *
 * @typedef {{name: string, bytes: number, chunks: string[],
 *   seal?: {zone: string, key: string}}} FileReference
 */

/** Content of files that records name: sent to the relay, and fetched from it. */
export class Files {
  #environment;
  #relay;
  #access;

  /**
   * @param {{environment: object, relay: () => string,
   *   access: (zone: string) => Promise<{token: string,
   *     keys: import("../../sealing/sealingKeys.js").SealingKeys | null,
   *     isLocked: boolean}>}} parts `relay`: returns the address of the relay to ask
   */
  constructor({ environment, relay, access }) {
    this.#environment = environment;
    this.#relay = relay;
    this.#access = access;
  }

  /** Largest file in bytes. */
  get bytesMax() { return limits.fileBytes; }

  /** True if this device seals the files of the zone. @param {string} zone */
  async isSealed(zone) {
    const { keys, isLocked } = await this.#access(zone);
    return isLocked || !!keys?.zoneKeys(zone);
  }

  /**
   * Sends the content of a file to the relay, sealed if the zone is. Only what the relay does not
   * have yet is sent, so an upload that broke off continues. A record must name the chunks within a
   * day.
   *
   * @param {string} zone
   * @param {Blob} blob
   * @param {{name?: string, isCutByContent?: boolean, signal?: AbortSignal,
   *   onProgress?: (progress: {doneBytes: number, totalBytes: number}) => void}} [options]
   *   `isCutByContent`: as the vault does, so that a small change sends little
   * @returns {Promise<{file: FileReference, chunks: string[], sha256: string, parts: string}>}
   *   `sha256`: of the file; `parts`: hashes of its chunks before they were sealed, in Base64 for
   *   URLs
   */
  async upload(zone, blob, options = {}) {
    const { name = blob.name ?? "file", isCutByContent = false, signal } = options;
    if (blob.size > limits.fileBytes) throw new FileError("tooLarge");
    const { seal, calls } = await this.#opened(zone, signal);
    const ways = isCutByContent
      ? cutsFor(seal.chunkSeed, blob.size).map((cuts) => () => contentParts(blob, cuts))
      : [() => fixedParts(blob, seal.blockBytes)];
    for (const parts of ways) {
      const upload = new Upload({ seal, calls, total: blob.size, ...options });
      const sent = await upload.run(parts());
      if (!sent) continue;
      const file = { name, bytes: blob.size, chunks: sent.chunks, ...seal.member };
      return { file, ...sent };
    }
    throw new FileError("tooLarge");
  }

  /**
   * Fetches the content of a file, and checks it.
   *
   * @param {string} zone
   * @param {FileReference & {sha256?: string}} reference `sha256`: hash of the file, if it is known
   * @param {{type?: string, signal?: AbortSignal, open?: (chunk: Uint8Array) => Uint8Array | null,
   *   onProgress?: (progress: {doneBytes: number, totalBytes: number}) => void}} [options]
   *   `open`: opens chunks that were sealed in another way
   * @returns {Promise<Blob>}
   */
  async download(zone, reference, { type = defaultType, signal, open, onProgress } = {}) {
    if (!isReference(reference)) throw new FileError("damaged");
    const { bytes: total, chunks } = reference;
    if (total > limits.fileBytes) throw new FileError("tooLarge");
    const { seal, calls } = await this.#opened(zone, signal);
    const opener = open ?? seal.opener(reference);
    const hash = new SHA256();
    const blocks = [];
    let done = 0;
    for await (const chunk of fetched(calls, chunks)) {
      const block = opener(chunk);
      done += block?.length ?? 0;
      if (!block || done > total) throw new FileError("damaged");
      hash.add(block);
      // The browser may keep the content of blobs outside of the memory.
      blocks.push(new Blob([block]));
      onProgress?.({ doneBytes: done, totalBytes: total });
    }
    const isWhole = done === total
      && (reference.sha256 === undefined || hex(hash.digest()) === reference.sha256);
    if (!isWhole) throw new FileError("damaged");
    return new Blob(blocks, { type });
  }

  /**
   * Returns those of the chunks that the relay does not have.
   *
   * @param {string} zone
   * @param {string[]} chunks
   * @param {{signal?: AbortSignal}} [options]
   */
  async missing(zone, chunks, { signal } = {}) {
    const { calls } = await this.#opened(zone, signal);
    const missing = [];
    const unique = [...new Set(chunks)];
    for (let start = 0; start < unique.length; start += modelLimits.chunksPerRecord) {
      const asked = unique.slice(start, start + modelLimits.chunksPerRecord);
      missing.push(...await calls.missing(asked));
    }
    return missing;
  }

  async #opened(zone, signal) {
    checkAborted(signal);
    const { token, keys, isLocked } = await this.#access(zone);
    if (isLocked) throw new FileError("noKeys");
    const calls = new ChunkCalls(this.#environment, { relay: this.#relay(), token, signal });
    return { seal: new FileSeal(zone, keys), calls };
  }
}

const defaultType = "application/octet-stream";

const isReference = (value) => typeof value?.name === "string"
  && Number.isSafeInteger(value.bytes) && value.bytes >= 0 && areChunks(value.chunks)
  && (value.bytes === 0) === (value.chunks.length === 0);

/** One upload: chunks are sealed and sent in groups, so that few are in memory. */
class Upload {
  #seal;
  #calls;
  #total;
  #signal;
  #onProgress;
  #done = 0;
  /** Chunks of the group: `{hash, sealed, bytes}`; `sealed` null for one that is known. */
  #group = [];
  #groupBytes = 0;
  #known = new Set();

  constructor({ seal, calls, total, signal, onProgress }) {
    this.#seal = seal;
    this.#calls = calls;
    this.#total = total;
    this.#signal = signal;
    this.#onProgress = onProgress;
  }

  /** Sends the parts. Returns null if they are more than a record may name.
   * @param {AsyncIterable<Uint8Array>} parts */
  async run(parts) {
    const chunks = [];
    const hashes = [];
    const whole = new SHA256();
    for await (const part of parts) {
      checkAborted(this.#signal);
      if (chunks.length >= modelLimits.chunksPerRecord) return null;
      whole.add(part);
      hashes.push(sha256(part));
      chunks.push(this.#append(part));
      const isFull = this.#groupBytes >= limits.fileAheadBytes
        || this.#group.length >= limits.chunksAsked;
      if (isFull) await this.#flush();
    }
    await this.#flush();
    return { chunks, sha256: hex(whole.digest()), parts: base64url(joined(hashes)) };
  }

  #append(part) {
    const sealed = this.#seal.sealed(part);
    const hash = hex(sha256(sealed));
    const isKnown = this.#known.has(hash);
    this.#known.add(hash);
    // A part that is not sealed shares the memory of what was read.
    this.#group.push({ hash, sealed: isKnown ? null : sealed, bytes: part.length });
    if (!isKnown) this.#groupBytes += sealed.length;
    return hash;
  }

  async #flush() {
    const group = this.#group.splice(0);
    this.#groupBytes = 0;
    const asked = group.filter(({ sealed }) => sealed !== null).map(({ hash }) => hash);
    const missing = new Set(asked.length > 0 ? await this.#calls.missing(asked) : []);
    const sendNext = async (queue) => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        if (next.sealed && missing.has(next.hash)) await this.#calls.put(next.hash, next.sealed);
        this.#done += next.bytes;
        this.#onProgress?.({ doneBytes: this.#done, totalBytes: this.#total });
      }
    };
    await Promise.all(Array.from({ length: limits.chunksAtOnce }, () => sendNext(group)));
  }
}

/** Returns the chunks in their order, each with the bytes of its hash; some are fetched ahead. */
async function* fetched(calls, hashes) {
  const ahead = [];
  try {
    for (let next = 0; next < hashes.length || ahead.length > 0;) {
      while (next < hashes.length && ahead.length < limits.chunksAtOnce) {
        const chunk = checked(calls, hashes[next]);
        // The first failure ends the download; a later one is not asked for.
        chunk.catch(() => {});
        ahead.push(chunk);
        next += 1;
      }
      yield await ahead.shift();
    }
  } finally {
    await Promise.allSettled(ahead);
  }
}

/** Returns the bytes of a chunk. Bytes with another hash are fetched once more. */
async function checked(calls, hash) {
  for (let tries = 1; tries <= 2; tries += 1) {
    const bytes = await calls.get(hash);
    if (!bytes) throw new FileError("missing");
    if (hex(sha256(bytes)) === hash) return bytes;
  }
  throw new FileError("damaged");
}

function joined(hashes) {
  const bytes = new Uint8Array(hashes.length * 32);
  hashes.forEach((hash, index) => bytes.set(hash, index * 32));
  return bytes;
}
