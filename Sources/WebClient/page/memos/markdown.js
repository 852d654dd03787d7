import { limits } from "../limits.js";
import { inlineParts } from "./markdownInline.js";

/**
 * Reads the markdown of a memo: headings, lists, tasks, quotes, code and rules. Blocks:
 *
 *     {kind: "title", parts} · {kind: "heading", level, parts} · {kind: "paragraph", parts}
 *     {kind: "quote", blocks} · {kind: "code", text} · {kind: "rule"} · {kind: "rest", text}
 *     {kind: "list", start, items: [{task, blocks}]}
 *
 * `start` is the first number of a numbered list, otherwise null; `task` is `{isDone, at}`, with
 * the position of its mark in the text, or null. `rest` is the end of a very long text, as it is.
 * The first line is the title, unless it is markdown of its own.
 *
 * @param {string} text lines end with a line feed
 * @returns {object[]}
 */
export function memoBlocks(text) {
  const end = endOfMarkdown(text);
  const lines = linesOf(text.slice(0, end));
  const blocks = [];
  const [first, ...others] = lines;
  const hasTitle = !isEmpty(first.text) && !beginsBlock(first.text, 0);
  if (hasTitle) blocks.push({ kind: "title", parts: inlineParts(first.text.trim()) });
  blocks.push(...readBlocks(hasTitle ? others : lines, 0));
  if (end < text.length) blocks.push({ kind: "rest", text: text.slice(end) });
  return blocks;
}

/** Returns a text with the task at a position ticked, or not; null if there is no task. */
export function withTask(text, at, isDone) {
  if (text[at - 1] !== "[" || !/[ xX]/.test(text[at] ?? "") || text[at + 1] !== "]") return null;
  return `${text.slice(0, at)}${isDone ? "x" : " "}${text.slice(at + 1)}`;
}

/** Levels of lists and quotes within each other; deeper ones are text. */
const depthMax = 6;

const fenceLine = /^ {0,3}(`{3,}|~{3,})[^`]*$/;
const headingLine = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;
const ruleLine = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const quoteSign = /^ {0,3}> ?/;
const itemSign = /^([ \t]*)([-*+]|\d{1,9}[.)])(?:[ \t]+|$)/;
const taskSign = /^\[([ xX])\](?:[ \t]+|$)/;

function endOfMarkdown(text) {
  if (text.length <= limits.previewLength) return text.length;
  const end = text.lastIndexOf("\n", limits.previewLength);
  return end > 0 ? end + 1 : limits.previewLength;
}

/** A line: its text, and the position of that in the memo. */
function linesOf(text) {
  let at = 0;
  return text.split("\n").map((line) => {
    const begin = at;
    at += line.length + 1;
    return { text: line, at: begin };
  });
}

const isEmpty = (text) => text.trim() === "";

/** True if a line of a paragraph begins a block. */
function beginsBlock(text, depth) {
  if (fenceLine.test(text) || headingLine.test(text) || ruleLine.test(text)) return true;
  if (depth >= depthMax) return false;
  const number = itemSign.exec(text)?.[2];
  return quoteSign.test(text) || (number !== undefined && /^(?:[-*+]|0*1[.)])$/.test(number));
}

function readBlocks(lines, depth) {
  const blocks = [];
  let index = 0;
  while (index < lines.length) {
    if (isEmpty(lines[index].text)) {
      index += 1;
      continue;
    }
    const { block, next } = readBlock(lines, index, depth);
    blocks.push(block);
    index = next;
  }
  return blocks;
}

