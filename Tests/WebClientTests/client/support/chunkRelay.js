import { systemEnvironment } from "../../../../Sources/WebClient/client/transport/environment.js";
import { Files } from "../../../../Sources/WebClient/client/files/files.js";
import { parse } from "../../../../Sources/WebClient/json/jsonParser.js";
import { hex } from "../../../../Sources/WebClient/sealing/hex.js";
import { sha256 } from "../../../../Sources/WebClient/sealing/sha256.js";

/** A relay that knows nothing but chunks. */
export class ChunkRelay {
  chunks = new Map();
  /** `METHOD PATH` of each call. */
  calls = [];
  /** Returns the answer to a call in the place of the relay's own; undefined to let it answer.
   * @type {(call: string) => Response | Promise<Response> | undefined} */
  answer = () => undefined;

  /** Returns the files of a device with these keys. */
  files(keys = null, { isLocked = false } = {}) {
    const environment = {
      ...systemEnvironment(), fetch: (url, request) => this.#fetch(url, request),
      setTimer: (act) => setTimeout(act, 0),
    };
    return new Files({ environment, relay: () => "http://relay.test",
      access: async () => ({ token: "token", keys, isLocked }) });
  }

  count(method) { return this.calls.filter((call) => call.startsWith(`${method} `)).length; }

  async #fetch(url, { method, body, signal }) {
    if (signal.aborted) throw new TypeError("given up");
    const path = new URL(url).pathname;
    this.calls.push(`${method} ${path}`);
    const own = await this.answer(`${method} ${path}`);
    if (signal.aborted) throw new TypeError("given up");
    if (own) return own;
    const hash = path.split("/").at(-1);
    if (method === "POST") {
      const { hashes } = parse(body);
      const missing = hashes.filter((it) => !this.chunks.has(it));
      return new Response(`{"missing":[${missing.map((it) => `"${it}"`)}]}`);
    }
    if (method === "PUT") {
      if (hex(sha256(body)) !== hash) return problem(422, "hashMismatch");
      this.chunks.set(hash, body.slice());
      return new Response("", { status: 201 });
    }
    const bytes = this.chunks.get(hash);
    return bytes ? new Response(bytes) : problem(404, "notFound");
  }
}

export const problem = (status, code) => new Response(`{"code":"${code}","detail":"refused"}`,
  { status, headers: { "Content-Type": "application/problem+json" } });
