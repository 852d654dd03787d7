import { searchTextOf } from "./callReference.js";
import { curlLine } from "./curlLine.js";
import { limits } from "./limits.js";

/** Shows the calls in the page: a list of links, an article for each call, and a search. */

/** Milliseconds for which a button says that it has copied. */
const copiedMilliseconds = 2_000;

export class ReferenceView {
  /** @param {{document: Document, list: HTMLElement, main: HTMLElement, found: HTMLElement,
   *   origin: string, copy: (text: string) => Promise<void>,
   *   after: (milliseconds: number, act: () => void) => void}} page `origin`: of the relay, for
   *   the lines of curl. `copy` throws if there is no clipboard */
  constructor({ document, list, main, found, origin, copy, after }) {
    this.document = document;
    this.list = list;
    this.main = main;
    this.found = found;
    this.origin = origin;
    this.copyText = copy;
    this.after = after;
    /** By id of a call: its article, its link, its text for a search. */
    this.calls = new Map();
    /** Of each group: its heading, its part of the list, the ids of its calls. */
    this.groups = [];
  }

  /** @param {ReturnType<import("./callReference.js").referenceOf>} reference */
  show({ description, groups }) {
    const sections = groups.map((group) => this.group(group));
    this.list.replaceChildren(...sections.map(({ part }) => part));
    this.list.hidden = false;
    this.main.replaceChildren(
      this.element("p", { class: "lead" }, this.marked(description)),
      ...sections.map(({ section }) => section));
  }

  has(id) { return this.calls.has(id); }

  isShown(id) { return this.calls.get(id)?.article.hidden === false; }

