import { linkTarget } from "./linkTarget.js";
import { tagAt } from "./memoTags.js";

/**
 * Reads emphasis, code, links and tags of a text. Parts:
 *
 *     {kind: "text", text} · {kind: "code", text} · {kind: "tag", text} · {kind: "break"}
 *     {kind: "strong" | "emphasis" | "strike", parts} · {kind: "link", target, parts}
 *
 * Anything else is text. The time grows with the length of the text, whatever it is.
 *
 * @param {string} text lines end with a line feed
 * @returns {object[]}
 */
export const inlineParts = (text) => new InlineReader(text, 0, false).parts();

/** Levels of emphasis within each other. */
const depthMax = 8;
/** Length of the address of a link, in UTF-16 units. */
const addressMax = 2_000;

const word = /[\p{L}\p{N}]/u;
const plainRun = /[^\\`*_~[<#\nhH]+/y;
const punctuation = /[!-/:-@[-`{-~]/;
const enclosedAddress = /<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/iy;
const bareAddress = /https?:\/\/[^\s<>"]{1,2000}/iy;

const emphasisOf = {
  "**": "strong", "__": "strong", "~~": "strike", "*": "emphasis", "_": "emphasis",
};

class InlineReader {
  #text;
  #depth;
  #isInLink;
  #at = 0;
  #parts = [];
  #plain = "";
  /** Delimiters without an end in the rest of the text: they are not searched again. */
  #endless = new Set();
  /** Position of the next `](`; not before `#at`, or the text's length if there is none. */
  #nextAddress = -1;

  constructor(text, depth, isInLink) {
    this.#text = text;
    this.#depth = depth;
    this.#isInLink = isInLink;
  }

  parts() {
    while (this.#at < this.#text.length) {
      const run = this.#match(plainRun);
      if (run) this.#addPlain(run[0]);
      else if (!this.#readSpecial()) this.#addPlain(this.#text[this.#at]);
    }
    this.#endPlain();
    return this.#parts;
  }

  #match(pattern) {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text);
  }

  #addPlain(text) {
    this.#plain += text;
    this.#at += text.length;
  }

  #endPlain() {
    if (this.#plain !== "") this.#parts.push({ kind: "text", text: this.#plain });
    this.#plain = "";
  }

  #add(part, end) {
    this.#endPlain();
    this.#parts.push(part);
    this.#at = end;
    return true;
  }

  /** Returns false if the character at this place is text. */
  #readSpecial() {
    switch (this.#text[this.#at]) {
      case "\n": return this.#add({ kind: "break" }, this.#at + 1);
      case "\\": return this.#readEscape();
      case "`": return this.#readCode();
      case "*": case "_": case "~": return this.#readEmphasis();
      case "[": return this.#readLink();
      case "<": return this.#readEnclosedAddress();
      case "#": return this.#readTag();
      default: return this.#readBareAddress();
    }
  }

  #readEscape() {
    const next = this.#text[this.#at + 1];
    if (next === undefined || !punctuation.test(next)) return false;
    this.#plain += next;
    this.#at += 2;
    return true;
  }

  #readCode() {
    let end = this.#at;
    while (this.#text[end] === "`") end += 1;
    const delimiter = "`".repeat(end - this.#at);
    if (delimiter.length <= 3 && !this.#endless.has(delimiter)) {
      for (let close = this.#text.indexOf(delimiter, end); close >= 0;) {
        let closed = close;
        while (this.#text[closed] === "`") closed += 1;
        if (closed - close === delimiter.length) {
          return this.#add({ kind: "code", text: this.#text.slice(end, close) }, closed);
        }
        close = this.#text.indexOf(delimiter, closed);
      }
      this.#endless.add(delimiter);
    }
    // The whole run is text: a part of it must not open anything.
    this.#addPlain(this.#text.slice(this.#at, end));
    return true;
  }

  #readEmphasis() {
    const sign = this.#text[this.#at];
    const delimiters = sign === "~" ? ["~~"] : [sign + sign, sign];
    for (const delimiter of delimiters) {
      const begin = this.#at + delimiter.length;
      if (!this.#opens(delimiter, begin)) continue;
      const end = this.#endOf(delimiter, begin);
      if (end < 0) continue;
      const parts = this.#inner(this.#text.slice(begin, end), this.#isInLink);
      return this.#add({ kind: emphasisOf[delimiter], parts }, end + delimiter.length);
    }
    return false;
  }

  #opens(delimiter, begin) {
    if (!this.#text.startsWith(delimiter, this.#at) || this.#depth >= depthMax) return false;
    if (!/\S/.test(this.#text[begin] ?? " ")) return false;
    return delimiter[0] !== "_" || !word.test(this.#text[this.#at - 1] ?? " ");
  }

  /** Returns the position of the delimiter that ends an emphasis; -1 if there is none. */
  #endOf(delimiter, begin) {
    if (this.#endless.has(delimiter)) return -1;
    const [sign] = delimiter;
    let at = this.#text.indexOf(delimiter, begin + 1);
    while (at >= 0) {
      let end = at;
      while (this.#text[end] === sign) end += 1;
      // The end of a longer run, so that `***both***` has its inner end within.
      const close = end - delimiter.length;
      const isRight = delimiter.length === 2 || (end - at) % 2 === 1;
      if (isRight && this.#closes(close, end, at)) return close;
      at = this.#text.indexOf(delimiter, end);
    }
    this.#endless.add(delimiter);
    return -1;
  }

  #closes(close, end, run) {
    if (/[\s\\]/.test(this.#text[run - 1])) return false;
    return this.#text[close] !== "_" || !word.test(this.#text[end] ?? " ");
  }

  #inner(text, isInLink) {
    return new InlineReader(text, this.#depth + 1, isInLink).parts();
  }

  #readLink() {
    if (this.#isInLink || this.#depth >= depthMax) return false;
    const middle = this.#addressAfter();
    // The text of a link has no bracket.
    if (middle < 0 || this.#text.lastIndexOf("[", middle) !== this.#at) return false;
    const end = this.#addressEnd(middle + 2);
    const target = end < 0 ? null : linkTarget(this.#text.slice(middle + 2, end));
    const label = this.#text.slice(this.#at + 1, middle);
    if (target === null || label.trim() === "") return false;
    return this.#add({ kind: "link", target, parts: this.#inner(label, true) }, end + 1);
  }

  #addressAfter() {
    if (this.#nextAddress < this.#at) {
      const found = this.#text.indexOf("](", this.#at);
      this.#nextAddress = found < 0 ? this.#text.length : found;
    }
    return this.#nextAddress === this.#text.length ? -1 : this.#nextAddress;
  }

  /** Returns the position of the parenthesis after an address; -1 if it has no end. */
  #addressEnd(begin) {
    let open = 0;
    const most = Math.min(this.#text.length, begin + addressMax);
    for (let at = begin; at < most; at += 1) {
      const sign = this.#text[at];
      if (/[\s<>[\]]/.test(sign)) return -1;
      if (sign === "(") open += 1;
      if (sign === ")") {
        if (open === 0) return at;
        open -= 1;
      }
    }
    return -1;
  }

  #readEnclosedAddress() {
    const found = this.#isInLink ? null : this.#match(enclosedAddress);
    const target = found && linkTarget(found[1]);
    return !!target && this.#addAddress(found[1], target, this.#at + found[0].length);
  }

  #readBareAddress() {
    const isWithin = this.#isInLink || word.test(this.#text[this.#at - 1] ?? " ");
    const found = isWithin ? null : this.#match(bareAddress);
    const address = found && withoutSentenceEnd(found[0]);
    const target = address && linkTarget(address);
    return !!target && this.#addAddress(address, target, this.#at + address.length);
  }

  #addAddress(text, target, end) {
    return this.#add({ kind: "link", target, parts: [{ kind: "text", text }] }, end);
  }

  #readTag() {
    const tag = tagAt(this.#text, this.#at);
    return tag !== null && this.#add({ kind: "tag", text: tag }, this.#at + tag.length);
  }
}

/** Returns an address without the punctuation of the sentence around it. */
function withoutSentenceEnd(address) {
  let isOpen = address.split("(").length - address.split(")").length;
  let end = address.length;
  while (end > 0) {
    const sign = address[end - 1];
    if (sign === ")" && isOpen < 0) isOpen += 1;
    else if (!/[.,;:!?'\]}*_~]/.test(sign)) break;
    end -= 1;
  }
  return address.slice(0, end);
}
