import { limits } from "./limits.js";
import { readObject, WireError } from "./wireError.js";

/**
 * A request that the relay turned down, as a problem (RFC 9457), an `error` message or a close
 * code: a value with advice.
 *
 * @typedef {{code: string, detail: string, retryAfterMilliseconds?: number, relayTime?: number,
 *   restoredThrough?: number, lostThrough?: number, token?: string}} Refusal
 */

/** By code: status, advice, close code. The table of docs/protocol.md. */
const codes = {
  badRequest: [400, "fixRequest"],
  badJSON: [400, "fixRequest"],
  badMessage: [400, "fixRequest", 4400],
  badChangeToken: [400, "fetchFirst"],
  badName: [400, "park"],
  badToken: [401, "askPerson", 4501],
  registrationClosed: [403, "askPerson"],
  originNotAllowed: [403, "askPerson"],
  badPairingCode: [403, "askPerson"],
  otherAccount: [403, "askPerson"],
  tooManyDevices: [403, "askPerson"],
  planRequired: [402, "askPerson", 4502],
  hostNotAllowed: [421, "retry"],
  notFound: [404, "fixRequest"],
  methodNotAllowed: [405, "fixRequest"],
  batchMismatch: [422, "fixRequest"],
  batchAborted: [409, "fetchFirst"],
  conflictTooLarge: [409, "fetchFirst"],
  clockAhead: [422, "stampAnew"],
  chunksMissing: [422, "park"],
  recordTooLarge: [413, "park"],
  quotaExceeded: [413, "askPerson"],
  tokenExpired: [410, "fetchFirst"],
  storeRestored: [410, "fetchFirst"],
  filterChanged: [410, "fetchFirst"],
  bodyTooLarge: [413, "fixRequest", 1009],
  tooManyRecords: [400, "fixRequest"],
  tooManyRequests: [429, "retry", 4429],
  helloRequired: [408, "retry", 4408],
  requestTimeout: [408, "retry"],
  diskLow: [507, "retry"],
  storeUnavailable: [503, "retry", 1013],
  overloaded: [503, "retry", 1013],
  stopping: [503, "retry", 1012],
  internalError: [500, "retry", 1011],
};

/** What a device does about a refusal; a code of a later relay is taken for a fault of ours. */
export function advice(refusal) {
  return Object.hasOwn(codes, refusal.code) ? codes[refusal.code][1] : "fixRequest";
}

/** The batch's content is at fault, so that the same again would be refused again. */
export function blamesContent(refusal) {
  return [
    "badName", "chunksMissing", "recordTooLarge", "badJSON", "badRequest", "badMessage",
    "bodyTooLarge", "tooManyRecords",
  ].includes(refusal.code);
}

/** A record that was refused so may be taken later: another device has brought what it lacked, or
 * made room in the account. */
export function mayPass(refusal) {
  return refusal.code === "chunksMissing" || refusal.code === "quotaExceeded";
}

/**
 * Told about a cursor that this relay gave: up to which tag it still has what it gave. A cursor
 * that it does not know at all is of a history that it has lost. null: nothing may be lost.
 */
export function provenLoss(refusal) {
  if (refusal.code === "storeRestored") return refusal.restoredThrough ?? 0;
  return refusal.code === "badChangeToken" ? 0 : null;
}

/** @returns {Refusal | null} what the relay says by closing a socket with this code */
export function refusalOfClose(closeCode, reason) {
  const code = Object.keys(codes).find((name) => codes[name][2] === closeCode);
  return code ? { code, detail: reason || code } : null;
}

/** From an `error` message, an `error` event or a record's `error`. */
export function readRefusal(problem) {
  const refusal = {
    code: typeof problem?.code === "string" ? problem.code : "internalError",
    detail: typeof problem?.detail === "string" ? problem.detail : "",
  };
  refusal.detail ||= typeof problem?.title === "string" ? problem.title : refusal.code;
  if (Number.isFinite(problem?.retryAfter)) {
    refusal.retryAfterMilliseconds = Math.max(0, problem.retryAfter) * 1_000;
  }
  if (Number.isSafeInteger(problem?.time)) refusal.relayTime = problem.time;
  if (Number.isSafeInteger(problem?.restoredThrough)) {
    refusal.restoredThrough = problem.restoredThrough;
  }
  if (Number.isSafeInteger(problem?.lostThrough)) refusal.lostThrough = problem.lostThrough;
  if (typeof problem?.token === "string") refusal.token = problem.token;
  return refusal;
}

/**
 * The relay's own words, from an answer that is not the one that was asked for; null where somebody
 * else has given it (a portal's page, a proxy, another's JSON).
 *
 * @param {import("./uplink/httpCall.js").Answer} answer
 */
export function readProblem({ contentType, text, retryAfter }) {
  if (!/^application\/problem\+json *(;|$)/iu.test(contentType ?? "")) return null;
  let body;
  try {
    body = readObject(text);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return null;
  }
  if (typeof body.code !== "string") return null;
  const refusal = readRefusal(body);
  refusal.retryAfterMilliseconds ??= readWait(retryAfter);
  return refusal;
}

/**
 * What another has answered in the relay's place: nothing is known of the request, and the same is
 * tried again later. `isTooLarge`: it was refused for its size.
 */
export function interceptedBy({ status, retryAfter }) {
  const words = "something between this device and the relay";
  const isTooLarge = status === 413;
  const detail = isTooLarge ? `${words} refuses large requests (status 413)`
    : `${words} answered in its place, with status ${status}`;
  return { code: "internalError", detail, isTooLarge,
    retryAfterMilliseconds: readWait(retryAfter) };
}

/** Earlier versions took such an answer for the relay's, and gave a change up for it. */
export function wasIntercepted({ detail }) { return /^answered with status \d+$/u.test(detail); }

/** Milliseconds; undefined where it is not told in seconds. */
function readWait(retryAfter) {
  return /^\d{1,6}$/u.test(retryAfter ?? "") ? Number(retryAfter) * 1_000 : undefined;
}

/** What a refusal asks to be waited, never beyond reason. */
export function askedWait(refusal) {
  return Math.min(refusal?.retryAfterMilliseconds ?? 0, limits.retryAfterMilliseconds);
}
