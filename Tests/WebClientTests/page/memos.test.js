import assert from "node:assert/strict";
import test from "node:test";
import { memosApp } from "../../../Sources/WebClient/apps/memos/memosApp.js";
import { limits } from "../../../Sources/WebClient/page/limits.js";
import { lineDifferences } from "../../../Sources/WebClient/page/memos/lineDifferences.js";
import { memoInAddress } from "../../../Sources/WebClient/page/memos/memoAddress.js";
import { MemoDrafts } from "../../../Sources/WebClient/page/memos/memoDrafts.js";
import { MemoLibrary } from "../../../Sources/WebClient/page/memos/memoLibrary.js";
import { excerpt, markedParts, titleText }
  from "../../../Sources/WebClient/page/memos/memoSearch.js";
import { tagsOf } from "../../../Sources/WebClient/page/memos/memoTags.js";
import { MemoVersions, versionsWith }
  from "../../../Sources/WebClient/page/memos/memoVersions.js";
import { PageStore } from "../../../Sources/WebClient/page/store/pageStore.js";
import { TestPage } from "../support/testPage.js";

const ours = "000000000000000a";
const theirs = "000000000000000b";
const marked = (text, words) => markedParts(text, words)
  .map((part) => (part.isMarked ? `[${part.text}]` : part.text)).join("");

test("the words of a search are marked, in any case and in letters that grow", () => {
  assert.equal(marked("Milk and MILKY eggs", "milk EGG"), "[Milk] and [MILK]Y [egg]s");
  assert.equal(marked("aaa", "aa a"), "[aaa]");
  assert.equal(marked("abcd", "bc ab"), "[abc]d");
  // İ is two units in lower case.
  assert.equal(marked("İİx Milk İ", "milk"), "İİx [Milk] İ");
  assert.equal(marked("ΟΔΟΣ οδός", "οδοσ"), "[ΟΔΟΣ] οδός");
  assert.equal(marked("😀milk😀", "milk"), "😀[milk]😀");
  assert.equal(marked("買い物メモ", "物"), "買い[物]メモ");
  assert.equal(marked("$& .* (", ".* ("), "$& [.*] [(]");
  assert.equal(marked("Milk", " "), "Milk");
  assert.ok(markedParts("a ".repeat(100_000), "a").length <= 1_001);
});

test("an excerpt shows the place of the first word that was found", () => {
  const content = `Title\n${"before ".repeat(60)}needle ${"after ".repeat(60)}`;
  assert.match(excerpt(content, "NEEDLE"), /^… (?:before )+needle after/);
  assert.match(excerpt(content, "title"), /^before/);
  assert.equal(excerpt("Title", "x"), "");
  assert.equal(excerpt("T\n## a\n> b\n1. [x] c", ""), "a b c");
  assert.equal(titleText({ title: "## Plan *b*" }), "Plan *b*");
  assert.equal(titleText({ title: " " }), "Untitled");
});

test("tags are words after a sign, once each, and not in code or in an address", () => {
  assert.deepEqual(tagsOf("#food a #Food (#to/do) x#y #1 # `#code` https://x.org/#z #é-ü-"),
    ["#food", "#to/do", "#é-ü"]);
  assert.deepEqual(tagsOf("a\n```c\n#include\n```\n#real"), ["#real"]);
  assert.deepEqual(tagsOf(`#${"a".repeat(60)}`), []);
  assert.equal(tagsOf(Array.from({ length: 500 }, (_, at) => `#t${at}`).join(" ")).length, 50);
  assert.deepEqual(tagsOf("no sign"), []);
});

test("lines that only one of two texts has are marked", () => {
  const changed = (lines) => lines.filter((it) => it.isChanged).map((it) => it.text);
  const { left, right } = lineDifferences("a\nb\nc\nd", "a\nc\nx\nd\n");
  assert.deepEqual([changed(left), changed(right)], [["b"], ["x", ""]]);
  assert.deepEqual(left.map((it) => it.text), ["a", "b", "c", "d"]);
  const same = lineDifferences("a\r\nb", "a\nb");
  assert.deepEqual([changed(same.left), changed(same.right)], [[], []]);
  const [long, other] = ["x", "y"].map((sign) =>
    Array.from({ length: 5_000 }, (_, at) => `${sign}${at}`).join("\n"));
  assert.equal(changed(lineDifferences(long, other).left).length, 5_000);
});

test("the address of a memo is read, and another one is not", () => {
  assert.equal(memoInAddress("#memo=a%20b"), "a b");
  for (const hash of ["", "#memos", "#memo=", "#memo=%", "#memo", "memo=a"]) {
    assert.equal(memoInAddress(hash), null, hash);
  }
});

/** A controller with the memos of a test page. */
class TestController {
  page = new TestPage(memosApp);
  listeners = [];
  browser = { pageStore: new PageStore(undefined) };
  states = 0;

  get now() { return this.page.now; }

  get lockstep() { return { records: () => this.page.state.records }; }

  state() {
    this.states += 1;
    return this.page.state;
  }

  subscribe(listener) { this.listeners.push(listener); }

  notify(records) {
    for (const listener of this.listeners) listener({ kind: "changed", records });
  }

  /** A device writes a memo, and the page is told; null deletes it. */
  write(name, content, device = ours) {
    const fields = content === null ? null : { content, date: this.now };
    this.page.addRemote(name, "Memo", fields, this.now, device);
    this.notify([this.page.record(name)]);
    this.page.now += 1_000;
  }
}

