import { memosApp } from "../../apps/memos/memosApp.js";
import { serialize } from "../../lockstep.js";
import { t, tCount } from "../language/language.js";
import { titleText } from "../memos/memoSearch.js";
import { joinSentences, zoneText } from "../text/sentences.js";

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
    why: t("This browser is not a device of its account any more: it was removed, or an older copy "
      + "of the relay was put back."),
    title: unsent.length === 0 ? t("All that is here was sent")
      : tCount(unsent.length, "{count} change that no other device has",
        "{count} changes that no other device has"),
    rows, rest: unsent.length - rows.length,
    hint: t("Pair it with the same account again, and what it has not sent goes out. To use it for "
      + "another account, sign out first: all that is kept here goes."),
  };
}

function rowOf({ zone, fields }) {
  const name = zoneText(zone);
  if (fields === null) return t("{zone}: something was deleted", { zone: name });
  const text = [fields.title, fields.name, fields.content].find(
    (it) => typeof it === "string" && it.trim() !== "");
  // Other records (the timer, settings) contain no text of a person.
  if (text === undefined) return t("{zone}: a change", { zone: name });
  return t("{zone}: {text}",
    { zone: name, text: zone === memosApp.zone ? titleText({ title: text }) : text.trim() });
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
  return {
    title: t("Sign out of this browser?"),
    yes: unsent > 0 ? t("Sign out and lose them") : t("Sign out"),
    words: joinSentences([t("All that is kept here goes from this browser."),
      unsent > 0 && tCount(unsent, "{count} change that no other device has would be lost.",
        "{count} changes that no other device has would be lost."),
      state === "offline" && t("Without a connection this browser stays in the account's list.")]),
    hasUnsent: unsent > 0, unsent,
  };
}
