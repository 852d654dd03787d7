import { member } from "../json/jsonValue.js";
import { linkTo } from "../page/text/deviceText.js";
import { clockTime, dayAt, longDate } from "../page/text/time.js";
import { OwnerFault } from "./ownerFault.js";

/** Times for which a code may be valid; the first one is chosen first for an account. */
export const validities = Object.freeze([
  { seconds: 600, words: "10 minutes" }, { seconds: 86_400, words: "1 day" },
  { seconds: 604_800, words: "7 days" },
]);

/**
 * Returns a code that the relay has made. `link` is null if the relay does not know its address.
 *
 * @returns {{accountID: string, code: string, expiresAt: number, link: string | null}}
 */
export function offerOf(answer) {
  const [accountID, code, link, relay] = ["accountID", "code", "link", "relay"].map((name) => {
    const value = member(answer, name);
    return typeof value === "string" && value !== "" ? value : null;
  });
  const expiresAt = member(answer, "expiresAt");
  if (accountID === null || code === null || !Number.isFinite(expiresAt)) {
    throw new OwnerFault({ code: "intercepted", detail: "an answer without a code" });
  }
  return { accountID, code, expiresAt, link: link ?? (relay && linkTo(relay, code)) };
}

/** Returns the end of a code as a sentence; the relay's time is that of `now`. */
export function validityText(expiresAt, now, minutesAhead) {
  if (expiresAt <= now) return "This code is too old. Make a new one.";
  const day = dayAt(expiresAt, minutesAhead);
  const time = clockTime(expiresAt, minutesAhead);
  return `It works once, for one device, until ${
    day === dayAt(now, minutesAhead) ? time : `${longDate(day)}, ${time}`}.`;
}

/** Returns the message that an owner sends to a person. */
export const messageFor = ({ link }, until) =>
  `Open this link on your phone or computer to join: ${link}\n${until}`;

/** Returns the one-time code of a link to this page, or of a typed one; null for other texts. */
export function signInCode(typed) {
  const start = typed.lastIndexOf("#code=");
  const code = (start < 0 ? typed : typed.slice(start + 6)).trim();
  return /^[A-Za-z0-9_-]{16,128}$/.test(code) ? code : null;
}