test("two thousand memos are computed once, and not for each second or letter", () => {
  const controller = new TestController();
  for (let at = 0; at < 2_000; at += 1) {
    controller.page.addRemote(`m${at}`, "Memo",
      { content: `Memo ${at} #t${at % 3}\n${"word ".repeat(50)}`, date: at }, at);
  }
  const library = new MemoLibrary(controller);
  for (const words of ["m", "me", "memo 19", "memo 19", ""]) library.found(words, null);
  assert.equal(library.found("memo 1999", null)[0].name, "m1999");
  assert.equal(library.found("", "#t1").length, 667);
  assert.deepEqual(library.tags.map(({ tag, count }) => `${tag} ${count}`),
    ["#t0 667", "#t1 667", "#t2 666"]);
  assert.equal(controller.states, 1);
  controller.write("m5", "Other");
  assert.equal(library.memo("m5").content, "Other");
  assert.equal(library.memo("m6").content.slice(0, 6), "Memo 6");
  assert.equal(controller.states, 2);
});

test("the text before a change is kept here, and goes with its memo", async () => {
  const controller = new TestController();
  controller.write("a", "one");
  const versions = new MemoVersions(controller);
  controller.write("a", "two", theirs);
  controller.write("a", "two, longer", theirs);
  controller.write("a", "three");
  const contents = async () => (await versions.of("a")).map(({ content }) => content);
  // Both edits of the other device are one version.
  assert.deepEqual(await contents(), ["two, longer", "one"]);
  const kept = await versions.of("a");
  controller.write("a", null);
  assert.deepEqual(await contents(), []);
  await versions.keep(kept);
  assert.deepEqual(await contents(), ["two, longer", "one"]);
});

test("what is typed in one go is one version, unless most of it goes", async () => {
  const controller = new TestController();
  const versions = new MemoVersions(controller);
  const contents = async () => (await versions.of("a")).map(({ content }) => content);
  for (const text of ["b", "be", "before", "before all"]) controller.write("a", text);
  assert.deepEqual(await contents(), ["b"]);
  controller.write("a", "x");
  assert.deepEqual(await contents(), ["before all", "b"]);
  controller.page.now += limits.versionMilliseconds;
  controller.write("a", "xy");
  controller.write("a", "xyz");
  assert.deepEqual(await contents(), ["x", "before all", "b"]);
});

test("versions end at their limits, the oldest first", () => {
  const version = (memo, at, length = 1) =>
    ({ memo, content: "x".repeat(length), modifiedAt: at, device: theirs, until: at });
  const many = Array.from({ length: 30 }, (_, at) => version("a", at));
  const { put } = versionsWith([], many);
  assert.equal(put.length, limits.versionsOfMemo);
  assert.ok(put.every(([, { until }]) => until >= 10));
  const half = limits.versionsLength / 2;
  const held = [version("a", 1, half), version("b", 2, half)];
  const { put: added, remove } = versionsWith(held, [version("c", 3, 10)]);
  assert.deepEqual([added.length, remove], [1, [`a\n1\n${theirs}`]]);
  assert.deepEqual(versionsWith(held, [version("c", 3, 2 * half + 1)]), { put: [], remove: [] });
  // Another tab has kept the same version.
  assert.deepEqual(versionsWith(held, [held[0]]), { put: [], remove: [] });
});

test("a memo that was deleted while the page was closed leaves no version", async () => {
  const controller = new TestController();
  await controller.browser.pageStore.put("versions", `gone\n1\n${theirs}`,
    { memo: "gone", content: "secret", modifiedAt: 1, device: theirs, until: 2 });
  await new MemoVersions(controller).of("a");
  assert.deepEqual(await controller.browser.pageStore.all("versions"), []);
});

test("a draft is there after a reload until its memo is saved, and never in another account",
  async () => {
    const store = new PageStore(undefined);
    await store.keepFor("account");
    const drafts = new MemoDrafts(store, () => {});
    const draft = { id: "1", memo: "a", content: "typed", was: "", seenAt: null, at: 1 };
    await drafts.keep(draft);
    await drafts.keep({ ...draft, id: "2", content: "typed later", at: 2 });
    await store.keepFor("account");
    const again = new MemoDrafts(store, () => {});
    await again.isRead;
    assert.equal(again.of("a").content, "typed later");
    await again.remove("2");
    assert.equal(again.of("a").content, "typed");
    for (let at = 0; at < 2 * limits.drafts; at += 1) {
      await again.keep({ ...draft, id: `x${at}`, memo: `m${at}`, at: at + 10 });
    }
    assert.equal((await store.all("drafts")).length, limits.drafts);
    await store.keepFor("another account");
    assert.deepEqual(await store.all("drafts"), []);
    await store.put("drafts", "1", draft);
    await store.keepFor(null);
    assert.deepEqual(await store.all("drafts"), []);
  });

test("a store without room loses no memo, and says what it does not keep", async () => {
  const put = async () => { throw new Error("full"); };
  const drafts = new MemoDrafts({ all: async () => [], put, remove: async () => {} }, () => {});
  await drafts.keep({ id: "1", memo: "a", content: "typed", was: "", seenAt: null, at: 1 });
  assert.match(drafts.problem, /keeps no draft/);
  assert.equal(drafts.of("a").content, "typed");
});
