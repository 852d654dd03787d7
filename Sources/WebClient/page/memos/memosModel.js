import { t } from "../language/language.js";
import { deviceLabel } from "../text/deviceText.js";
import { ago } from "../text/time.js";
import { excerpt, markedParts, titleText } from "./memoSearch.js";

/**
 * Returns rows of memos.
 *
 * @param {object[]} memos as a library returns them
 * @param {{words: string, now: number, minutesAhead: number}} options `words` are marked
 */
export function memoRows(memos, { words, now, minutesAhead }) {
  return memos.map((memo) => ({
    key: memo.name,
    title: markedParts(titleText(memo), words),
    beginning: markedParts(excerpt(memo.content, words), words),
    written: ago(memo.date, now, minutesAhead), badge: copyLabel(memo),
  }));
}

/** Returns the rows of drafts of memos that are not saved yet. */
export function draftRows(drafts) {
  return drafts.map(({ memo, content }) => ({
    key: memo,
    title: markedParts(titleText({ title: content.trim().split("\n")[0].slice(0, 200) }), ""),
    beginning: markedParts(excerpt(content.trim(), ""), ""), written: t("Not saved"),
    badge: t("Draft"),
  }));
}

/** Returns a memo's text as a text field has it, where each line ends with a line feed alone. */
export const typedText = (content) => content.replace(/\r\n?/g, "\n");

/** Returns the author of a copy left by a conflict, as text; null if the memo is not a copy. */
export function copyLabel(memo) {
  return memo.copyOf === null ? null : t("Other version, by {device}", { device: author(memo) });
}

/** A device without a known name has its id here. */
const author = ({ copyFrom }) =>
  (/^[0-9a-f]{16}$/.test(copyFrom) ? deviceLabel(copyFrom, copyFrom) : copyFrom);

/**
 * Returns what the editor says about the other versions of a memo.
 *
 * @param {object} memo the open memo
 * @param {object | null} original the memo of which it is a copy, if it is one
 * @param {object[]} copies the copies of it, the newest first
 * @returns {{words: string, action: string, memo: object, copy: object} | null} `action` is the
 *   word of the button; without `memo`, the copy stands alone
 */
export function conflictNote(memo, original, copies) {
  if (memo.copyOf !== null) {
    const device = author(memo);
    return original === null
      ? { words: t("Other version, by {device}. The memo itself was deleted.", { device }),
        action: t("Keep as a memo"), memo: null, copy: memo }
      : { words: t("Other version, by {device}.", { device }), action: t("Compare"),
        memo: original, copy: memo };
  }
  if (copies.length === 0) return null;
  const words = copies.length === 1 ? t("Changed in two places: there is another version.")
    : t("Changed in several places: there are {count} other versions.", { count: copies.length });
  return { words, action: t("Compare"), memo, copy: copies[0] };
}
