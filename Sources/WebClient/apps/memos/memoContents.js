import { member, text } from "../../json/jsonValue.js";
import { compareText } from "../../json/utf8.js";
import { deviceName, recordsOf } from "../edit.js";
import { wholeNumber } from "../../model/mergeParts.js";
import { titleOf } from "./memoResolver.js";

/**
 * Returns the memos, the most recently written first. For a copy left by a conflict, `copyOf` is
 * the name of the original memo and `copyFrom` the display name of the device that wrote the copy;
 * otherwise both are null.
 */
export function memoContents(state) {
  return recordsOf(state, "Memo").map((record) => memo(record, state)).sort(lastWrittenFirst);
}

function memo(record, state) {
  const content = text(record.fields, "content") ?? "";
  const date = wholeNumber(member(record.fields, "date"));
  return {
    name: record.name, title: titleOf(content), content,
    date: date === undefined ? record.modifiedAt : Number(date),
    modifiedAt: record.modifiedAt, device: record.device, ...origin(record.name, state),
  };
}

function lastWrittenFirst(one, other) {
  return other.date - one.date || compareText(other.name, one.name);
}

function origin(name, state) {
  const [tilde, dash] = [name.lastIndexOf("~"), name.lastIndexOf("-")];
  const isCopy = tilde >= 0 && tilde < dash && /^\d{1,19}$/.test(name.slice(dash + 1));
  if (!isCopy) return { copyOf: null, copyFrom: null };
  return {
    copyOf: name.slice(0, tilde), copyFrom: deviceName(state, name.slice(tilde + 1, dash)),
  };
}

/** Returns the memos that contain all words, ignoring case. `foldedOf` returns the text of a memo
 * as it is compared. */
export function memosWith(words, memos, foldedOf = ({ content }) => folded(content)) {
  const wanted = searchWords(words);
  if (wanted.length === 0) return memos;
  return memos.filter((memo) => {
    const content = foldedOf(memo);
    return wanted.every((it) => content.includes(it));
  });
}

/** Returns the words of a search as they are compared. */
export const searchWords = (words) => folded(words).split(" ").filter((it) => it !== "");

/** Lower case. A Greek sigma has a different form at the end of a word. */
export const folded = (words) => words.toLowerCase().replaceAll("ς", "σ");
