import { numberOf } from "./json.js";
import { limits } from "./limits.js";
import { byteCount, hasLoneSurrogate } from "./utf8.js";

/** Why a text is not JSON (RFC 8259), and where: one sentence for the person who wrote it. */
export class JSONFault extends Error {
  name = "JSONFault";
}

/**
 * Reads a whole JSON text: one value, at most `limits.jsonDepth` deep, with nothing but white
 * space around it.
 *
 * Beside `JSON.parse` it keeps every digit of every number (see `ExactNumber`), and turns down what
 * the other devices turn down as well: a name that stands twice, and half a surrogate pair.
 *
 * @param {string} text
 * @throws {JSONFault}
 */
export function parse(text) {
  return new Parser(text, { depth: limits.jsonDepth, isNameOnce: true }).whole();
}

/**
 * Reads a message of the relay. It holds records as others wrote them, which the relay does not
 * look into: one whose fields have a name twice must not hold up all the rest, so there the last
 * counts, as with `JSON.parse`.
 *
 * @param {string} text
 * @throws {JSONFault}
 */
export function parseMessage(text) {
  return plainMessage(text)
    ?? new Parser(text, { depth: limits.messageDepth, isNameOnce: false }).whole();
}

/** What JavaScript's own parser would read otherwise: numbers, and halves of pairs in escapes. */
const risky = /(?:^|[:,[\s])(?:-0|-?\d{16}|-?\d+[.eE])|\\u[dD][89a-fA-F]/;

/**
 * Nearly all messages hold nothing risky, and JavaScript's own parser is much faster: a new device
 * reads many at once. undefined for all others, and where there is a fault to explain.
 */
function plainMessage(text) {
  if (risky.test(text)) return undefined;
  try {
    const value = JSON.parse(text);
    return isWithin(value, limits.messageDepth) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isWithin(value, depth) {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((part) => isWithin(part, depth - 1));
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const plainText = /[^"\\\u0000-\u001f]*/y;
const space = /[ \t\n\r]*/y;
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

class Parser {
  #text;
  #depthMax;
  #isNameOnce;
  #position = 0;
  #depth = 0;

  constructor(text, { depth, isNameOnce }) {
    if (typeof text !== "string") throw new TypeError("JSON is read from a string");
    this.#text = text;
    this.#depthMax = depth;
    this.#isNameOnce = isNameOnce;
  }

  whole() {
    const value = this.#value();
    this.#pass(space);
    if (this.#position < this.#text.length) this.#fail("nothing may follow the JSON value");
    return value;
  }

  #value() {
    switch (this.#peek()) {
      case "{": return this.#within(() => this.#object());
      case "[": return this.#within(() => this.#array());
      case '"': return this.#string();
      case "t": return this.#literal("true", true);
      case "f": return this.#literal("false", false);
      case "n": return this.#literal("null", null);
      default: return this.#number();
    }
  }

  #within(read) {
    if (this.#depth === this.#depthMax) {
      this.#fail(`arrays and objects are nested more than ${this.#depthMax} deep`);
    }
    this.#depth += 1;
    this.#position += 1;
    const value = read();
    this.#position += 1;
    this.#depth -= 1;
    return value;
  }

  #object() {
    const object = {};
    if (this.#peek() === "}") return object;
    for (;;) {
      if (this.#peek() !== '"') this.#fail("a member's name in double quotes is expected here");
      const start = this.#position;
      const name = this.#string();
      if (this.#isNameOnce && Object.hasOwn(object, name)) {
        this.#fail("a member of the same name stands in the object already", start);
      }
      if (this.#peek() !== ":") this.#fail("a colon is expected here");
      this.#position += 1;
      // Set by `=`, `__proto__` would be no member.
      Object.defineProperty(object, name, {
        value: this.#value(), configurable: true, enumerable: true, writable: true,
      });
      if (this.#ends("}", "a comma or a closing brace is expected here")) return object;
    }
  }

  #array() {
    const array = [];
    if (this.#peek() === "]") return array;
    for (;;) {
      array.push(this.#value());
      if (this.#ends("]", "a comma or a closing bracket is expected here")) return array;
    }
  }

  /** Leaves the closing sign to `within`, and takes a comma. */
  #ends(closing, sentence) {
    const sign = this.#peek();
    if (sign === closing) return true;
    if (sign !== ",") this.#fail(sentence);
    this.#position += 1;
    return false;
  }

  #string() {
    const start = this.#position;
    this.#position += 1;
    for (;;) {
      this.#pass(plainText);
      const sign = this.#text[this.#position];
      if (sign === undefined) this.#failAtEnd();
      if (sign === '"') break;
      if (sign !== "\\") {
        this.#fail("a control character in a string must be written as an escape, such as \\n");
      }
      if (this.#pass(escape) === "") {
        this.#fail('after a backslash stands one of " \\ / b f n r t, or u with four digits');
      }
    }
    this.#position += 1;
    // Its grammar was checked, and its numbers cannot be lost.
    const value = JSON.parse(this.#text.slice(start, this.#position));
    if (hasLoneSurrogate(value)) this.#fail("half a surrogate pair stands for no character", start);
    return value;
  }

  #number() {
    const start = this.#position;
    const found = this.#pass(number);
    const next = this.#text[this.#position];
    if (found === "" && this.#text[start] !== "-") this.#fail("a value is expected here");
    // A leading zero, an empty part: what follows would be taken for something else.
    if (found === "" || (next !== undefined && /[\d.eE+-]/.test(next))) {
      this.#fail("a number is written as in -12.5e3, with no leading zero or empty part", start);
    }
    return numberOf(found);
  }

  #literal(word, value) {
    if (!this.#text.startsWith(word, this.#position)) this.#fail("a value is expected here");
    this.#position += word.length;
    return value;
  }

  /** The next character that is not white space. */
  #peek() {
    this.#pass(space);
    return this.#text[this.#position] ?? this.#failAtEnd();
  }

  #pass(pattern) {
    pattern.lastIndex = this.#position;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#position += found.length;
    return found;
  }

  #failAtEnd() {
    return this.#fail("the JSON ends before it is complete", this.#text.length);
  }

  #fail(sentence, position = this.#position) {
    throw new JSONFault(`${sentence} (byte ${byteCount(this.#text.slice(0, position))})`);
  }
}