function readBlock(lines, index, depth) {
  const { text } = lines[index];
  if (fenceLine.test(text)) return readCode(lines, index);
  const heading = headingLine.exec(text);
  if (heading) {
    const words = (heading[2] ?? "").replace(/(?:^|[ \t])#+[ \t]*$/, "").trim();
    const block = { kind: "heading", level: heading[1].length, parts: inlineParts(words) };
    return { block, next: index + 1 };
  }
  if (ruleLine.test(text)) return { block: { kind: "rule" }, next: index + 1 };
  if (depth < depthMax && quoteSign.test(text)) return readQuote(lines, index, depth);
  if (depth < depthMax && itemSign.test(text)) return readList(lines, index, depth);
  return readParagraph(lines, index, depth);
}

function readCode(lines, index) {
  const fence = fenceLine.exec(lines[index].text)[1];
  let end = index + 1;
  const isEnd = (text) => {
    const sign = text.trim();
    return sign.length >= fence.length && sign === fence[0].repeat(sign.length);
  };
  while (end < lines.length && !isEnd(lines[end].text)) end += 1;
  const text = lines.slice(index + 1, end).map((line) => line.text).join("\n");
  return { block: { kind: "code", text }, next: end + 1 };
}

function readQuote(lines, index, depth) {
  const inner = [];
  let next = index;
  for (; next < lines.length && quoteSign.test(lines[next].text); next += 1) {
    inner.push(lineFrom(lines[next], quoteSign.exec(lines[next].text)[0].length));
  }
  return { block: { kind: "quote", blocks: readBlocks(inner, depth + 1) }, next };
}

function readParagraph(lines, index, depth) {
  let next = index + 1;
  while (next < lines.length && !isEmpty(lines[next].text)
    && !beginsBlock(lines[next].text, depth)) next += 1;
  const text = lines.slice(index, next).map((line) => line.text.trim()).join("\n");
  return { block: { kind: "paragraph", parts: inlineParts(text) }, next };
}

const lineFrom = ({ text, at }, count) => ({ text: text.slice(count), at: at + count });

/** A list: its items begin at one column; what is indented further belongs to the item before. */
function readList(lines, index, depth) {
  const [, indent, sign] = itemSign.exec(lines[index].text);
  const list = { column: widthOf(indent), isNumbered: /^\d/.test(sign) };
  const items = [];
  let next = index;
  while (next < lines.length) {
    const item = itemOf(lines[next].text, list);
    if (item !== null) {
      items.push([lineFrom(lines[next], item)]);
      next += 1;
    } else if (isEmpty(lines[next].text)) {
      const after = nextFilled(lines, next);
      const goesOn = after < lines.length
        && (itemOf(lines[after].text, list) !== null || isWithin(lines[after].text, list));
      if (!goesOn) break;
      items.at(-1).push({ text: "", at: lines[next].at });
      next = after;
    } else if (isWithin(lines[next].text, list)) {
      items.at(-1).push(outdented(lines[next], list.column + 2));
      next += 1;
    } else {
      break;
    }
  }
  const start = list.isNumbered ? Number(/^\d+/.exec(sign)[0]) : null;
  return {
    block: { kind: "list", start, items: items.map((it) => readItem(it, depth)) }, next,
  };
}

/** Returns the length of the sign of an item of this list; null if the line begins none. */
function itemOf(text, { column, isNumbered }) {
  const found = itemSign.exec(text);
  if (!found || /^\d/.test(found[2]) !== isNumbered) return null;
  const width = widthOf(found[1]);
  return width >= column && width < column + 2 ? found[0].length : null;
}

const isWithin = (text, { column }) => widthOf(/^[ \t]*/.exec(text)[0]) >= column + 2;

function nextFilled(lines, index) {
  let next = index;
  while (next < lines.length && isEmpty(lines[next].text)) next += 1;
  return next;
}

/** Columns of white space; a tab reaches to the next multiple of four. */
function widthOf(space) {
  let width = 0;
  for (const sign of space) width = sign === "\t" ? width + 4 - (width % 4) : width + 1;
  return width;
}

/** Removes white space of at least so many columns. */
function outdented(line, columns) {
  let count = 0;
  let width = 0;
  while (width < columns && /[ \t]/.test(line.text[count] ?? "")) {
    width = line.text[count] === "\t" ? width + 4 - (width % 4) : width + 1;
    count += 1;
  }
  return lineFrom(line, count);
}

function readItem([first, ...others], depth) {
  const found = taskSign.exec(first.text);
  const task = found ? { isDone: found[1] !== " ", at: first.at + 1 } : null;
  const line = found ? lineFrom(first, found[0].length) : first;
  return { task, blocks: readBlocks([line, ...others], depth + 1) };
}
