import { memoShelf, memosWith } from "../../apps/memos/memoShelf.js";
import { ago } from "../words/time.js";

/** The memos that have the words, the last written first, as rows. */
export function memoRows(state, words, now, minutesAhead) {
  return memosWith(words, memoShelf(state)).map((memo) => ({
    key: memo.name, title: titleWords(memo), beginning: secondLine(memo.content),
    written: ago(memo.date, now, minutesAhead), copy: copyWords(memo),
  }));
}

/** One memo as the editor shows it; null where it is not there any more. */
export function memoNamed(state, name) {
  const memo = memoShelf(state).find((it) => it.name === name);
  return memo ? { ...memo, copy: copyWords(memo) } : null;
}

/** Of a copy that a conflict left, whose text it is. */
function copyWords({ copyOf, copyFrom }) {
  if (copyOf === null) return null;
  // A device that nobody knows by name goes by its id.
  return `Other version, by ${/^[0-9a-f]{16}$/.test(copyFrom) ? "another device" : copyFrom}`;
}

const titleWords = ({ title }) => title.trim() || "Untitled";

/** What follows the title, on one line. */
function secondLine(content) {
  const end = content.indexOf("\n");
  return end < 0 ? "" : content.slice(end + 1, end + 400).replace(/\s+/g, " ").trim().slice(0, 120);
}
