import assert from "node:assert/strict";
import { test } from "node:test";
import { fingerprint } from "../../../Sources/WebClient/client/record.js";
import { MemoryStore } from "../../../Sources/WebClient/client/store/memoryStore.js";
import { View } from "../../../Sources/WebClient/client/tabs/view.js";
import { world } from "./support/device.js";
import { poll, table } from "./support/modelApp.js";

// Record types whose rules are a table: where the stamps of their fields come from.

const stampsOf = (device, name) => device.fields(name)["~"];

/** Another program saves a version without stamps. */
function write(relay, name, fields, modifiedAt) {
  const { tag } = relay.records.get(`Model\n${name}`) ?? { tag: 0 };
  const records = [{ name, type: "Table", fields, modifiedAt, baseTag: tag }];
  relay.save("curl", { id: `curl ${relay.sequence}`, zone: "Model", atomic: false, records });
}

/** Two devices that hold one record, made by the first. */
function pair(fields) {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.change(table("t", fields));
  phone.sync(relay);
  laptop.sync(relay);
  for (const device of [phone, laptop]) device.now += 1_000;
  return { relay, phone, laptop };
}

test("an edit stamps what it changed, later than every stamp in the record", () => {
  const { phone } = pair({ text: "a", least: 5 });
  assert.equal(stampsOf(phone, "t"), undefined, "a new record has its own stamp");
  const { result: [shown] } = phone.change(table("t", { text: "b", least: 5 }));
  assert.deepEqual(stampsOf(phone, "t"),
    { "": [1_000_000, "phone"], text: [1_001_000, "phone"] });
  assert.deepEqual(shown.fields, { text: "b", least: 5 }, "a person sees no stamps");
  phone.now -= 5_000;
  phone.change(table("t", { text: "c", least: 5 }));
  assert.deepEqual(stampsOf(phone, "t").text, [1_001_001, "phone"]);
});

test("the stamp of an edit follows from the fields, also if a merge has left them newer", () => {
  const { relay, phone, laptop } = pair({ text: "a", least: 5 });
  write(relay, "t", { text: "a", least: 4, "~": { "": [9_000_000, "far"] } }, 1_500_000);
  laptop.sync(relay);
  laptop.change(table("t", { text: "b", least: 4 }));
  assert.equal(laptop.replica.transaction.record("Model\nt").modifiedAt, 9_000_001);
  assert.deepEqual(stampsOf(laptop, "t").text, [9_000_001, "laptop"]);
  assert.ok(phone);
});

test("a stamp beyond all clocks does not make a record uneditable", () => {
  const { relay, phone } = pair({ text: "a" });
  write(relay, "t", { text: "a", "~": { "": [1e18, "broken"] } }, 1_500_000);
  phone.sync(relay);
  phone.change(table("t", { text: "b" }));
  const { modifiedAt, fields } = phone.replica.transaction.record("Model\nt");
  assert.ok(modifiedAt < 1_500_000 + 2 * 86_400_000, `${modifiedAt}`);
  assert.equal(fields.text, "b");
});

test("fields that two devices changed are merged one by one, and both keep the same bytes", () => {
  const { relay, phone, laptop } = pair({ items: ["x"], least: 5, text: "a" });
  phone.change(table("t", { items: ["x", "y"], least: 3, text: "a" }));
  laptop.now += 1;
  laptop.change(table("t", { items: [], least: 4, text: "a" }));
  for (const device of [phone, laptop, phone]) device.sync(relay);
  assert.deepEqual(phone.fields("t"), laptop.fields("t"));
  const { items, least } = phone.fields("t");
  assert.deepEqual({ items, least }, { items: ["y"], least: 3 });
});

test("a version of another program gets its stamps from the one that it replaces", () => {
  const { relay, phone, laptop } = pair({ text: "a", least: 5, items: ["x"] });
  phone.change(table("t", { text: "a", least: 4, items: ["x"] }));
  phone.sync(relay);
  laptop.sync(relay);
  write(relay, "t", { text: "b", least: 4, items: ["x"] }, 1_002_000);
  laptop.sync(relay);
  assert.deepEqual(stampsOf(laptop, "t"), { "": [1_000_000, "phone"],
    least: [1_001_000, "phone"], text: [1_002_000, "curl"] });
  // On a device that changed the record itself, it is read as a change of that change's base.
  phone.now += 5_000;
  phone.change(table("t", { text: "a", least: 4, items: ["x", "z"] }));
  for (const device of [phone, laptop]) device.sync(relay);
  assert.equal(phone.fields("t").text, "b");
  assert.deepEqual(phone.fields("t").items, ["x", "z"]);
  assert.deepEqual(laptop.fields("t"), phone.fields("t"));
});

test("a conflict in the answer to a batch is completed before it is anybody's base", () => {
  const { relay, phone } = pair({ text: "a", least: 5 });
  phone.change(table("t", { text: "a", least: 6 }));
  const batch = phone.freeze("batch");
  write(relay, "t", { text: "b", least: 5 }, 1_002_000);
  const { answer } = relay.save("phone", batch);
  phone.apply({ kind: "answer", id: "batch", answer, isLink: true });
  const { base } = phone.replica.transaction.outbox.open("Model\nt");
  assert.deepEqual(base.fields["~"], { "": [1_000_000, "phone"], text: [1_002_000, "curl"] });
  const { text, least } = phone.fields("t");
  assert.deepEqual({ text, least }, { text: "b", least: 6 });
});

