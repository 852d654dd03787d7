import { limits } from "./limits.js";
import { readObject, WireError } from "./wireError.js";

/**
 * Request that the relay has refused, as a problem (RFC 9457), an `error` message or a close code:
 * a value with advice.
 *
 * @typedef {{code: string, detail: string, retryAfterMilliseconds?: number, relayTime?: number,
 *   restoredThrough?: number, lostThrough?: number, token?: string, relay?: string}} Refusal
 */

/** By code: status, advice, close code. Same as the table in docs/protocol.md. */
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
  badWakeCode: [403, "fixRequest"],
  wakeNotAllowed: [403, "fixRequest"],
  planRequired: [402, "askPerson", 4502],
  outOfScope: [403, "askPerson"],
  hostNotAllowed: [421, "retry"],
  accountMoved: [421, "followRelay", 4421],
  notFound: [404, "fixRequest"],
  methodNotAllowed: [405, "fixRequest"],
  labelTaken: [409, "askPerson"],
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
  accountMoving: [503, "retry"],
  internalError: [500, "retry", 1011],
};

/** Returns the device's reaction to a refusal; an unknown code of a later relay counts as a fault
 * of this program. */
export function advice(refusal) {
  return Object.hasOwn(codes, refusal.code) ? codes[refusal.code][1] : "fixRequest";
}

/** True if the batch's content is at fault, so that a retry would be refused again. */
export function blamesContent(refusal) {
  return [
    "badName", "chunksMissing", "recordTooLarge", "badJSON", "badRequest", "badMessage",
    "bodyTooLarge", "tooManyRecords",
  ].includes(refusal.code);
}

/** True if a refused record may be accepted later: another device may have uploaded the missing
 * chunks, or made room in the account. */
export function mayPass(refusal) {
  return refusal.code === "chunksMissing" || refusal.code === "quotaExceeded";
}

/**
 * Returns the tag up to which the relay still has what it sent, for a refusal of a cursor that it
 * issued. A cursor that it does not know belongs to a history that it has lost. null: nothing may
 * be lost.
 */
export function provenLoss(refusal) {
  if (refusal.code === "storeRestored") return refusal.restoredThrough ?? 0;
  return refusal.code === "badChangeToken" ? 0 : null;
}

/** @returns {Refusal | null} the meaning of a socket's close code */
export function refusalOfClose(closeCode, reason) {
  const code = Object.keys(codes).find((name) => codes[name][2] === closeCode);
  return code ? { code, detail: reason || code } : null;
}

/** Reads an `error` message, an `error` event or a record's `error`. */
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
  if (typeof problem?.relay === "string") refusal.relay = problem.relay;
  return refusal;
}

/**
 * Returns the relay's own refusal from an answer; null if an intermediary has answered (a portal's
 * page, a proxy, another program's JSON).
 *
 * @param {import("./transport/httpCall.js").Answer} answer
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
  refusal.retryAfterMilliseconds ??= readRetryAfter(retryAfter);
  return refusal;
}

/**
 * Returns the refusal for an intermediary's answer: the outcome of the request is unknown, and it
 * is retried later. `isTooLarge`: it was refused for its size.
 */
export function interceptedBy({ status, retryAfter }) {
  const party = "something between this device and the relay";
  const isTooLarge = status === 413;
  const detail = isTooLarge ? `${party} refuses large requests (status 413)`
    : `${party} answered in its place, with status ${status}`;
  return { code: "internalError", detail, isTooLarge,
    retryAfterMilliseconds: readRetryAfter(retryAfter) };
}

/** True if an earlier version took an intermediary's answer for the relay's, and gave up a change
 * because of it. */
export function wasIntercepted({ detail }) { return /^answered with status \d+$/u.test(detail); }

/** Value in milliseconds; undefined if it is not in seconds. */
function readRetryAfter(retryAfter) {
  return /^\d{1,6}$/u.test(retryAfter ?? "") ? Number(retryAfter) * 1_000 : undefined;
}

/** Wait that a refusal asks for, limited to the maximum. */
export function requestedDelay(refusal) {
  return Math.min(refusal?.retryAfterMilliseconds ?? 0, limits.retryAfterMilliseconds);
}
