import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordVersion } from "../../../Sources/WebClient/sealing/recordVersion.js";
import { VersionVector } from "../../../Sources/WebClient/sealing/versionVector.js";
import { ZoneSeal } from "../../../Sources/WebClient/sealing/zoneSeal.js";
import { choice, count, desk as app, draft, note, row } from "./support/deskApp.js";
import {
  KeylessRelay, openedBy, sealedDevice, SealingDevice, sealKeys,
} from "./support/keylessRelay.js";
import { pair, read, send, shared, write } from "./support/sealedStage.js";

// Questions to a person in sealed zones, changes that only save a version again, and changes that
// cannot be sent.

const removed = (name, type) => ({ name, type, fields: null });
const textsOf = (device) => device.live.map(({ fields }) => fields.text).sort();
const decide = (device, name, keepLocal) =>
  device.step({ task: "decide", decision: { zone: app.zone, name, keepLocal } });

test("a version that is brought back undoes no deletion", () => {
  const { relay, desk, phone } = pair();
  desk.edit(row("t", "a"));
  send(relay, desk);
  const [former] = relay.records;
  desk.pass(10);
  desk.edit(row("t", "b"));
  send(relay, desk);
  read(relay, phone);
  relay.put(former);
  // It waits to be saved again.
  read(relay, phone);
  // The desk is faster, and its person deletes it, knowing it.
  read(relay, desk);
  send(relay, desk);
  desk.edit(removed("t", "Table"));
  send(relay, desk);
  send(relay, phone);
  assert.ok(openedBy(relay.records[0]).deleted);
  assert.equal(phone.conflicts, 0);
});

test("a deletion outlives the version that it deleted", () => {
  const { relay, desk, phone } = pair();
  desk.edit(row("t", "a"));
  send(relay, desk);
  read(relay, phone);
  relay.delete(relay.records[0]);
  read(relay, phone);
  const late = phone.nextBatch();
  desk.pass(10);
  desk.edit(removed("t", "Table"));
  send(relay, desk);
  phone.answer(late, relay.save(late, phone.id));
  send(relay, phone);
  assert.ok(phone.record("t").deleted);
  assert.ok(openedBy(relay.records[0]).deleted);
  assert.equal(phone.summary.unsent, 0);
});

// The merge of the desk's version with the deletion is no newer than that version.
test("an edit of a version outlives its merge with a deletion", () => {
  for (const type of ["Table", "Unknown"]) {
    const { relay, desk, phone } = pair();
    const laptop = sealedDevice(3);
    const page = (text) => ({ name: "t", type, fields: { text } });
    desk.edit(page("first"));
    send(relay, desk);
    read(relay, phone);
    read(relay, laptop);
    desk.pass(10);
    desk.edit(page("second"));
    send(relay, desk);
    read(relay, phone);
    phone.pass(20);
    phone.edit(page("third"));
    // The relay saves the deletion of a version that it had before.
    laptop.pass(500);
    laptop.edit(removed("t", type));
    const batch = laptop.nextBatch();
    laptop.answer(batch, relay.take(batch, laptop.id));
    read(relay, desk);
    send(relay, desk);
    read(relay, phone);
    send(relay, phone);
    assert.equal(openedBy(relay.records[0]).fields?.text, "third", type);
  }
});

// The deletion was made without the version that the change was made on, and after the change.
test("a change is not lost to a later deletion of a former version", () => {
  for (const type of ["Table", "Unknown"]) {
    const { relay, desk, phone } = pair();
    const page = (text) => ({ name: "t", type, fields: { text } });
    desk.edit(page("first"));
    send(relay, desk);
    const [former] = relay.records;
    read(relay, phone);
    desk.pass(10);
    desk.edit(page("second"));
    send(relay, desk);
    relay.put(former);
    read(relay, phone);
    desk.pass(10);
    desk.edit(page("third"));
    phone.pass(1_000);
    phone.edit(removed("t", type));
    send(relay, phone);
    send(relay, desk);
    assert.equal(desk.text("t"), "third", type);
    read(relay, phone);
    assert.equal(phone.text("t"), "third", type);
  }
});

// The relay's version was made without the base of the change, and is older.
test("a change of a draft is not copied with what it was made on", () => {
  const { relay, desk, phone } = pair();
  desk.edit(draft("d", "first"));
  send(relay, desk);
  const [former] = relay.records;
  desk.pass(10);
  desk.edit(draft("d", "second"));
  send(relay, desk);
  relay.put(former);
  read(relay, phone);
  phone.pass(5);
  phone.edit(draft("d", "other"));
  send(relay, phone);
  desk.pass(10);
  desk.edit(draft("d", "third"));
  send(relay, desk);
  assert.deepEqual(textsOf(desk), ["other", "third"]);
});

