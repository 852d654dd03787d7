import assert from "node:assert/strict";
import test from "node:test";
import { clipboardApp } from "../../../Sources/WebClient/apps/clipboard/clipboardApp.js";
import { clipboardList } from "../../../Sources/WebClient/apps/clipboard/clipboardContents.js";
import { TestPage } from "../support/testPage.js";

const type = "ClipboardItem";
const contents = (page) => clipboardList(page.state).map((item) => item.content);

test("what was copied last stands first, whoever copied it", () => {
  const page = new TestPage(clipboardApp);
  page.act({ do: "add", content: "one" });
  page.addRemote("theirs", type, { content: "two" }, page.now - 500);
  page.act({ do: "add", content: "three\nlines" });
  assert.deepEqual(contents(page), ["three\nlines", "two", "one"]);
  page.state.deviceNames = { "000000000000000b": "laptop" };
  assert.deepEqual(clipboardList(page.state)[1], {
    name: "theirs", content: "two", beginning: "two", modifiedAt: page.now - 1_500,
    device: "000000000000000b", deviceName: "laptop",
  });
});

test("an item is removed, and all at once; what is gone stays gone", () => {
  const page = new TestPage(clipboardApp);
  for (const content of ["one", "two", "three"]) page.act({ do: "add", content });
  const { name } = clipboardList(page.state)[1];
  const { changes } = page.act({ do: "remove", item: name });
  assert.deepEqual(changes, [
    { zone: "Clipboard", name, type, fields: null, stamp: page.now - 1_000 },
  ]);
  assert.deepEqual(contents(page), ["three", "one"]);
  assert.match(page.refusal({ do: "remove", item: name }), /not there any more/);
  assert.equal(page.act({ do: "clear" }).changes.length, 2);
  assert.deepEqual(contents(page), []);
  assert.deepEqual(page.act({ do: "clear" }).changes, []);
});

test("a hundred stand, and the oldest go", () => {
  const page = new TestPage(clipboardApp);
  // Three items of one instant: the one of the lesser device is older, then the one of the lesser
  // name.
  page.addRemote("z", type, { content: "oldest" }, 5, "0000000000000001");
  page.addRemote("a", type, { content: "older" }, 5, "0000000000000002");
  page.addRemote("b", type, { content: "old" }, 5, "0000000000000002");
  for (let number = 0; number < 99; number += 1) {
    page.act({ do: "add", content: String(number) });
  }
  assert.equal(contents(page).length, 100);
  assert.equal(contents(page).at(-1), "old");
  assert.deepEqual(clipboardApp.surplus(type, page.state.records), ["a", "z"]);
  assert.deepEqual(clipboardApp.surplus("Other", page.state.records), []);
  // Tombstones are not items, and do not count.
  page.act({ do: "clear" });
  assert.deepEqual(clipboardApp.surplus(type, page.state.records), []);
});

test("a long text is kept whole and listed by its beginning", () => {
  const page = new TestPage(clipboardApp);
  const content = "😀".repeat(5_000);
  page.act({ do: "add", content });
  const [item] = clipboardList(page.state);
  assert.equal(item.content, content);
  assert.equal(item.beginning, "😀".repeat(1_000));
});

test("what does not fit into a record is refused before it is kept", () => {
  const page = new TestPage(clipboardApp);
  const room = (1 << 20) - '{"content":""}'.length;
  page.act({ do: "add", content: "x".repeat(room) });
  assert.match(page.refusal({ do: "add", content: "x".repeat(room + 1) }), /has room for 1048576/);
  assert.match(page.refusal({ do: "add", content: "\n".repeat(room / 2 + 1) }), /has room/);
  assert.match(page.refusal({ do: "add", content: "é".repeat(room / 2 + 1) }), /has room/);
});

test("what makes no sense is refused in a sentence", () => {
  const page = new TestPage(clipboardApp);
  assert.equal(page.refusal({ do: "add", content: "" }), "there is nothing to add");
  assert.equal(page.refusal({ do: "add" }), "content must be a text");
  for (const action of [{ do: "dance" }, {}, null, { do: "remove" }]) {
    assert.ok(page.refusal(action));
  }
});

test("half a character, as a text field may hold, is mended: no device could read it", () => {
  const page = new TestPage(clipboardApp);
  page.act({ do: "add", content: "a\ud83d" });
  assert.deepEqual(contents(page), ["a\ufffd"]);
});

test("what another program wrote oddly is shown, and may go", () => {
  const page = new TestPage(clipboardApp);
  page.addRemote("odd", type, { content: 5 }, 9);
  assert.deepEqual(contents(page), [""]);
  page.act({ do: "remove", item: "odd" });
  assert.deepEqual(contents(page), []);
});

test("a device's clock that is no whole number is a fault of the page", () => {
  const page = new TestPage(clipboardApp);
  page.now += 0.5;
  assert.throws(() => page.act({ do: "add", content: "a" }), TypeError);
});

test("a device that knows its tombstones says itself how each record is stamped", () => {
  const page = new TestPage(clipboardApp);
  page.state.stamp = (zone, name) => (zone === "Clipboard" && name ? 7 : 0);
  assert.equal(page.act({ do: "add", content: "a" }).changes[0].stamp, 7);
});
