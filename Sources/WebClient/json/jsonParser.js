import { depthMax, messageDepthMax, numberOf } from "./jsonValue.js";
import { byteCount, hasLoneSurrogate } from "./utf8.js";

/** Reason and position of invalid JSON (RFC 8259): one sentence for the person who wrote it. */
export class JSONFault extends Error {
  name = "JSONFault";
}

/**
 * Reads a whole JSON text: one value, at most `depthMax` deep, with nothing but white space
 * around it.
 *
 * Unlike `JSON.parse` it keeps every digit of every number (see `ExactNumber`), and refuses what
 * the other devices refuse too: duplicate names and lone surrogates.
 *
 * @param {string} text
 * @throws {JSONFault}
 */
export function parse(text) {
  return new Parser(text, { depth: depthMax, isNameOnce: true }).whole();
}

/**
 * Reads a message of the relay. It contains records as other programs wrote them; the relay does
 * not inspect their fields. A record with a duplicate name must not block all others, so the last
 * duplicate counts, as with `JSON.parse`.
 *
 * @param {string} text
 * @throws {JSONFault}
 */
export function parseMessage(text) {
  return plainMessage(text)
    ?? new Parser(text, { depth: messageDepthMax, isNameOnce: false }).whole();
}

/** Texts that JavaScript's own parser may read differently: numbers, and surrogates in escapes. */
const risky = /(?:^|[:,[\s])(?:-0|-?\d{16}|-?\d+[.eE])|\\u[dD][89a-fA-F]/;

/**
 * Parses a message without risky parts by JavaScript's own parser, which is much faster: nearly all
 * messages are such, and a new device reads many at once. Returns undefined for all others, and if
 * there is a fault to report.
 */
function plainMessage(text) {
  if (risky.test(text)) return undefined;
  try {
    const value = JSON.parse(text);
    return isWithin(value, messageDepthMax) ? value : undefined;
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
      // An assignment with `=` would not create a member named `__proto__`.
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

  /** Consumes a comma, and leaves the closing sign to `within`. */
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
    // The grammar was checked, and a string has no numbers to lose.
    const value = JSON.parse(this.#text.slice(start, this.#position));
    if (hasLoneSurrogate(value)) this.#fail("half a surrogate pair stands for no character", start);
    return value;
  }

  #number() {
    const start = this.#position;
    const found = this.#pass(number);
    const next = this.#text[this.#position];
    if (found === "" && this.#text[start] !== "-") this.#fail("a value is expected here");
    // After a leading zero or an empty part, the remaining characters would be read as another
    // value.
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

  /** Returns the next character that is not white space. */
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