test("a merge that has kept the base of a change is not in conflict with it", () => {
  const { relay, desk, phone } = pair();
  const laptop = sealedDevice(3);
  desk.edit(draft("d", "first"));
  send(relay, desk);
  read(relay, laptop);
  laptop.pass(5);
  laptop.edit(draft("d", "other"));
  desk.pass(10);
  desk.edit(draft("d", "second"));
  send(relay, desk);
  read(relay, phone);
  desk.pass(10);
  desk.edit(draft("d", "third"));
  // The relay saves it over a version that it was not made on.
  const batch = laptop.nextBatch();
  laptop.answer(batch, relay.take(batch, laptop.id));
  read(relay, phone);
  send(relay, phone);
  read(relay, desk);
  send(relay, desk);
  assert.deepEqual(textsOf(desk), ["other", "third"]);
  assert.equal(desk.conflicts, 0);
});

test("a version that is saved again is included in what wins over it", () => {
  const { relay, desk, phone } = pair();
  desk.edit(note("d", "first"));
  send(relay, desk);
  read(relay, phone);
  desk.edit(note("d", "second"));
  send(relay, desk);
  const { version } = openedBy(relay.records[0]);
  phone.pass(10);
  phone.edit(note("d", "other"));
  const batch = phone.nextBatch();
  phone.answer(batch, relay.take(batch, phone.id));
  read(relay, desk);
  send(relay, desk);
  const opened = openedBy(relay.records[0]);
  assert.equal(opened.fields.text, "other");
  assert.ok(opened.version.includes(version));
  read(relay, phone);
  assert.deepEqual([desk.conflicts, phone.conflicts], [1, 0]);
});

test("a chosen version that the relay has lost is saved again", () => {
  for (const keepLocal of [false, true]) {
    const { relay, desk, phone } = pair();
    desk.edit(choice("a", "1"));
    send(relay, desk);
    const [former] = relay.records;
    read(relay, phone);
    desk.pass(10);
    desk.edit(choice("a", "2"));
    send(relay, desk);
    phone.pass(20);
    phone.edit(choice("a", "3"));
    send(relay, phone);
    assert.equal(phone.summary.askingCount, 1);
    relay.put(former);
    read(relay, phone);
    assert.equal(decide(phone, "a", keepLocal).error, null);
    phone.bringBack();
    send(relay, phone);
    assert.equal(openedBy(relay.records[0]).fields.text, keepLocal ? "3" : "2");
    assert.equal(phone.summary.unsent + phone.summary.askingCount, 0);
    read(relay, desk);
    assert.equal(desk.text("a"), phone.text("a"));
    assert.equal(desk.conflicts, 0);
  }
});

test("a question is no reason to pause", () => {
  const { relay, desk, phone } = pair();
  desk.edit(choice("a", "1"));
  send(relay, desk);
  phone.edit(choice("a", "2"));
  const batch = phone.nextBatch();
  const applied = phone.answer(batch, relay.save(batch, phone.id));
  assert.equal(phone.summary.askingCount, 1);
  assert.equal(applied.retryLater, null);
});

test("choosing the relay's version saves nothing", () => {
  const { relay, desk, phone } = pair();
  desk.edit(choice("a", "1"));
  send(relay, desk);
  phone.edit(choice("a", "2"));
  send(relay, phone);
  assert.equal(decide(phone, "a", false).error, null);
  phone.bringBack();
  assert.equal(phone.nextBatch(), null);
});

test("a question about a version that came after the answer shows the later one", () => {
  const { relay, desk, phone } = pair();
  desk.edit(choice("a", "1"));
  send(relay, desk);
  const [former] = relay.records;
  phone.edit(choice("a", "2"));
  send(relay, phone);
  desk.pass(10);
  desk.edit(choice("a", "3"));
  send(relay, desk);
  read(relay, phone);
  assert.deepEqual(phone.summary.asking.map(({ server }) => server.fields.text), ["3"]);
  relay.put(former);
  read(relay, phone);
  assert.deepEqual(phone.summary.asking.map(({ server }) => server.fields.text), ["3"]);
});

/** Makes the relay have this version, which a program with the key has sealed. */
function forge(relay, device, record, version) {
  relay.put(new ZoneSeal(sealKeys(1)).seal({ zone: app.zone, modifiedAt: device.now,
    device: device.id, tag: 0, deleted: false, ...record, version }));
}

test("a record without numbers stops nothing else", () => {
  const { relay, desk, phone } = pair();
  const last = new RecordVersion({ writer: "0".repeat(16), number: Number.MAX_SAFE_INTEGER });
  forge(relay, desk, note("a", "x"), last);
  read(relay, phone);
  phone.edit(note("a", "y"));
  phone.edit(note("b", "z"));
  send(relay, phone);
  assert.deepEqual(phone.outbox.parked.map(({ name }) => name), ["a"]);
  assert.equal(relay.live.length, 2);
});

