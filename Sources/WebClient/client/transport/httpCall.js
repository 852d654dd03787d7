import { serialize } from "../../json/jsonValue.js";
import { limits } from "../limits.js";
import { Deadline } from "./environment.js";

/** Call without an answer. `kind`: `unreachable` (no transport would do better), `unanswered` (a
 * connection was established, and no answer came), `closed` (by this client). */
export class CallError extends Error {
  constructor(kind, message) {
    super(message);
    this.name = "CallError";
    this.kind = kind;
  }
}

/**
 * Sends one request with a deadline. The token is in a header, never in the URL.
 *
 * @param {import("./environment.js").Environment} environment
 * @param {{url: string, method?: string, token?: string, body?: object | Uint8Array,
 *   milliseconds: number, controller?: AbortController}} request `body`: JSON, or bytes
 * @returns {Promise<Response>} the response, once its head has arrived
 */
export async function open(environment, request) {
  const { url, method = "GET", token, body, milliseconds } = request;
  const controller = request.controller ?? new AbortController();
  const deadline = new Deadline(environment);
  let isLate = false;
  deadline.set(milliseconds, () => {
    isLate = true;
    controller.abort();
  });
  const headers = {};
  const isBytes = body instanceof Uint8Array;
  const content = body && !isBytes ? serialize(body) : body;
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = isBytes ? "application/octet-stream" : "application/json";
  try {
    return await environment.fetch(url, {
      method, headers, body: content, signal: controller.signal,
      credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer",
    });
  } catch (error) {
    if (isLate) throw new CallError("unanswered", "the relay did not answer in time");
    if (controller.signal.aborted) throw new CallError("closed", "the call was given up");
    throw await unreachable(environment, url, error);
  } finally {
    deadline.clear();
  }
}

/**
 * Sends a request that the browser completes after the page has ended. Nobody reads the answer, and
 * a failure is of no consequence.
 *
 * @param {import("./environment.js").Environment} environment
 * @param {{url: string, token: string}} request
 */
export function sendLast(environment, { url, token }) {
  environment.fetch(url, {
    method: "HEAD", headers: { Authorization: `Bearer ${token}` }, keepalive: true,
    credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer",
  }).catch(() => {});
}

/** Returns the reason that a call got no answer. A browser reports a relay that does not accept the
 * page's origin like one that is off; a request whose answer the page cannot read tells the two
 * apart. */
async function unreachable(environment, url, { message }) {
  const { origin } = environment;
  const relay = new URL(url).origin;
  const isRefused = origin !== undefined && origin !== relay && await answers(environment, relay);
  if (!isRefused) {
    return new CallError("unreachable", `the relay could not be reached (${message})`);
  }
  const error = new CallError("unreachable", origin === "null"
    ? "the relay accepts no page that was opened from a file; serve the page over http"
    : `the relay does not accept pages of this origin; start the relay with --origin ${origin}`);
  error.isOriginRefused = true;
  return error;
}

async function answers(environment, relay) {
  const controller = new AbortController();
  const deadline = new Deadline(environment);
  deadline.set(limits.connectMilliseconds, () => controller.abort());
  try {
    await environment.fetch(`${relay}/livez`, {
      mode: "no-cors", signal: controller.signal, credentials: "omit", cache: "no-store",
      referrerPolicy: "no-referrer",
    });
    return true;
  } catch {
    return false;
  } finally {
    deadline.clear();
  }
}

/**
 * `reconnectWithin`: milliseconds, 0 if the relay has few devices.
 *
 * @typedef {{status: number, contentType: string | null, retryAfter: string | null, text: string,
 *   reconnectWithin: number}} Answer
 */

/**
 * Sends a request and reads the body, all within the deadline.
 * @returns {Promise<Answer>}
 */
export const call = (environment, request) => exchange(environment, request, async (response) => {
  const length = Number(response.headers.get("Content-Length") ?? 0);
  if (length > limits.relayMessageBytes) throw tooLarge();
  const text = await response.text();
  if (text.length > limits.relayMessageBytes) throw tooLarge();
  return answerOf(response, text);
});

/**
 * Sends a request, and reads the response with a function, all within the deadline.
 *
 * @template T
 * @param {(response: Response) => Promise<T>} read
 * @returns {Promise<T>}
 */
export async function exchange(environment, request, read) {
  const controller = request.controller ?? new AbortController();
  const begun = environment.monotonic();
  const response = await open(environment, { ...request, controller });
  const deadline = new Deadline(environment);
  let isLate = false;
  deadline.set(request.milliseconds - (environment.monotonic() - begun), () => {
    isLate = true;
    controller.abort();
  });
  try {
    return await read(response);
  } catch (error) {
    if (error instanceof CallError) throw error;
    const isOurs = controller.signal.aborted && !isLate;
    throw new CallError(isOurs ? "closed" : "unanswered",
      isLate ? "the relay did not answer in time" : `the answer broke off (${error.message})`);
  } finally {
    deadline.clear();
  }
}

/** @returns {Answer} */
export function answerOf({ status, headers }, text) {
  const within = Number(headers.get("Lockstep-Reconnect-Within") ?? 0);
  return {
    status, contentType: headers.get("Content-Type"), retryAfter: headers.get("Retry-After"), text,
    reconnectWithin: Number.isSafeInteger(within) && within >= 0 ? within : 0,
  };
}

export const tooLarge = () => new CallError("unanswered", "the answer is too large");
