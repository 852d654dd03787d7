import assert from "node:assert/strict";
import test from "node:test";
import { clipboardApp } from "../../../Sources/WebClient/apps/clipboard/clipboardApp.js";
import { clipboardList } from "../../../Sources/WebClient/apps/clipboard/clipboardContents.js";
import { Table } from "../support/table.js";

const type = "ClipboardItem";
const contents = (table) => clipboardList(table.state).map((item) => item.content);

test("what was copied last stands first, whoever copied it", () => {
  const table = new Table(clipboardApp);
  table.act({ do: "add", content: "one" });
  table.take("theirs", type, { content: "two" }, table.now - 500);
  table.act({ do: "add", content: "three\nlines" });
  assert.deepEqual(contents(table), ["three\nlines", "two", "one"]);
  table.state.deviceNames = { "000000000000000b": "laptop" };
  assert.deepEqual(clipboardList(table.state)[1], {
    name: "theirs", content: "two", beginning: "two", modifiedAt: table.now - 1_500,
    device: "000000000000000b", deviceName: "laptop",
  });
});

test("an item is removed, and all at once; what is gone stays gone", () => {
  const table = new Table(clipboardApp);
  for (const content of ["one", "two", "three"]) table.act({ do: "add", content });
  const { name } = clipboardList(table.state)[1];
  const { changes } = table.act({ do: "remove", item: name });
  assert.deepEqual(changes, [
    { zone: "Clipboard", name, type, fields: null, stamp: table.now - 1_000 },
  ]);
  assert.deepEqual(contents(table), ["three", "one"]);
  assert.match(table.refusal({ do: "remove", item: name }), /not there any more/);
  assert.equal(table.act({ do: "clear" }).changes.length, 2);
  assert.deepEqual(contents(table), []);
  assert.deepEqual(table.act({ do: "clear" }).changes, []);
});

test("a hundred stand, and the oldest go", () => {
  const table = new Table(clipboardApp);
  // Three items of one instant: the one of the lesser device is older, then the one of the lesser
  // name.
  table.take("z", type, { content: "oldest" }, 5, "0000000000000001");
  table.take("a", type, { content: "older" }, 5, "0000000000000002");
  table.take("b", type, { content: "old" }, 5, "0000000000000002");
  for (let number = 0; number < 99; number += 1) {
    table.act({ do: "add", content: String(number) });
  }
  assert.equal(contents(table).length, 100);
  assert.equal(contents(table).at(-1), "old");
  assert.deepEqual(clipboardApp.surplus(type, table.state.records), ["a", "z"]);
  assert.deepEqual(clipboardApp.surplus("Other", table.state.records), []);
  // Tombstones are not items, and do not count.
  table.act({ do: "clear" });
  assert.deepEqual(clipboardApp.surplus(type, table.state.records), []);
});

test("a long text is kept whole and listed by its beginning", () => {
  const table = new Table(clipboardApp);
  const content = "😀".repeat(5_000);
  table.act({ do: "add", content });
  const [item] = clipboardList(table.state);
  assert.equal(item.content, content);
  assert.equal(item.beginning, "😀".repeat(1_000));
});

test("what does not fit into a record is refused before it is kept", () => {
  const table = new Table(clipboardApp);
  const room = (1 << 20) - '{"content":""}'.length;
  table.act({ do: "add", content: "x".repeat(room) });
  assert.match(table.refusal({ do: "add", content: "x".repeat(room + 1) }), /has room for 1048576/);
  assert.match(table.refusal({ do: "add", content: "\n".repeat(room / 2 + 1) }), /has room/);
  assert.match(table.refusal({ do: "add", content: "é".repeat(room / 2 + 1) }), /has room/);
});

test("what makes no sense is refused in a sentence", () => {
  const table = new Table(clipboardApp);
  assert.equal(table.refusal({ do: "add", content: "" }), "there is nothing to add");
  assert.equal(table.refusal({ do: "add" }), "content must be a text");
  for (const action of [{ do: "dance" }, {}, null, { do: "remove" }]) {
    assert.ok(table.refusal(action));
  }
});

test("half a character, as a text field may hold, is mended: no device could read it", () => {
  const table = new Table(clipboardApp);
  table.act({ do: "add", content: "a\ud83d" });
  assert.deepEqual(contents(table), ["a\ufffd"]);
});

test("what another program wrote oddly is shown, and may go", () => {
  const table = new Table(clipboardApp);
  table.take("odd", type, { content: 5 }, 9);
  assert.deepEqual(contents(table), [""]);
  table.act({ do: "remove", item: "odd" });
  assert.deepEqual(contents(table), []);
});

test("a device's clock that is no whole number is a fault of the page", () => {
  const table = new Table(clipboardApp);
  table.now += 0.5;
  assert.throws(() => table.act({ do: "add", content: "a" }), TypeError);
});

test("a device that knows its tombstones says itself how each record is stamped", () => {
  const table = new Table(clipboardApp);
  table.state.stamp = (zone, name) => (zone === "Clipboard" && name ? 7 : 0);
  assert.equal(table.act({ do: "add", content: "a" }).changes[0].stamp, 7);
});
