import assert from "node:assert/strict";
import { test } from "node:test";
import { problemText, SharedItems }
  from "../../../Sources/WebClient/page/clipboard/sharedItems.js";
import { TestWorker } from "../support/testWorker.js";

// What the service worker keeps of what other apps share, and what the page gets of it.

const opened = "https://relay.example/#clipboard";

function form(fields, images = []) {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  for (const image of images) data.append("images", image);
  return data;
}

/** Returns what the page finds after these shares, without the names of the entries. */
async function found(...forms) {
  const worker = new TestWorker();
  for (const each of forms) assert.equal(await worker.share(each), opened);
  const items = await new SharedItems(worker.caches).all();
  assert.equal(new Set(items.map(({ id }) => id)).size, items.length);
  return items.map(({ id, ...it }) => it);
}

test("title, text and address are one text without repetitions", async () => {
  const url = "https://example.org/a";
  const cases = [
    [{ title: "Page", text: "words", url }, `Page\nwords\n${url}`],
    [{ title: "Page", text: `words ${url}`, url }, `Page\nwords ${url}`],
    [{ title: "words", text: "words and more" }, "words and more"],
    [{ title: url, url }, url], [{ text: " spaced " }, "spaced"],
  ];
  for (const [fields, text] of cases) assert.deepEqual(await found(form(fields)), [{ text }]);
  assert.deepEqual(await found(form({ title: " ", text: "", other: "x" })), []);
});

test("images have their names, whatever is in them", async () => {
  const [one, other] = await found(form({}, [
    new File(["abc"], "ätna \ud83d.png", { type: "image/png" }), new File(["x"], "y"),
  ]));
  assert.deepEqual([one.content, one.image.type, await one.image.text()],
    ["ätna \ufffd.png", "image/png", "abc"]);
  assert.equal(other.content, "y");
});

test("what is too large, too much or no form is told", async () => {
  const large = new File([new Uint8Array(16_000_001)], "large.png", { type: "image/png" });
  assert.deepEqual(await found(form({}, [large])), [{ problem: "tooLarge" }]);
  assert.deepEqual(await found(form({ text: "x".repeat(300_001) })), [{ problem: "tooLarge" }]);
  assert.deepEqual(await found(null), [{ problem: "unreadable" }]);
  const many = Array.from({ length: 30 }, (_, index) => form({ text: `${index}` }));
  assert.equal((await found(...many)).length, 20);
  const images = Array.from({ length: 30 }, () => new File(["x"], "x", { type: "image/png" }));
  const kept = await found(form({}, images));
  assert.equal(kept.length, 20);
  assert.deepEqual(kept.at(-1), { problem: "tooMany" });
  for (const problem of ["tooLarge", "tooMany", "unreadable", "__proto__"]) {
    assert.match(problemText(problem), /^[A-Z].*\.$/);
  }
});

test("what the page has added is removed", async () => {
  const worker = new TestWorker();
  const shared = new SharedItems(worker.caches);
  assert.deepEqual(await shared.all(), []);
  await worker.share(form({ text: "one" }));
  await worker.share(form({ text: "two" }));
  const [{ id }] = await shared.all();
  await shared.remove(id);
  assert.deepEqual((await shared.all()).map(({ text }) => text), ["two"]);
});

test("requests of scripts, and other addresses, are no shares", async () => {
  const worker = new TestWorker();
  for (const options of [{ mode: "cors" }, { path: "/v1/share" }, { method: "PUT" }]) {
    assert.equal(await worker.share(form({ text: "x" }), options), undefined);
  }
  assert.deepEqual(await new SharedItems(undefined).all(), []);
});