test("a copy goes on without the change of its group that cannot be sent", () => {
  const { relay, desk, phone } = pair();
  const last = new RecordVersion({ writer: "0".repeat(16), number: Number.MAX_SAFE_INTEGER });
  phone.pass(10);
  phone.edit(draft("d", "phone's"));
  forge(relay, desk, draft("d", "desk's"), last);
  read(relay, phone);
  assert.equal(phone.summary.unsent, 2);
  const batch = phone.nextBatch();
  assert.deepEqual(phone.outbox.parked.map(({ name }) => name), ["d"]);
  assert.equal(batch.records.length, 1);
  assert.equal(batch.atomic, false);
});

test("a change that names files that are not sealed is parked", () => {
  const { relay, desk, phone } = pair();
  const chunks = ["0".repeat(64)];
  const version = new RecordVersion({ writer: "0".repeat(16), number: 7 });
  forge(relay, desk, { ...note("a", "x"), chunks }, version);
  read(relay, phone);
  relay.delete(relay.records[0]);
  read(relay, phone);
  phone.edit(note("b", "z"));
  send(relay, phone);
  assert.deepEqual(phone.outbox.parked.map(({ name }) => name), ["a"]);
  assert.equal(relay.live.length, 1);
});

test("the floor includes no edit that nobody has seen", () => {
  const { relay, desk, phone } = pair();
  phone.edit(count("c"));
  const batch = phone.nextBatch();
  const made = Array.from({ length: 65 }, (_, index) => ({
    writer: (index + 1).toString(16).padStart(16, "0"), number: 2 ** 30 + index,
  })).reduce((vector, id) => vector.adding(id), new VersionVector());
  assert.ok(made.floor > 0);
  const version = new RecordVersion({ writer: "f".repeat(16), number: 2 ** 31 }, made);
  forge(relay, desk, { name: "c", type: "Counter", fields: { x: 1 } }, version);
  phone.answer(batch, relay.save(batch, phone.id));
  send(relay, phone);
  assert.deepEqual(phone.fieldsOf("c"), { x: 1, [phone.id]: 1 });
});

test("a tombstone of the relay in the place of what a person is asked about is no version", () => {
  const { relay, desk, phone } = shared("first");
  desk.edit(choice("a", "1"));
  send(relay, desk);
  phone.edit(choice("a", "2"));
  send(relay, phone);
  relay.delete(relay.records.at(-1));
  read(relay, phone);
  assert.equal(phone.summary.askingCount, 1);
  assert.equal(decide(phone, "a", true).error, null);
  assert.deepEqual(phone.nextBatch().records.map(({ baseTag }) => baseTag), [0]);
});

test("a zone with a change that the relay has refused is not sealed", () => {
  const device = new SealingDevice(1);
  device.page([], null, 1);
  device.edit(note("diary", "a"));
  const { id } = device.nextBatch();
  device.step({ task: "refuseBatch", id, refusal: { code: "badRequest", detail: "" } });
  assert.equal(device.outbox.parkedCount, 1);
  assert.equal(device.seal(sealKeys(1)), "refused");
});

test("what a device has brought back is not merged with what another made on it", () => {
  const { relay, desk, phone } = pair();
  write(relay, desk, "diary", "first");
  read(relay, phone);
  relay.delete(relay.records[0]);
  read(relay, phone);
  const late = phone.nextBatch();
  desk.pass(10);
  write(relay, desk, "diary", "second");
  phone.answer(late, relay.save(late, phone.id));
  assert.equal(phone.text("diary"), "second");
  assert.equal(phone.nextBatch(), null);
  assert.equal(phone.conflicts, 0);
});

/** A countdown that ends at `zeroAt`, in the same way on every device. */
const countdown = {
  zone: app.zone,
  timedTypes: ["Countdown"],
  dueEdit: ({ fields: { owner, zeroAt } }) => (zeroAt === null ? null : { dueAt: zeroAt, owner,
    graceMilliseconds: 0, fields: { owner, zeroAt: null } }),
  resolvers: { Countdown: { resolve: ({ server }) => ({ merged: server.fields, copies: [] }) } },
};

test("an edit by time that was made too early is taken back also after it was sent", () => {
  const relay = new KeylessRelay();
  const phone = new SealingDevice(1, { apps: [countdown] });
  phone.seal(sealKeys(1));
  phone.page([], null, 1);
  const zeroAt = phone.now + 60_000;
  phone.edit({ name: "c", type: "Countdown", fields: { owner: phone.id, zeroAt } });
  send(relay, phone);
  phone.pass(70_000);
  phone.step({ task: "makeDueEdits", isConnected: true });
  const early = phone.nextBatch();
  // The relay saves it, but its answer is that the device's clock is ahead.
  relay.take(early, phone.id);
  const saved = openedBy(relay.records[0]);
  assert.equal(saved.fields.zeroAt, null);
  phone.pass(-70_000);
  phone.step({ task: "refuseBatch", id: early.id, refusal: { code: "clockAhead", detail: "" } });
  send(relay, phone);
  const opened = openedBy(relay.records[0]);
  assert.equal(opened.fields.zeroAt, zeroAt);
  assert.ok(opened.version.includes(saved.version));
  assert.equal(phone.fieldsOf("c").zeroAt, zeroAt);
});
