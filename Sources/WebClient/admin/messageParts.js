/**
 * Returns the texts of the elements of a list in a message, as they stand there: an export keeps
 * each digit that another program has written. The list is a member of the message's outermost
 * object; empty if there is none.
 *
 * @param {string} message valid JSON
 * @param {string} name
 * @returns {string[]}
 */
export function elementsIn(message, name) {
  let position = open(message, skip(message, 0), "{");
  while (position !== null && position < message.length && message[position] !== "}") {
    const nameEnd = valueEnd(message, position);
    const isWanted = message.slice(position, nameEnd) === `"${name}"`;
    const start = skip(message, skip(message, nameEnd) + 1);
    if (isWanted) return elementsAt(message, start);
    position = next(message, valueEnd(message, start));
  }
  return [];
}

function elementsAt(message, start) {
  const found = [];
  let position = open(message, start, "[");
  while (position !== null && position < message.length && message[position] !== "]") {
    const end = valueEnd(message, position);
    found.push(message.slice(position, end));
    position = next(message, end);
  }
  return found;
}

/** Returns the position of the first content of an object or list; null if it is none. */
const open = (message, position, sign) =>
  (message[position] === sign ? skip(message, position + 1) : null);

/** Returns the position after the comma that follows a value, or that of the closing sign. */
function next(message, end) {
  const position = skip(message, end);
  return message[position] === "," ? skip(message, position + 1) : position;
}

function skip(message, position) {
  let at = position;
  while (" \t\n\r".includes(message[at] ?? "x")) at += 1;
  return at;
}

const text = /"(?:[^"\\]|\\.)*"/gsy;
const plain = /[^",[\]{}\s]+/gy;
const signs = /["[\]{}]/g;

/** Returns the position after a value. */
function valueEnd(message, start) {
  if (message[start] === '"') return endOf(text, message, start);
  if (message[start] !== "{" && message[start] !== "[") return endOf(plain, message, start);
  let depth = 0;
  let position = start;
  for (;;) {
    signs.lastIndex = position;
    const found = signs.exec(message);
    if (found === null) return message.length;
    position = found.index + 1;
    if (found[0] === '"') position = endOf(text, message, found.index);
    else if (found[0] === "{" || found[0] === "[") depth += 1;
    else depth -= 1;
    if (depth === 0) return position;
  }
}

/** Returns the position after a match; the end of the message if there is none. */
function endOf(pattern, message, start) {
  pattern.lastIndex = start;
  return pattern.test(message) ? pattern.lastIndex : message.length;
}
