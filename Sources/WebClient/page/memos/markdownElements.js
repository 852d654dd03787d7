import { element } from "../components/element.js";
import { t } from "../language/language.js";
import { markedElements } from "./markedElements.js";

/**
 * Makes the elements of a memo's markdown. Text is inserted as text; the addresses of links were
 * checked when the markdown was read.
 *
 * @param {object[]} blocks result of `memoBlocks`
 * @param {{words: string, tick: ((at: number, isDone: boolean) => void) | null}} options `words`
 *   are marked; `tick` is called when the person ticks a task, null if the memo is read-only
 * @returns {Element[]}
 */
export function markdownElements(blocks, options) {
  return new MarkdownElements(options).blocks(blocks);
}

/** Tag names of parts of a text. */
const tagNames = { strong: "strong", emphasis: "em", strike: "s" };

class MarkdownElements {
  #words;
  #tick;
  /** Level of the last heading: the next one is at most one level below. The page's title is 1. */
  #level = 1;
  #hasTitle = false;

  constructor({ words, tick }) {
    this.#words = words;
    this.#tick = tick;
  }

  blocks(blocks) { return blocks.map((block) => this.#block(block)); }

  #block(block) {
    switch (block.kind) {
      case "title":
        this.#hasTitle = true;
        return this.#heading(1, block.parts, "markdown-title");
      case "heading":
        return this.#heading(block.level + (this.#hasTitle ? 1 : 0), block.parts,
          `markdown-heading markdown-heading-${Math.min(block.level, 4)}`);
      case "paragraph": return element("p", {}, this.#parts(block.parts));
      case "quote": return element("blockquote", {}, this.blocks(block.blocks));
      case "code":
        return element("pre", { tabindex: 0 },
          element("code", {}, markedElements(block.text, this.#words)));
      case "rule": return element("hr");
      case "rest": return element("p", { class: "markdown-rest" }, block.text);
      default: return this.#list(block);
    }
  }

  #heading(level, parts, className) {
    this.#level = Math.min(level + 1, this.#level + 1, 6);
    return element(`h${this.#level}`, { class: className }, this.#parts(parts));
  }

  #list({ start, items }) {
    const hasTasks = items.some(({ task }) => task !== null);
    return element(start === null ? "ul" : "ol",
      { class: hasTasks ? "tasks" : null, start: start === null || start === 1 ? null : start },
      items.map((item) => element("li", {}, this.#item(item))));
  }

  #item({ task, blocks }) {
    const [first, ...others] = blocks;
    const hasText = first?.kind === "paragraph";
    const text = hasText ? this.#parts(first.parts) : [];
    const rest = this.blocks(hasText ? others : blocks);
    return task === null ? [...text, ...rest] : [this.#task(task, text), ...rest];
  }

  #task({ isDone, at }, text) {
    const box = element("input", { type: "checkbox", disabled: this.#tick === null,
      "data-at": at, on: { change: () => this.#tick?.(at, box.checked) } });
    box.checked = isDone;
    return element("label", { class: "task" }, box,
      element("span", {}, text.length > 0 ? text : t("Task")));
  }

  #parts(parts) { return parts.flatMap((part) => this.#part(part)); }

  #part(part) {
    switch (part.kind) {
      case "text": return markedElements(part.text, this.#words);
      case "break": return [element("br")];
      case "code": return [element("code", {}, markedElements(part.text, this.#words))];
      case "tag":
        return [element("span", { class: "tag" }, markedElements(part.text, this.#words))];
      case "link":
        return [element("a", { href: part.target, title: part.target, target: "_blank",
          rel: "noopener noreferrer nofollow", referrerpolicy: "no-referrer" },
        this.#parts(part.parts))];
      default: return [element(tagNames[part.kind], {}, this.#parts(part.parts))];
    }
  }
}
