import { JSONFault, parseMessage } from "../json/jsonParser.js";
import { isObject, text } from "../json/jsonValue.js";

/**
 * Failure of a call to the relay. `code`: the relay's own code of a refusal; `noAnswer` or
 * `intercepted`, if the answer is not the relay's; `signedOut`, if the session has ended;
 * `isUncertain`: the relay may have done what was asked.
 */
export class OwnerFault extends Error {
  name = "OwnerFault";

  /** @param {{code: string, detail?: string, retrySeconds?: number, isUncertain?: boolean}} it */
  constructor({ code, detail = "", retrySeconds = 0, isUncertain = false }) {
    super(detail || code);
    this.code = code;
    this.detail = detail;
    this.retrySeconds = retrySeconds;
    this.isUncertain = isUncertain;
  }
}

/** Returns the fault of an answer that is not the expected one. */
export function faultOf({ status, contentType, body, retryAfter, isUncertain = false }) {
  const retrySeconds = /^\d{1,6}$/u.test(retryAfter ?? "") ? Number(retryAfter) : 0;
  const problem = /^application\/problem\+json *(;|$)/iu.test(contentType ?? "") && objectIn(body);
  const code = problem ? text(problem, "code") : undefined;
  if (code !== undefined) {
    return new OwnerFault({ code, detail: text(problem, "detail") ?? "", retrySeconds });
  }
  return new OwnerFault({ code: "intercepted", detail: `status ${status}`, retrySeconds,
    isUncertain });
}

/** Returns the object of a JSON text; null if it is none. */
export function objectIn(body) {
  try {
    const value = parseMessage(body);
    return isObject(value) ? value : null;
  } catch (error) {
    if (error instanceof JSONFault) return null;
    throw error;
  }
}

/** Returns what went wrong, and a next step, as sentences for a person. */
export function faultText(error) {
  if (!(error instanceof OwnerFault)) return `This page has a fault: ${error.message}. Reload it.`;
  const words = texts[error.code]?.(error) ?? sentence(error.detail || error.code);
  if (!error.isUncertain) return words;
  return `${words} It is not known if the relay did what you asked: look, before you ask again.`;
}

const texts = {
  noAnswer: () => "The relay does not answer. See if it runs, and if this machine still reaches it "
    + "(a tunnel by ssh may have ended); then try again.",
  intercepted: ({ detail }) => `Something between this browser and the relay answered, with `
    + `${detail}. Look at the proxy, then try again.`,
  tooManyRequests: ({ retrySeconds }) => (retrySeconds > 1
    ? `The relay asks to wait. Try again in ${retrySeconds} seconds.`
    : "The relay asks to wait. Try again in a moment."),
  signedOut: () => "Your session has ended. Sign in again.",
};

function sentence(words) {
  const [first = "", ...rest] = words;
  const text = first.toUpperCase() + rest.join("");
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
