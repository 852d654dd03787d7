import { folded, searchWords } from "../../apps/memos/memoContents.js";
import { t } from "../language/language.js";

/** Length of the excerpt of a memo in a row, in UTF-16 units. */
const excerptLength = 160;
/** Text before the first word in an excerpt. */
const leadLength = 32;
/** Marks in one text: more do not help a person. */
const marksMax = 500;

/**
 * Returns a text in parts, of which those with the words are marked.
 *
 * @returns {{text: string, isMarked: boolean}[]}
 */
export function markedParts(text, words) {
  const marks = text === "" ? [] : marksIn(text, searchWords(words));
  const parts = [];
  let at = 0;
  for (const { begin, end } of marks) {
    if (begin > at) parts.push({ text: text.slice(at, begin), isMarked: false });
    parts.push({ text: text.slice(begin, end), isMarked: true });
    at = end;
  }
  if (at < text.length) parts.push({ text: text.slice(at), isMarked: false });
  return parts;
}

/** Returns the text of a memo around the first word, on one line; the beginning of what follows the
 * title if no word is in it. */
export function excerpt(content, words) {
  const body = content.slice(titleEnd(content));
  const first = firstPlace(body, searchWords(words));
  const begin = first > leadLength ? wordBegin(body, first - leadLength) : 0;
  const text = withoutSigns(body.slice(begin, begin + 3 * excerptLength)).slice(0, excerptLength);
  return begin > 0 ? `… ${text}` : text;
}

function titleEnd(content) {
  const end = content.indexOf("\n");
  return end < 0 ? content.length : end + 1;
}

/** Returns the text on one line, without the signs of headings, lists, quotes and emphasis. */
function withoutSigns(text) {
  return text.replace(/^[ \t]*(?:#{1,6}|>|[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?/gm, "")
    .replace(/\*\*|~~|`/g, "").replace(/\s+/g, " ").trim();
}

/** Returns the title of a memo as a person reads it. */
export const titleText = ({ title }) => withoutSigns(title) || t("Untitled");

function wordBegin(text, at) {
  const space = text.slice(at, at + leadLength).search(/\s/);
  const begin = space < 0 ? at : at + space + 1;
  return /[\udc00-\udfff]/.test(text[begin] ?? "") ? begin + 1 : begin;
}

function firstPlace(text, words) {
  if (words.length === 0) return -1;
  const { folds, places } = foldedPlaces(text);
  const found = words.map((it) => folds.indexOf(it)).filter((it) => it >= 0);
  return found.length === 0 ? -1 : placeOf(places, found.reduce((a, b) => Math.min(a, b)));
}

/** Returns the places of the words in order; places that overlap are one. */
function marksIn(text, words) {
  if (words.length === 0) return [];
  const { folds, places } = foldedPlaces(text);
  const found = [];
  for (const it of words) {
    for (let at = folds.indexOf(it), count = 0; at >= 0 && count < marksMax; count += 1) {
      found.push({ begin: placeOf(places, at), end: placeOf(places, at + it.length) });
      at = folds.indexOf(it, at + it.length);
    }
  }
  found.sort((one, other) => one.begin - other.begin || one.end - other.end);
  const marks = [];
  for (const { begin, end } of found) {
    const last = marks.at(-1);
    if (last && begin <= last.end) last.end = Math.max(last.end, end);
    else if (begin < end) marks.push({ begin, end });
  }
  return marks;
}

/** Returns a text as it is compared, and the place in the text of each unit of that; null if these
 * are the same places. Some letters are longer in lower case. */
function foldedPlaces(text) {
  const folds = folded(text);
  if (folds.length === text.length) return { folds, places: null };
  const places = [];
  const parts = [];
  let at = 0;
  for (const sign of text) {
    const part = folded(sign);
    for (let unit = 0; unit < part.length; unit += 1) places.push(at);
    parts.push(part);
    at += sign.length;
  }
  places.push(at);
  return { folds: parts.join(""), places };
}

const placeOf = (places, at) => (places === null ? at : places[at]);
