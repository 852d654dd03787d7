import { serialize } from "../../changes/json.js";
import { plural } from "../words/time.js";

/** Rows of what is kept that are shown; beyond it they are counted. */
const rowsShown = 20;

/**
 * What a browser holds that the relay does not know any more as a device; null where it is none of
 * these. `rows`: what no other device has, as a person would know it; `rest`: how many more.
 *
 * @param {object} status as `lockstep.status` gives it
 * @param {{zone: string, name: string, fields: object | null}[]} unsent
 * @returns {{why: string, title: string, rows: string[], rest: number, hint: string} | null}
 */
export function leftBehind({ accountID, reason }, unsent) {
  if (accountID === null) return null;
  const rows = unsent.slice(0, rowsShown).map(rowOf);
  return {
    why: `This browser is not a device of its account any more: ${
      (reason ?? "it was removed").replace(/\.$/u, "")}.`,
    title: unsent.length === 0 ? "All that is here was sent"
      : `${plural(unsent.length, "change")} that no other device has`,
    rows, rest: unsent.length - rows.length,
    hint: "Pair it with the same account again, and what it has not sent goes out. To use it for "
      + "another account, sign out first: all that is kept here goes.",
  };
}

function rowOf({ zone, fields }) {
  if (fields === null) return `${zone}: something was deleted`;
  const text = [fields.title, fields.name, fields.content].find(
    (it) => typeof it === "string" && it.trim() !== "");
  // A zone's other records (the timer, settings) have no words of a person's.
  return text === undefined ? `${zone}: a change` : `${zone}: ${text.trim()}`;
}

/** A file with all of it, which a person can keep. */
export function copyOf(unsent) { return `${serialize({ changes: unsent })}\n`; }

/**
 * What a person is asked before this browser forgets the account.
 *
 * @returns {{title: string, words: string, yes: string, hasUnsent: boolean}}
 */
export function signOutQuestion({ waiting, parkedCount, askingCount, state }) {
  const unsent = waiting + parkedCount + askingCount;
  const lost = unsent > 0
    ? ` ${plural(unsent, "change")} that no other device has would be lost.` : "";
  const offline = state === "offline"
    ? " Without a connection this browser stays in the account's list." : "";
  return {
    title: "Sign out of this browser?", yes: unsent > 0 ? "Sign out and lose them" : "Sign out",
    words: `All that is kept here goes from this browser.${lost}${offline}`,
    hasUnsent: unsent > 0,
  };
}
