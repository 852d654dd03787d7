import { limits } from "./limits.js";
import { readObject, WireError } from "./wireError.js";

/**
 * A request that the relay turned down, as a problem (RFC 9457), an `error` message or a close
 * code: a value with advice.
 *
 * @typedef {{code: string, detail: string, retryAfterMilliseconds?: number, relayTime?: number,
 *   restoredThrough?: number, token?: string}} Refusal
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
  tooManyDevices: [403, "askPerson"],
  planRequired: [402, "askPerson", 4502],
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
  if (typeof problem?.token === "string") refusal.token = problem.token;
  return refusal;
}

/**
 * From an answer that is not the one that was asked for. Somebody on the way (a proxy) may have
 * given it, and then it is no problem: the status says what to make of it.
 */
export function readProblem(status, text, retryAfter) {
  let body = null;
  try {
    body = readObject(text);
  } catch (error) {
    // Not the relay's own words.
    if (!(error instanceof WireError)) throw error;
  }
  const usual = { 401: "badToken", 402: "planRequired", 404: "notFound", 413: "bodyTooLarge",
    429: "tooManyRequests", 503: "overloaded" };
  const code = status >= 500 ? usual[status] ?? "internalError" : usual[status] ?? "badRequest";
  const refusal = typeof body?.code === "string"
    ? readRefusal(body)
    : { code: status === 401 ? "internalError" : code, detail: `answered with status ${status}` };
  const seconds = /^\d{1,6}$/.test(retryAfter ?? "") ? Number(retryAfter) : null;
  if (seconds !== null) refusal.retryAfterMilliseconds ??= seconds * 1_000;
  return refusal;
}

/** What a refusal asks to be waited, never beyond reason. */
export function askedWait(refusal) {
  return Math.min(refusal?.retryAfterMilliseconds ?? 0, limits.retryAfterMilliseconds);
}
