import assert from "node:assert/strict";
import test from "node:test";
import { clipboardApp } from "../../../Sources/WebClient/apps/clipboard/clipboardApp.js";
import { clipboardList, thumbnailOf }
  from "../../../Sources/WebClient/apps/clipboard/clipboardContents.js";
import { TestPage } from "../support/testPage.js";

const type = "ClipboardItem";
const contents = (page) => clipboardList(page.state).map((item) => item.content);

const image = { name: "lake.png", bytes: 245_760, chunks: ["ab".repeat(32)] };

test("a pinned item stands first, stays, and goes back to its place", () => {
  const page = new TestPage(clipboardApp);
  for (const content of ["one", "two", "three"]) page.act({ do: "add", content });
  const { name } = clipboardList(page.state)[2];
  page.act({ do: "pin", item: name });
  assert.deepEqual(contents(page), ["one", "three", "two"]);
  assert.deepEqual(page.act({ do: "pin", item: name }).changes, []);
  assert.equal(page.act({ do: "clear" }).changes.length, 2);
  page.act({ do: "add", content: "four" });
  page.act({ do: "unpin", item: name });
  assert.deepEqual(contents(page), ["four", "one"]);
  page.act({ do: "pin", item: name });
  assert.equal(page.act({ do: "clear", pinned: true }).changes.length, 2);
});

test("pinned items stay when the oldest go, and leave room for others", () => {
  const page = new TestPage(clipboardApp);
  for (let number = 0; number < 50; number += 1) {
    page.act({ do: "add", content: `pin ${number}`, name: `pin-${number}` });
    page.act({ do: "pin", item: `pin-${number}` });
  }
  page.act({ do: "add", content: "51st", name: "one more" });
  assert.equal(page.refusal({ do: "pin", item: "one more" }),
    "50 items are pinned, the most there can be; unpin one");
  for (let number = 0; number < 60; number += 1) page.act({ do: "add", content: `${number}` });
  assert.equal(contents(page).filter((it) => it.startsWith("pin ")).length, 50);
  const surplus = clipboardApp.surplus(type, page.state.records);
  assert.equal(surplus.length, 11);
  assert.ok(surplus.includes("one more"));
});

test("a pin keeps what this version does not know", () => {
  const page = new TestPage(clipboardApp);
  page.addRemote("theirs", type, { content: "x", colour: 5 }, 9);
  page.act({ do: "pin", item: "theirs" });
  assert.deepEqual(page.fields("theirs"),
    { content: "x", colour: 5, pinned: true, copiedAt: 9 });
  page.act({ do: "unpin", item: "theirs" });
  assert.deepEqual(page.fields("theirs"), { content: "x", colour: 5, copiedAt: 9 });
});

test("no item stays the newest by a time of its own", () => {
  const page = new TestPage(clipboardApp);
  page.addRemote("ahead", type, { content: "ahead", copiedAt: Number.MAX_SAFE_INTEGER }, 5);
  page.addRemote("new", type, { content: "new" }, 6);
  assert.deepEqual(contents(page), ["new", "ahead"]);
});

test("what was deleted comes back whole and to its place", () => {
  const page = new TestPage(clipboardApp);
  for (const content of ["one", "two", "three"]) page.act({ do: "add", content });
  page.act({ do: "addImage", content: "lake.png", image, imageType: "image/png" });
  page.act({ do: "pin", item: clipboardList(page.state)[1].name });
  const before = clipboardList(page.state);
  const items = before.map(({ name }) => {
    const { fields, modifiedAt } = page.record(name);
    return { name, fields, modifiedAt };
  });
  page.act({ do: "clear", pinned: true });
  page.act({ do: "add", content: "since" });
  page.act({ do: "restore", items });
  assert.deepEqual(contents(page), ["three", "since", "lake.png", "two", "one"]);
  assert.deepEqual(clipboardList(page.state).find((it) => it.image)?.image,
    { file: image, type: "image/png" });
  assert.deepEqual(page.act({ do: "restore", items }).changes, []);
});

test("what is added under a name is added once", () => {
  const page = new TestPage(clipboardApp);
  page.act({ do: "add", content: "shared", name: "a" });
  assert.deepEqual(page.act({ do: "add", content: "shared", name: "a" }).changes, []);
  assert.deepEqual(contents(page), ["shared"]);
});

test("an image has a small picture only if it is one", () => {
  const page = new TestPage(clipboardApp);
  const thumbnail = "data:image/webp;base64,QUJD";
  const others = ["data:image/svg+xml;base64,QUJD", "https://example.org/a.png", 5,
    `data:image/png;base64,${"A".repeat(30_000)}`, "data:image/png;base64,<b>"];
  for (const each of [thumbnail, ...others]) {
    page.act({ do: "addImage", content: "", image, imageType: "image/webp", thumbnail: each });
  }
  const shown = page.state.records.map(({ fields }) => thumbnailOf(fields));
  assert.deepEqual(shown, [thumbnail, null, null, null, null, null]);
  page.addRemote("odd", type, { image: [], imageType: "image/png", thumbnail }, 5);
  page.addRemote("type", type, { image, imageType: "text/html", thumbnail: others[0] }, 4);
  assert.deepEqual(clipboardList(page.state).slice(-2).map((it) => it.image),
    [null, { file: image, type: "" }]);
  assert.equal(thumbnailOf(page.fields("type")), null);
});

test("what was copied last stands first, whoever copied it", () => {
  const page = new TestPage(clipboardApp);
  page.act({ do: "add", content: "one" });
  page.addRemote("theirs", type, { content: "two" }, page.now - 500);
  page.act({ do: "add", content: "three\nlines" });
  assert.deepEqual(contents(page), ["three\nlines", "two", "one"]);
  page.state.deviceNames = { "000000000000000b": "laptop" };
  assert.deepEqual(clipboardList(page.state)[1], {
    name: "theirs", content: "two", beginning: "two", isPinned: false, image: null,
    copiedAt: page.now - 1_500, modifiedAt: page.now - 1_500,
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
  assert.match(page.refusal({ do: "add", content: `x${"\n".repeat(room / 2)}` }), /has room/);
  assert.match(page.refusal({ do: "add", content: "é".repeat(room / 2 + 1) }), /has room/);
});

test("what makes no sense is refused in a sentence", () => {
  const page = new TestPage(clipboardApp);
  for (const content of ["", " \t\n", "\u3000\u00a0"]) {
    assert.equal(page.refusal({ do: "add", content }),
      "there is nothing to add: the text is blank");
  }
  assert.equal(page.refusal({ do: "add" }), "content must be a text");
  for (const action of [{ do: "dance" }, {}, null, { do: "remove" }, { do: "pin", item: "x" },
    { do: "add", content: "x", name: "" }, { do: "restore", items: {} },
    { do: "restore", items: [null] }, { do: "restore", items: [{ name: "x", fields: null }] },
    { do: "addImage", content: "x", imageType: "image/svg+xml", image },
    { do: "addImage", content: "x", imageType: "image/png", image: { ...image, bytes: 0 } }]) {
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
