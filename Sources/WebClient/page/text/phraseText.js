import { t } from "../language/language.js";
import { codeIn } from "./deviceText.js";
import { enumerated, joinSentences } from "./sentences.js";

/** Words of a recovery phrase. */
const phraseWords = 17;

/** More letters are no code. */
const codeLetters = 30;

/** A word of a phrase: five letters, as in `sealing/proquints.js`. */
const phraseWord = /^[bdfghjklmnprstvz][aiou][bdfghjklmnprstvz][aiou][bdfghjklmnprstvz]$/;

const letters = (typed) => typed.toLowerCase().match(/[a-z]+/g) ?? [];

/** True for a text that is meant as a phrase, also with too few words; false for a code, for a link
 * with one, and for a text that may become one. */
export const isPhrase = (typed) =>
  codeIn(typed) === null && letters(typed).join("").length > codeLetters;

/**
 * Returns the words of a typed phrase, without the numbers, signs and line ends of a list.
 *
 * @param {{isTyping?: boolean}} [options] `isTyping`: the last word may not be complete
 * @returns {{count: number, wrong: {place: number, word: string}[]}} `place`: from 1
 */
export function wordsOfPhrase(typed, { isTyping = false } = {}) {
  const words = letters(typed);
  const isOpen = isTyping && /[a-z]$/i.test(typed);
  const wrong = words.map((word, index) => ({ place: index + 1, word }))
    .filter(({ place, word }) => !phraseWord.test(word) && !(isOpen && place === words.length));
  return { count: words.length, wrong };
}

/** Returns the sentences about a phrase that is being typed; empty for a text that may be a code.
 * Words that are written without spaces are for the client to read. */
export function phraseProgress(typed) {
  const { count, wrong } = wordsOfPhrase(typed, { isTyping: true });
  if (!isPhrase(typed) && !hasWord(typed)) return "";
  return joinSentences([
    t("Words so far: {count} of {total}.", { count, total: phraseWords }), wrongWords(wrong)]);
}

/** True if a complete word may be one of a phrase. A part of a code has a digit or a hyphen beside
 * it. */
const hasWord = (typed) => typed.toLowerCase().split(/[^a-z0-9-]+/).slice(0, -1)
  .some((it) => phraseWord.test(it));

/** Returns what is wrong with a typed phrase; null if each word may be right. */
export function phraseProblem(typed) {
  const { count, wrong } = wordsOfPhrase(typed);
  if (count < 2 || wrong.length === 0) return null;
  return wrongWords(wrong);
}

/** Words that are named at once. */
const namedWords = 3;

function wrongWords(wrong) {
  if (wrong.length === 0) return null;
  const named = wrong.slice(0, namedWords)
    .map(({ place, word }) => t("“{word}” (word {place})", { word: word.slice(0, 20), place }));
  return t("Not a word of a phrase: {words}. Each has five letters, as “lusab” has, and none of c, "
    + "e, q, w, x and y.", { words: enumerated(named) });
}
