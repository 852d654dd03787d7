import assert from "node:assert/strict";
import test from "node:test";
import { linkTarget } from "../../../Sources/WebClient/page/memos/linkTarget.js";
import { memoBlocks, withTask } from "../../../Sources/WebClient/page/memos/markdown.js";
import { inlineParts } from "../../../Sources/WebClient/page/memos/markdownInline.js";
import { SeededRandom } from "../support/seededRandom.js";

const signs = { strong: "**", emphasis: "*", strike: "~~" };

/** Returns parts as a short text: links as `<text|target>`, code as `{text}`, tags as `(text)`. */
function shortParts(parts) {
  return parts.map((part) => {
    switch (part.kind) {
      case "text": return part.text;
      case "break": return "/";
      case "code": return `{${part.text}}`;
      case "tag": return `(${part.text})`;
      case "link": return `<${shortParts(part.parts)}|${part.target}>`;
      default: return `${signs[part.kind]}${shortParts(part.parts)}${signs[part.kind]}`;
    }
  }).join("");
}

const inline = (text) => shortParts(inlineParts(text));

function short(block) {
  const { kind } = block;
  if (kind === "list") {
    const items = block.items.map(({ task, blocks }) =>
      `${task === null ? "" : `[${task.isDone ? "x" : " "}]`}${blocks.map(short).join("|")}`);
    return `${block.start ?? "-"}(${items.join(", ")})`;
  }
  if (kind === "quote") return `>(${block.blocks.map(short).join("|")})`;
  if (kind === "heading") return `${"#".repeat(block.level)} ${shortParts(block.parts)}`;
  if (kind === "rule") return "---";
  if (kind === "title") return `T ${shortParts(block.parts)}`;
  return block.parts ? shortParts(block.parts) : `${kind}:${block.text}`;
}

const blocks = (text) => memoBlocks(text).map(short);

test("the first line is the title, unless it is markdown of its own", () => {
  assert.deepEqual(blocks("Shopping\nbread\nbutter"), ["T Shopping", "bread/butter"]);
  assert.deepEqual(blocks("# Shopping\nbread"), ["# Shopping", "bread"]);
  assert.deepEqual(blocks("- bread"), ["-(bread)"]);
  assert.deepEqual(blocks("\nbread"), ["bread"]);
  assert.deepEqual(blocks(""), []);
});

test("headings, lists, tasks, quotes, code and rules are read", () => {
  assert.deepEqual(blocks("T\n## Two ##\n####### seven\n#none"),
    ["T T", "## Two", "####### seven/(#none)"]);
  assert.deepEqual(blocks("T\n- a\n  - b\n    more\n- c\n\nend"),
    ["T T", "-(a|-(b/more), c)", "end"]);
  assert.deepEqual(blocks("T\n3. a\n4) b"), ["T T", "3(a, b)"]);
  assert.deepEqual(blocks("T\n- [ ] milk\n- [x] eggs\n* [X] tea\n- [] no\n-[ ] no"),
    ["T T", "-([ ]milk, [x]eggs, [x]tea, [] no)", "-[ ] no"]);
  assert.deepEqual(blocks("T\n> a\n>> b\n> - c"), ["T T", ">(a|>(b)|-(c))"]);
  assert.deepEqual(blocks("T\n```js\n**a**\n\n# b\n```\nend"),
    ["T T", "code:**a**\n\n# b", "end"]);
  assert.deepEqual(blocks("T\n~~~\nnever ended"), ["T T", "code:never ended"]);
  assert.deepEqual(blocks("T\n---\n* * *\n- -"), ["T T", "---", "---", "-(-())"]);
  // A year at the beginning of a line of a text begins no list.
  assert.deepEqual(blocks("T\nborn in\n1970. And"), ["T T", "born in/1970. And"]);
});

test("emphasis, code, links and tags are read, and the rest is text", () => {
  assert.equal(inline("a **b *c*** ~~d~~ _e_ __f__ `g*`"),
    "a **b *c*** ~~d~~ *e* **f** {g*}");
  assert.equal(inline("***both***"), "***both***");
  assert.equal(inline("2 * 3 * 4, snake_case_name, ** a**, *a"),
    "2 * 3 * 4, snake_case_name, ** a**, *a");
  assert.equal(inline("\\*a\\* \\# \\a `` ` `` ```x"), "*a* # \\a { ` } ```x");
  assert.equal(inline("[a *b*](https://x.org/(1)) [c](x) ![d](https://e.org)"),
    "<a *b*|https://x.org/(1)> [c](x) !<d|https://e.org/>");
  assert.equal(inline("see https://x.org/a_b_c?d=e, (http://y.org) <mailto:a@b.org>"),
    "see <https://x.org/a_b_c?d=e|https://x.org/a_b_c?d=e>, (<http://y.org|http://y.org/>) "
    + "<mailto:a@b.org|mailto:a@b.org>");
  assert.equal(inline("#food (#Über-1) a#b #12 ##c #"), "(#food) ((#Über-1)) a#b #12 ##c #");
});

