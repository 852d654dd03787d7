import { isObject } from "../../json/jsonValue.js";
import { areChunks } from "../../model/fileReference.js";
import { RefusedError } from "../accounts.js";
import { limits } from "../limits.js";
import { advice, interceptedBy, readProblem, requestedDelay } from "../refusal.js";
import { answerOf, CallError, exchange, tooLarge } from "../transport/httpCall.js";
import { readObject, WireError } from "../wireError.js";
import { checkAborted } from "./fileError.js";

/**
 * Calls about chunks. One that fails in a way that may pass is repeated a few times. One that the
 * caller stops rejects with a `FileError`.
 */
export class ChunkCalls {
  #environment;
  #relay;
  #token;
  #signal;

  /**
   * @param {import("../transport/environment.js").Environment} environment
   * @param {{relay: string, token: string, signal?: AbortSignal}} context
   */
  constructor(environment, { relay, token, signal }) {
    this.#environment = environment;
    this.#relay = relay;
    this.#token = token;
    this.#signal = signal;
  }

  /** Returns those of the chunks that the relay does not have. @param {string[]} hashes */
  async missing(hashes) {
    const { bytes } = await this.#repeated({
      path: "/v1/chunks/missing", method: "POST", body: { hashes },
      bytesMax: limits.relayMessageBytes,
    });
    const answer = readObject(new TextDecoder().decode(bytes));
    if (!isObject(answer) || !areChunks(answer.missing)) throw new WireError("invalid list");
    return answer.missing;
  }

  /** @param {string} hash @param {Uint8Array} bytes */
  async put(hash, bytes) {
    await this.#repeated({
      path: `/v1/chunks/${hash}`, method: "PUT", body: bytes, bytesMax: limits.relayMessageBytes,
    });
  }

  /** Returns the bytes of a chunk, unchecked; null if the relay does not have it.
   * @param {string} hash @returns {Promise<Uint8Array | null>} */
  async get(hash) {
    const answer = await this.#repeated({
      path: `/v1/chunks/${hash}`, method: "GET", bytesMax: limits.chunkBytes, mayBeMissing: true,
    });
    return answer?.bytes ?? null;
  }

  async #repeated(request) {
    for (let tries = 1; ; tries += 1) {
      checkAborted(this.#signal);
      try {
        return await this.#once(request);
      } catch (error) {
        checkAborted(this.#signal);
        const mayPass = error instanceof CallError
          || (error instanceof RefusedError && advice(error.refusal) === "retry");
        const isOffline = error instanceof CallError && error.kind === "unreachable";
        if (!mayPass || isOffline || tries >= limits.chunkTries) throw error;
        await this.#pause(Math.max(requestedDelay(error.refusal),
          limits.backoffFirstMilliseconds * 2 ** tries * this.#environment.random()));
      }
    }
  }

  async #once({ path, method, body, bytesMax, mayBeMissing }) {
    const controller = new AbortController();
    const stop = () => controller.abort();
    this.#signal?.addEventListener("abort", stop, { once: true });
    try {
      const { response, bytes } = await exchange(this.#environment, {
        url: this.#relay + path, method, token: this.#token, body, controller,
        milliseconds: limits.chunkMilliseconds,
      }, async (answered) => ({ response: answered, bytes: await bodyOf(answered, bytesMax) }));
      if (response.ok) return { bytes };
      const answer = answerOf(response, new TextDecoder().decode(bytes));
      const problem = readProblem(answer);
      if (mayBeMissing && problem?.code === "notFound") return null;
      throw new RefusedError(problem ?? interceptedBy(answer));
    } finally {
      this.#signal?.removeEventListener("abort", stop);
    }
  }

  #pause(milliseconds) {
    return new Promise((resolve) => {
      const done = () => {
        this.#environment.clearTimer(timer);
        this.#signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = this.#environment.setTimer(done,
        Math.min(milliseconds, limits.backoffMilliseconds));
      this.#signal?.addEventListener("abort", done, { once: true });
    });
  }
}

/** Reads a body, and no more of it than may be there. */
async function bodyOf(response, bytesMax) {
  const parts = [];
  let length = 0;
  const reader = response.body?.getReader();
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > bytesMax) {
      await reader.cancel();
      throw tooLarge();
    }
    parts.push(value);
  }
  const bytes = new Uint8Array(length);
  let place = 0;
  for (const part of parts) {
    bytes.set(part, place);
    place += part.length;
  }
  return bytes;
}
