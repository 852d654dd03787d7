import { element } from "../components/element.js";
import { markedParts } from "./memoSearch.js";

/** Returns a text as texts and elements in which the words that were searched for are marked. */
export const markedElements = (text, words) => markedParts(text, words)
  .map(({ text: part, isMarked }) => (isMarked ? element("mark", {}, part) : part));
