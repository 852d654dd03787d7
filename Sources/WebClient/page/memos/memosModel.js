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
    beginning: markedParts(excerpt(content.trim(), ""), ""), written: "Not saved", badge: "Draft",
  }));
}

/** Returns a memo's text as a text field has it, where each line ends with a line feed alone. */
export const typedText = (content) => content.replace(/\r\n?/g, "\n");

/** Returns the author of a copy left by a conflict, as text; null if the memo is not a copy. */
export function copyLabel({ copyOf, copyFrom }) {
  if (copyOf === null) return null;
  // A device without a known name has its id here.
  return `Other version, by ${/^[0-9a-f]{16}$/.test(copyFrom) ? "another device" : copyFrom}`;
}

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
    return original === null
      ? { words: `${copyLabel(memo)}. The memo itself was deleted.`, action: "Keep as a memo",
        memo: null, copy: memo }
      : { words: `${copyLabel(memo)}.`, action: "Compare", memo: original, copy: memo };
  }
  if (copies.length === 0) return null;
  const words = copies.length === 1 ? "Changed in two places: there is another version."
    : `Changed in several places: there are ${copies.length} other versions.`;
  return { words, action: "Compare", memo, copy: copies[0] };
}
