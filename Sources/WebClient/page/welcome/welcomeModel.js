import { memosApp } from "../../apps/memos/memosApp.js";
import { serialize } from "../../lockstep.js";
import { titleText } from "../memos/memoSearch.js";
import { plural } from "../text/time.js";

/** Maximum number of rows of unsent changes; further ones are only counted. */
const rowsShown = 20;

/**
 * Describes the content of a browser that the relay no longer accepts as a device; null if the
 * browser holds no account's data. `rows`: changes that no other device has, as text; `rest`:
 * number of further ones.
 *
 * @param {object} status value of `lockstep.status`
 * @param {{zone: string, name: string, fields: object | null}[]} unsent
 * @returns {{why: string, title: string, rows: string[], rest: number, hint: string} | null}
 */
export function removedDevice({ accountID }, unsent) {
  if (accountID === null) return null;
  const rows = unsent.slice(0, rowsShown).map(rowOf);
  return {
    why: "This browser is not a device of its account any more: it was removed, or an older copy "
      + "of the relay was put back.",
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
  // Other records (the timer, settings) contain no text of a person.
  if (text === undefined) return `${zone}: a change`;
  return `${zone}: ${zone === memosApp.zone ? titleText({ title: text }) : text.trim()}`;
}

/** Returns the content of a file with all unsent changes, for a person to keep. */
export function copyOf(unsent) { return `${serialize({ changes: unsent })}\n`; }

/**
 * Returns the question to a person before this browser erases the account's data.
 *
 * @param {object} status
 * @param {number} images images of the clipboard that wait here to be sent
 * @returns {{title: string, words: string, yes: string, hasUnsent: boolean, unsent: number}}
 */
export function signOutQuestion({ waiting, parkedCount, askingCount, state }, images) {
  const unsent = waiting + parkedCount + askingCount + images;
  const lost = unsent > 0
    ? ` ${plural(unsent, "change")} that no other device has would be lost.` : "";
  const offline = state === "offline"
    ? " Without a connection this browser stays in the account's list." : "";
  return {
    title: "Sign out of this browser?", yes: unsent > 0 ? "Sign out and lose them" : "Sign out",
    words: `All that is kept here goes from this browser.${lost}${offline}`,
    hasUnsent: unsent > 0, unsent,
  };
}