test("what a person chose has the stamps of a change of the other version", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.change(poll("p", { title: "tea", note: 1 }));
  phone.now += 1_000;
  phone.change(poll("p", { title: "juice", note: 1 }));
  phone.sync(relay);
  laptop.change(poll("p", { title: "milk", note: 1, mine: true }));
  laptop.sync(relay);
  laptop.now += 5_000;
  laptop.step({ task: "decide", decision: { zone: "Model", name: "p", keepLocal: true } });
  for (const device of [laptop, phone]) device.sync(relay);
  assert.deepEqual(laptop.fields("p"), { title: "milk", note: 1, mine: true,
    "~": { "": [1_005_000, "laptop"], note: [1_000_000, "phone"] } });
  assert.deepEqual(phone.fields("p"), relay.records.get("Model\np").fields);
});

test("a corrected clock moves the stamps that a change brought", () => {
  const { relay, phone } = pair({ text: "a", least: 5 });
  Object.assign(phone, { isClockTrusted: false, skew: -60_000 });
  phone.change(table("t", { text: "b", least: 5 }));
  assert.deepEqual(stampsOf(phone, "t").text, [1_061_000, "phone"]);
  phone.isClockTrusted = true;
  phone.sync(relay);
  const saved = relay.records.get("Model\nt");
  assert.equal(saved.modifiedAt, 1_001_000);
  assert.deepEqual(saved.fields["~"], { "": [1_000_000, "phone"], text: [1_001_000, "phone"] });
});

test("a version is known by its content, whoever has added the stamps", () => {
  const version = { modifiedAt: 7, type: "Table", fields: { text: "a" } };
  const completed = { ...version, fields: { text: "a", "~": { "": [7, "mac"] } } };
  assert.equal(fingerprint(completed), fingerprint(version));
  assert.notEqual(fingerprint({ ...version, fields: { text: "b" } }), fingerprint(version));
});

test("the same version under another tag stays as it is", () => {
  const { relay, phone } = pair({ text: "a" });
  const { modifiedAt } = relay.records.get("Model\nt");
  const [record] = [relay.records.get("Model\nt")];
  relay.sequence += 1;
  relay.records.set("Model\nt", { ...record, tag: relay.sequence });
  phone.sync(relay);
  assert.deepEqual(phone.fields("t"), { text: "a" });
  assert.equal(phone.replica.transaction.record("Model\nt").modifiedAt, modifiedAt);
});

test("a version that another device saves again has the bytes that the relay has", () => {
  const { relay, phone } = pair({ text: "a" });
  const record = relay.records.get("Model\nt");
  relay.sequence += 1;
  relay.records.set("Model\nt", { ...record, device: "tablet", tag: relay.sequence });
  phone.sync(relay);
  assert.deepEqual(phone.fields("t"), { text: "a" });
  assert.equal(phone.replica.transaction.record("Model\nt").device, "tablet");
});

test("an old version that another device saves again is no change of the new one", () => {
  const { relay, phone, laptop } = pair({ text: "a" });
  const record = relay.records.get("Model\nt");
  phone.change(table("t", { text: "b" }));
  for (const device of [phone, laptop]) device.sync(relay);
  relay.sequence += 1;
  relay.records.set("Model\nt", { ...record, tag: relay.sequence });
  laptop.sync(relay);
  assert.deepEqual(laptop.fields("t"), { text: "a" });
});

test("a version that was made without one that the relay has lost removes nothing of it", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  const backup = relay.copy();
  phone.change(table("t", { items: ["x"] }));
  phone.sync(relay);
  relay.putBack(backup, "b1");
  laptop.now += 1_000;
  laptop.change(table("t", { items: ["y"] }));
  for (const device of [laptop, phone, laptop]) device.sync(relay);
  assert.deepEqual(phone.fields("t").items, ["x", "y"]);
  assert.deepEqual(laptop.fields("t").items, ["x", "y"]);
});

test("a tab shows no stamps, and learns the tag of what was saved", async () => {
  const view = new View(new MemoryStore());
  const record = { ...table("t", { text: "a", "~": { "": [1, "a"] } }), modifiedAt: 1,
    device: "a", tag: 0, deleted: false };
  const step = (number) => ({ term: 1, number });
  const told = view.apply({ previous: step(0), step: step(1), records: [record] });
  assert.equal(told, null, "what came before is missing");
  await view.read();
  const first = { previous: { term: 0, number: 0 }, step: step(1), records: [record] };
  assert.deepEqual(view.apply(first).map(({ fields }) => fields), [{ text: "a" }]);
  const saved = { previous: step(1), step: step(2), records: [],
    tagged: [{ zone: "Model", name: "t", tag: 9 }, { zone: "Model", name: "gone", tag: 8 }] };
  assert.deepEqual(view.apply(saved), []);
  assert.equal(view.record("Model", "t").tag, 9);
  assert.deepEqual(view.record("Model", "t").fields, { text: "a" });
  assert.deepEqual(view.heldRecord("Model", "t").fields["~"], { "": [1, "a"] });
  assert.equal(view.record("Model", "gone"), null);
});
