import assert from "node:assert/strict";
import { test } from "node:test";
import { chunksIn, chunksNamed } from "../../../Sources/WebClient/model/fileReference.js";
import { TestDevice } from "../client/support/testDevice.js";

const one = "1".repeat(64);
const two = "2".repeat(64);
const reference = (chunks, bytes = 3) => ({ name: "a.jpg", bytes, chunks });

test("references are found wherever they stand", () => {
  assert.deepEqual(chunksIn({ image: reference([one]) }), [one]);
  assert.deepEqual(chunksIn({ pages: [reference([one]), reference([two, one])] }), [one, two]);
  assert.deepEqual(chunksIn({ deep: { deeper: { image: reference([two]) } } }), [two]);
  assert.deepEqual(chunksIn({ title: "milk", done: true, none: null }), []);
  assert.deepEqual(chunksIn(null), []);
});

test("what only looks like a reference is none", () => {
  assert.deepEqual(chunksIn({ image: reference(["abc"]) }), []);
  assert.deepEqual(chunksIn({ image: { name: "a", chunks: [one] } }), []);
  assert.deepEqual(chunksIn({ image: { bytes: 3, chunks: [one] } }), []);
  assert.deepEqual(chunksIn({ image: reference([one], 0) }), []);
  assert.deepEqual(chunksIn({ chunks: [one] }), []);
});

test("chunks that the writer names and those of references are named once", () => {
  assert.deepEqual(chunksNamed([two], { image: reference([one, two]) }), [two, one]);
});

test("an edit of another field keeps the content that a record names", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  await device.change({ name: "1", type: "Table", fields: { image: reference([one]) } });
  assert.deepEqual(device.socket.last("save").records[0].chunks, [one]);
  await device.save(1);
  await device.change(
    { name: "1", type: "Table", fields: { image: reference([one]), text: "lake" } });
  assert.deepEqual(device.socket.last("save").records[0].chunks, [one]);
});

test("an edit keeps the content that another program named outside of the fields", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  const named = async (edit) => {
    await device.change({ name: "1", type: "Table", ...edit });
    return device.socket.last("save").records[0].chunks;
  };
  const fields = { image: reference([one]), sound: two };
  await device.receive({ op: "changes", since: "a1.0", token: "a1.1", more: false, changes: [{
    zone: "Model", name: "1", type: "Table", fields, modifiedAt: 1, device: "curl", tag: 1,
    deleted: false, chunks: [one, two] }] });
  assert.deepEqual(await named({ fields: { ...fields, text: "lake" } }), [two, one]);
  await device.save(2);
  assert.deepEqual(await named({ fields: { sound: two } }), [two], "the reference has gone");
  await device.save(3);
  assert.deepEqual(await named({ fields: { sound: one }, chunks: [one] }), [one]);
  await device.save(4);
  await assert.rejects(device.change({ name: "1", type: "Table", fields: {}, chunks: 5 }),
    { code: "badEdit" });
  assert.equal(await named({ fields: null }), undefined);
});