  /** Shows only the calls that contain all words. */
  search(text) {
    const words = text.slice(0, limits.searchCharacters).toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { article, item, searchText } of this.calls.values()) {
      const isFound = words.every((word) => searchText.includes(word));
      article.hidden = item.hidden = !isFound;
      if (isFound) shown += 1;
    }
    for (const { section, part, ids } of this.groups) {
      section.hidden = part.hidden = !ids.some((id) => this.isShown(id));
    }
    const all = this.calls.size;
    this.setText(this.found, words.length === 0 ? `${all} calls` : `${shown} of ${all} calls`);
  }

  group({ name, description, calls }) {
    const title = `group-${name}`;
    const articles = calls.map((call) => this.call(call));
    const section = this.element("section", { "aria-labelledby": title },
      this.element("h2", { id: title }, name),
      this.element("p", { class: "about" }, this.marked(description)),
      ...articles);
    const part = this.element("div", {},
      this.element("h2", {}, name),
      this.element("ul", {}, ...calls.map(({ id }) => this.calls.get(id).item)));
    this.groups.push({ section, part, ids: calls.map(({ id }) => id) });
    return { section, part };
  }

  call(call) {
    const { id, method, path } = call;
    const item = this.element("li", {}, this.element("a", { href: `#${id}` },
      this.method(method), this.path(path)));
    const article = this.element("article", { id, "aria-labelledby": `${id}-title` },
      this.element("h3", { id: `${id}-title` },
        this.element("a", { href: `#${id}` }, this.method(method), this.path(path))),
      this.element("p", {}, this.marked(call.summary)),
      this.element("p", { class: "about" }, call.isOpen
        ? "Needs no token." : "Needs the token of a device."),
      ...this.curl(call), ...this.parameters(call), ...this.body(call), ...this.answers(call),
      ...this.refusals(call));
    this.calls.set(id, { article, item, searchText: searchTextOf(call) });
    return article;
  }

  method(name) { return this.element("b", { class: `method ${name.toLowerCase()}` }, `${name} `); }

  /** A path that may break after each slash. */
  path(text) {
    const parts = text.split(/(?<=\/)/).flatMap((part) => [part, this.element("wbr")]);
    return this.element("code", {}, ...parts);
  }

  curl(call) {
    const line = curlLine(call, this.origin);
    if (line === null) {
      const words = "A WebSocket: curl cannot use it, a browser or a library can.";
      return [this.element("p", {}, words)];
    }
    const button = this.element("button", { type: "button" }, "Copy");
    button.setAttribute("aria-label", `Copy the curl line of ${call.method} ${call.path}`);
    button.addEventListener("click", () => this.copy(button, line));
    return [this.element("div", { class: "line" }, this.element("pre", {},
      this.element("code", {}, line)), button)];
  }

  async copy(button, line) {
    let said = "Copied";
    try {
      await this.copyText(line);
    } catch {
      // Without https a browser has no clipboard: the line is selected, and a person copies it.
      const range = this.document.createRange();
      range.selectNodeContents(button.previousElementSibling);
      const selection = this.document.getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      said = "Selected";
    }
    button.textContent = said;
    this.setText(this.found, said === "Copied"
      ? "The line is copied." : "The line is selected; copy it.");
    this.after(copiedMilliseconds, () => { button.textContent = "Copy"; });
  }

  parameters({ parameters }) {
    if (parameters.length === 0) return [];
    return [this.element("h4", {}, "Parameters"),
      this.members(parameters.map((it) => ({ ...it, path: it.name, note: it.place })))];
  }

  body({ body }) {
    if (!body) return [];
    const title = body.isRequired ? "Body" : "Body, optional";
    return [this.element("h4", {}, `${title}: `, this.element("code", {}, body.mediaType)),
      ...this.content(body)];
  }

  answers({ answers }) {
    return [this.element("h4", {}, "Answers"), ...answers.map(({ status, ...answer }) =>
      this.element("div", { class: "answer" },
        this.element("p", {}, this.element("b", {}, status), " ", this.marked(answer.description),
          answer.content ? [" ", this.element("code", {}, answer.content.mediaType)] : "",
          answer.headers.length > 0
            ? [" With ", ...this.codes(answer.headers), "."] : ""),
        ...(answer.content ? this.content(answer.content) : [])))];
  }

  content({ description, kinds, example }) {
    const lists = kinds.flatMap(({ title, members }) => [
      ...(title ? [this.element("p", { class: "kind" }, `One of: ${title}`)] : []),
      this.members(members),
    ]);
    return [
      ...(description ? [this.element("p", {}, this.marked(description))] : []),
      ...(lists.length > 0 ? [this.details("Members", ...lists)] : []),
      ...(example === null ? [] : [this.details("Example", this.element("pre", {},
        this.element("code", {}, JSON.stringify(example, null, 2))))]),
    ];
  }

  members(members) {
    return this.element("dl", {}, ...members.flatMap((it) => [
      this.element("dt", {}, this.element("code", {}, it.path),
        this.element("span", { class: "type" },
          ` ${[it.note, it.type, it.isRequired ? "required" : null].filter(Boolean).join(", ")}`)),
      this.element("dd", {}, this.marked(it.description),
        it.rules.length > 0
          ? this.element("span", { class: "rules" }, ` ${sentence(it.rules.join("; "))}`) : ""),
    ]));
  }

  refusals({ refusals }) {
    if (refusals.length === 0) return [];
    const rows = refusals.flatMap(({ status, description, codes }) => [
      this.element("dt", {}, this.element("b", {}, status), " ", ...this.codes(codes)),
      this.element("dd", {}, this.marked(description)),
    ]);
    return [this.details(`Refusals: ${refusals.map(({ status }) => status).join(", ")}`,
      this.element("dl", {}, ...rows))];
  }

  codes(names) {
    return names.flatMap((name, index) =>
      [...(index > 0 ? [", "] : []), this.element("code", {}, name)]);
  }

  details(title, ...children) {
    return this.element("details", {}, this.element("summary", {}, title), ...children);
  }

  /** Returns a text whose parts in backquotes are code. */
  marked(text) {
    return text.split("`").map((part, index) =>
      (index % 2 === 1 ? this.element("code", {}, part) : part));
  }

  element(tag, attributes = {}, ...children) {
    const node = this.document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children.flat(Infinity).filter((child) => child !== ""));
    return node;
  }

  setText(node, text) { if (node.textContent !== text) node.textContent = text; }
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;