test("a link goes to http, https and mail alone, and hides no password and no direction", () => {
  for (const address of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x",
    "vbscript:x", "file:///etc/passwd", "blob:https://x.org/1", "//x.org", "/path", "#memo=a",
    "java\nscript:alert(1)", " https://x.org", "https://user:pass@x.org", "https://x.org@evil.org",
    "https://x.org/\u202egnp.exe", "https://x.org/\u0000", "https://", "http://[", "https:x.org",
    "ftp://x.org", "intent://x", "tel:1"]) {
    assert.equal(linkTarget(address), null, address);
    const text = inline(`[a](${address})`);
    assert.ok(!text.includes("<a|") && !/\|(?!https?:)/.test(text), `${address}: ${text}`);
  }
  assert.equal(linkTarget("HTTPS://X.org/a"), "https://x.org/a");
  assert.equal(linkTarget("mailto:a@b.org"), "mailto:a@b.org");
});

test("markup of HTML is text", () => {
  const text = "<script>alert(1)</script> <img src=x onerror=alert(1)> &lt; <!-- -->";
  assert.deepEqual(inlineParts(text), [{ kind: "text", text }]);
  assert.deepEqual(memoBlocks(`T\n${text}`)[1].parts, [{ kind: "text", text }]);
});

test("a task is ticked where it stands, and nowhere else", () => {
  const text = "T\n> 1. [ ] a\n\t- [x] b";
  const tasks = [];
  const collect = (list) => list.forEach((block) => {
    block.items?.forEach(({ task, blocks: inner }) => {
      if (task) tasks.push(task);
      collect(inner);
    });
    collect(block.blocks ?? []);
  });
  collect(memoBlocks(text));
  assert.deepEqual(tasks.map(({ isDone, at }) => [isDone, text.slice(at - 1, at + 2)]),
    [[false, "[ ]"], [true, "[x]"]]);
  assert.equal(withTask(text, tasks[0].at, true), "T\n> 1. [x] a\n\t- [x] b");
  assert.equal(withTask(text, tasks[1].at, false), "T\n> 1. [ ] a\n\t- [ ] b");
  assert.equal(withTask("other", tasks[0].at, true), null);
  assert.equal(withTask("", 5, true), null);
});

/** Number of blocks and parts, and the greatest depth. */
function sizeOf(list, depth = 1) {
  return list.reduce((sum, it) => {
    const inner = [it.parts, it.blocks, it.items].filter(Boolean)
      .map((part) => sizeOf(part, depth + 1));
    return inner.reduce((all, one) => ({ count: all.count + one.count,
      depth: Math.max(all.depth, one.depth) }), { ...sum, count: sum.count + 1 });
  }, { count: 0, depth });
}

test("a text made to take long or to nest deep is read, to a bounded depth", () => {
  const count = 60_000;
  for (const part of [">", "> ", "- ", "-\n", "  - a\n", "*", "**", "_a", "*a ", "**a ", "~~a ",
    "`", "``a`", "[", "](", "[](", "[a](", "[a](http://", "<http://", "http://", "http://)",
    "#", "#a ", "\\", "\n", "\n\n- ", "1. ", "```\n", "(", "*_**__~~", "a\n# ", "\t", " ", "- [ ] ",
    "https://a.b/))))", "\ud800", "_a_b", "***a", "> - "]) {
    const text = part.repeat(Math.ceil(count / part.length));
    const { depth } = sizeOf(memoBlocks(`T\n${text}`));
    assert.ok(depth < 40, `${JSON.stringify(part)} has depth ${depth}`);
  }
  const nested = Array.from({ length: 500 }, (_, level) => `${" ".repeat(2 * level)}- a`);
  assert.ok(sizeOf(memoBlocks(nested.join("\n"))).depth < 40);
});

test("the end of a very long text is shown as it is", () => {
  const text = `T\n${"**a**\n".repeat(50_000)}`;
  const rest = memoBlocks(text).at(-1);
  assert.equal(rest.kind, "rest");
  assert.ok(text.endsWith(rest.text) && rest.text.startsWith("**a**\n"));
  const line = "x".repeat(300_000);
  assert.equal(memoBlocks(line).map((it) => it.text ?? it.parts[0].text).join(""), line);
});

test("whatever a text is, all of its words are there", () => {
  const random = new SeededRandom(7);
  const pieces = ["*", "**", "_", "`", "[", "](", ")", "https://x.org", "#t", "> ", "- ", "\n",
    "[ ] ", "# ", "w", " ", "\\", "~~", "```\n", "1. ", "<", ">", "  "];
  const wordsOf = (list) => list.map((it) => (it.text ?? "")
    + wordsOf(it.parts ?? []) + wordsOf(it.blocks ?? []) + wordsOf(it.items ?? [])).join("");
  for (let round = 0; round < 2_000; round += 1) {
    const text = Array.from(random.bytes(24), (byte) => pieces[byte % pieces.length]).join("");
    const words = text.replace(/```w*\n/g, "\n").match(/w/g)?.length ?? 0;
    const shown = wordsOf(memoBlocks(text)).match(/w(?!\.)/g)?.length ?? 0;
    assert.ok(shown >= words - (text.includes("```") ? words : 0), JSON.stringify(text));
  }
});
