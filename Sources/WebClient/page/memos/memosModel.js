import { memoContents, memosWith } from "../../apps/memos/memoContents.js";
import { ago } from "../text/time.js";

/** Returns the memos that contain the words, the most recently written first, as rows. */
export function memoRows(state, words, now, minutesAhead) {
  return memosWith(words, memoContents(state)).map((memo) => ({
    key: memo.name, title: titleText(memo), beginning: secondLine(memo.content),
    written: ago(memo.date, now, minutesAhead), copy: copyLabel(memo),
  }));
}

/** Returns one memo for the editor; null if it no longer exists. */
export function memoNamed(state, name) {
  const memo = memoContents(state).find((it) => it.name === name);
  return memo ? { ...memo, copy: copyLabel(memo) } : null;
}

/** Returns a memo's text as a text field has it, where each line ends with a line feed alone. */
export const typedText = (content) => content.replace(/\r\n?/g, "\n");

/** Returns the author of a copy left by a conflict, as text; null if the memo is not a copy. */
function copyLabel({ copyOf, copyFrom }) {
  if (copyOf === null) return null;
  // A device without a known name has its id here.
  return `Other version, by ${/^[0-9a-f]{16}$/.test(copyFrom) ? "another device" : copyFrom}`;
}

const titleText = ({ title }) => title.trim() || "Untitled";

/** Returns the text after the title, on one line. */
function secondLine(content) {
  const end = content.indexOf("\n");
  return end < 0 ? "" : content.slice(end + 1, end + 400).replace(/\s+/g, " ").trim().slice(0, 120);
}
