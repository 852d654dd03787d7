import assert from "node:assert/strict";
import { test } from "node:test";
import { Replica } from "../../../Sources/WebClient/client/replica/replica.js";
import { statusOf } from "../../../Sources/WebClient/client/sync/status.js";
import { SyncEngine } from "../../../Sources/WebClient/client/sync/syncEngine.js";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { VersionVector } from "../../../Sources/WebClient/sealing/versionVector.js";
import { ZoneSeal } from "../../../Sources/WebClient/sealing/zoneSeal.js";
import { choice, count, deletion, desk as app, draft, note } from "./support/deskApp.js";
import {
  KeylessRelay, openedBy, sealedDevice, SealingDevice, sealKeys,
} from "./support/keylessRelay.js";

// Devices with a sealed zone, and a relay that has no key: it stores what they save, and does what
// it likes with it.

function pair() {
  return { relay: new KeylessRelay(), desk: sealedDevice(1), phone: sealedDevice(2) };
}

/** Sends all that waits, at most ten batches. */
function send(relay, device) {
  for (let batches = 0; batches < 10; batches += 1) {
    const batch = device.nextBatch();
    if (!batch) return;
    device.answer(batch, relay.save(batch, device.id));
  }
  assert.fail("the device sends for ever");
}

function read(relay, device) {
  device.read(relay.changes(device.id));
  const { changedNames, outcome } = device;
  device.bringBack();
  return { changedNames, changed: outcome.changed };
}

function write(relay, device, name, text) {
  device.edit(note(name, text));
  send(relay, device);
}

/** A device writes a note, and another reads it. */
function shared(text = "a secret") {
  const stage = pair();
  write(stage.relay, stage.desk, "diary", text);
  read(stage.relay, stage.phone);
  return stage;
}

/** Makes the relay put a version in its place that no device can read. */
function spoil(relay, record, fields = {}) { relay.put({ ...record, fields }); }

const waits = (device) => [device.nextBatch(), device.summary.unsent];

// an honest relay

test("what one device writes the other reads", () => {
  const { relay, desk, phone } = pair();
  write(relay, desk, "diary", "a secret");
  const { changedNames } = read(relay, phone);
  assert.equal(phone.text("diary"), "a secret");
  assert.deepEqual(changedNames, ["diary"]);
});

test("the relay has no word of it", () => {
  const { relay, desk } = pair();
  write(relay, desk, "diary", "a secret");
  const stored = serialize(relay.records);
  for (const word of ["diary", "secret", "Note", "text"]) assert.ok(!stored.includes(word), word);
  assert.equal(relay.records.length, 1);
});

test("a batch that is sent again has the same bytes, also after a reload", () => {
  const { desk } = pair();
  desk.edit(note("diary", "a secret"), count("c"));
  const batch = desk.nextBatch();
  assert.deepEqual(desk.nextBatch(), batch);
  desk.edit(note("diary", "more"));
  desk.reopen();
  assert.deepEqual(desk.nextBatch(), batch);
});

test("both edits of a conflict are merged", () => {
  const { relay, desk, phone } = pair();
  desk.edit(count("c"));
  send(relay, desk);
  read(relay, phone);
  for (const device of [desk, phone]) device.edit(count("c"));
  for (const device of [desk, phone]) send(relay, device);
  for (const device of [phone, desk]) read(relay, device);
  for (const device of [desk, phone]) {
    assert.deepEqual(device.fieldsOf("c"), { [desk.id]: 2, [phone.id]: 1 });
  }
  assert.equal(phone.conflicts, 1);
});

test("a deletion reaches the other device, and the name can be used again", () => {
  const { relay, desk, phone } = shared();
  desk.edit(deletion("diary"));
  send(relay, desk);
  assert.equal(relay.live.length, 1);
  const { changed } = read(relay, phone);
  assert.equal(phone.record("diary").deleted, true);
  assert.deepEqual(changed.map((record) => record.deleted), [true]);
  write(relay, phone, "diary", "another");
  read(relay, desk);
  assert.equal(desk.text("diary"), "another");
});

test("other zones stay as they are", () => {
  const { relay, desk, phone } = pair();
  desk.edit({ ...note("a", "for all"), zone: "Plain" });
  send(relay, desk);
  assert.deepEqual(relay.records.map(({ zone, fields }) => [zone, fields]),
    [["Plain", { text: "for all" }]]);
  read(relay, phone);
  assert.equal(phone.text("a", "Plain"), "for all");
});

test("a record that is too large when it is sealed is refused at once", () => {
  const { desk } = pair();
  const large = note("diary", "x".repeat(800_000));
  assert.throws(() => desk.edit(large), { code: "tooLarge" });
  new SealingDevice(2).edit(large);
});

test("files are refused until they can be sealed", () => {
  const { desk } = pair();
  const chunks = ["0".repeat(64)];
  assert.throws(() => desk.edit({ ...note("album", "x"), chunks }), { code: "refused" });
  const file = { name: "photo", bytes: 1, chunks };
  assert.throws(() => desk.edit({ name: "album", type: "Note", fields: { file } }),
    { code: "refused" });
});

test("a person decides between two versions, and the answer goes to all", () => {
  for (const keepLocal of [true, false]) {
    const { relay, desk, phone } = pair();
    desk.edit(choice("c", "desk's"));
    phone.edit(choice("c", "phone's"));
    send(relay, desk);
    send(relay, phone);
    assert.deepEqual(phone.summary.asking.map(({ server }) => server.fields.text), ["desk's"]);
    phone.reopen();
    phone.step({ task: "decide", decision: { zone: app.zone, name: "c", keepLocal } });
    assert.equal(phone.outcome.error, null);
    send(relay, phone);
    read(relay, desk);
    for (const device of [desk, phone]) {
      assert.equal(device.text("c"), keepLocal ? "phone's" : "desk's");
      assert.equal(device.summary.unsent + device.summary.askingCount, 0);
    }
    assert.equal(desk.conflicts, 0, "the decision was made on both");
  }
});

// a relay that deletes, withholds and repeats

test("a tombstone of the relay deletes nothing", () => {
  const { relay, desk, phone } = shared();
  relay.delete(relay.records[0]);
  assert.deepEqual(read(relay, phone).changedNames, []);
  assert.equal(phone.text("diary"), "a secret");
  send(relay, phone);
  assert.equal(relay.live.length, 1);
  read(relay, desk);
  assert.equal(desk.text("diary"), "a secret");
  assert.equal(desk.summary.unsent, 0);
});

test("an edit meets a tombstone of the relay and stays", () => {
  const { relay, desk } = shared();
  relay.delete(relay.records[0]);
  desk.edit(note("diary", "more"));
  send(relay, desk);
  assert.equal(desk.text("diary"), "more");
  assert.equal(relay.live.length, 1);
  assert.equal(desk.summary.unsent, 0);
});

test("a record that a snapshot withholds is saved again, and so is a deletion", () => {
  for (const isDeleted of [false, true]) {
    const { relay, desk, phone } = shared();
    if (isDeleted) {
      desk.edit(deletion("diary"));
      send(relay, desk);
      read(relay, phone);
    }
    relay.forget(relay.records[0]);
    phone.forgetCursor();
    phone.page(relay.live, null, 9);
    phone.bringBack();
    send(relay, phone);
    assert.equal(relay.live.length, 1);
    read(relay, desk);
    for (const device of [desk, phone]) assert.equal(device.record("diary").deleted, isDeleted);
  }
});

test("a former version is not taken for a new one", () => {
  const { relay, desk, phone } = pair();
  write(relay, desk, "diary", "first");
  const [former] = relay.records;
  for (const text of ["second", "third"]) {
    desk.pass(10);
    write(relay, desk, "diary", text);
  }
  read(relay, phone);
  relay.put(former);
  assert.deepEqual(read(relay, phone).changedNames, []);
  assert.equal(phone.text("diary"), "third");
  assert.equal(phone.conflicts, 0);
  send(relay, phone);
  read(relay, desk);
  assert.equal(desk.text("diary"), "third");
  assert.equal(phone.record("diary").tag, relay.records[0].tag);
});

test("a former version is not merged into an edit", () => {
  const { relay, desk } = pair();
  write(relay, desk, "t", "x");
  const [former] = relay.records;
  desk.pass(10);
  write(relay, desk, "t", "y");
  desk.pass(10);
  desk.edit(note("t", "z"));
  relay.put(former);
  send(relay, desk);
  assert.equal(desk.conflicts, 0);
  assert.equal(desk.text("t"), "z");
  assert.equal(desk.summary.unsent, 0);
  assert.equal(openedBy(relay.records[0]).fields.text, "z");
});

test("a former version does not undo a deletion", () => {
  const { relay, desk, phone } = shared();
  const [former] = relay.records;
  desk.pass(10);
  desk.edit(deletion("diary"));
  send(relay, desk);
  read(relay, phone);
  relay.put(former);
  read(relay, phone);
  assert.equal(phone.record("diary").deleted, true);
  send(relay, phone);
  assert.equal(openedBy(relay.records[0]).deleted, true);
});

// A merge has the time of its newer side, so that the time alone does not show the order.
test("a version that a merge has replaced is not taken for a new one", () => {
  const { relay, desk, phone } = pair();
  for (const device of [desk, phone]) device.edit(count("c"));
  send(relay, desk);
  const [former] = relay.records;
  send(relay, phone);
  read(relay, desk);
  assert.equal(relay.records[0].modifiedAt, former.modifiedAt);
  const merged = phone.fieldsOf("c");
  relay.put(former);
  read(relay, phone);
  send(relay, phone);
  assert.deepEqual(phone.fieldsOf("c"), merged);
  assert.deepEqual(openedBy(relay.records[0]).fields, merged);
});

test("a device that may only read keeps what the relay withholds", () => {
  const { relay, desk, phone } = pair();
  write(relay, desk, "diary", "first");
  const [former] = relay.records;
  desk.pass(10);
  write(relay, desk, "diary", "second");
  phone.limit({ zones: [app.zone], access: "read" });
  phone.page(relay.live, null, 1);
  relay.put(former);
  read(relay, phone);
  assert.equal(phone.text("diary"), "second");
  phone.forgetCursor();
  phone.page([], null, 9);
  assert.equal(phone.text("diary"), "second");
  assert.equal(phone.nextBatch(), null);
});

// a relay that lies about the order of versions

test("a version made without the held one is merged", () => {
  const { relay, desk, phone } = pair();
  desk.edit(count("c"));
  send(relay, desk);
  read(relay, phone);
  desk.edit(count("c"));
  send(relay, desk);
  // The relay withholds that version from the phone, and shows the phone's in its place.
  phone.pass(10);
  phone.edit(count("c"));
  const batch = phone.nextBatch();
  phone.answer(batch, relay.take(batch, phone.id));
  read(relay, desk);
  send(relay, desk);
  assert.deepEqual(desk.fieldsOf("c"), { [desk.id]: 2, [phone.id]: 1 });
  read(relay, phone);
  assert.deepEqual(phone.fieldsOf("c"), desk.fieldsOf("c"));
  assert.equal(phone.nextBatch(), null);
});

test("a restored relay loses no concurrent edit", () => {
  const { relay, desk, phone } = pair();
  desk.edit(count("c"));
  send(relay, desk);
  const backup = relay.copy();
  read(relay, phone);
  phone.pass(1_000);
  phone.edit(count("c"));
  send(relay, phone);
  desk.edit(count("c"));
  const batch = desk.nextBatch();
  desk.answer(batch, backup.take(batch, desk.id));
  phone.reportRestore(2);
  phone.page(backup.live, null, 9);
  phone.bringBack();
  send(backup, phone);
  assert.deepEqual(openedBy(backup.records[0]).fields, { [desk.id]: 2, [phone.id]: 1 });
});

test("a small tag makes no older version", () => {
  for (const tag of [0, 1]) {
    const { relay, desk, phone } = pair();
    desk.edit(count("c"));
    send(relay, desk);
    read(relay, phone);
    desk.edit(count("c"));
    send(relay, desk);
    phone.pass(10);
    phone.edit(count("c"));
    const batch = phone.nextBatch();
    const conflict = { ...relay.records[0], tag };
    phone.answer(batch, [{ name: conflict.name, conflict }]);
    if (tag === 0) assert.equal(phone.outbox.unreadableCount, 1);
    else assert.equal(phone.fieldsOf("c")[desk.id], 2);
  }
});

test("a claimed restore does not bring back an older version", () => {
  const { relay, desk, phone } = pair();
  desk.edit(count("c"));
  send(relay, desk);
  read(relay, phone);
  desk.edit(count("c"));
  send(relay, desk);
  phone.reportRestore(1);
  phone.page([{ ...relay.records[0], tag: 1 }], null, 9);
  phone.bringBack();
  assert.equal(phone.fieldsOf("c")[desk.id], 2);
  assert.equal(phone.nextBatch(), null);
});

test("a live record without a tag removes nothing", () => {
  const { relay, desk, phone } = shared("first");
  phone.edit(note("diary", "mine"));
  desk.pass(100);
  write(relay, desk, "diary", "second");
  phone.forgetCursor();
  phone.page([{ ...relay.records[0], tag: 0 }], null, 9);
  assert.equal(phone.text("diary"), "mine");
  assert.equal(phone.outbox.unreadableCount, 1);
});

test("a replaced version is not taken by a device that never held it", () => {
  const { relay, desk, phone } = pair();
  const laptop = sealedDevice(3);
  for (const device of [desk, phone]) device.edit(count("c"));
  send(relay, desk);
  const [former] = relay.records;
  send(relay, phone);
  read(relay, laptop);
  relay.put(former);
  read(relay, laptop);
  send(relay, laptop);
  assert.equal(laptop.fieldsOf("c")[phone.id], 1);
  assert.equal(openedBy(relay.records[0]).fields[phone.id], 1);
});

test("the order survives a reload", () => {
  const { relay, desk, phone } = pair();
  write(relay, desk, "diary", "first");
  const [former] = relay.records;
  desk.pass(10);
  write(relay, desk, "diary", "second");
  read(relay, phone);
  phone.reopen();
  relay.put(former);
  read(relay, phone);
  phone.reopen();
  send(relay, phone);
  assert.equal(phone.text("diary"), "second");
  assert.equal(openedBy(relay.records[0]).fields.text, "second");
});

test("a save whose answer is lost is no conflict", () => {
  const { relay, desk, phone } = pair();
  write(relay, desk, "diary", "first");
  desk.pass(10);
  desk.edit(note("diary", "second"));
  const batch = desk.nextBatch();
  relay.take(batch, desk.id);
  desk.pass(10);
  desk.edit(note("diary", "third"));
  // The relay does not know the batch any more when it is sent again.
  desk.answer(batch, relay.save(batch, desk.id));
  send(relay, desk);
  assert.equal(desk.conflicts, 0);
  read(relay, phone);
  assert.equal(phone.text("diary"), "third");
  assert.equal(phone.conflicts, 0);
});

test("a save that is not answered and edited again is no conflict", () => {
  const { relay, desk } = pair();
  desk.edit(count("c"));
  const batch = desk.nextBatch();
  relay.take(batch, desk.id);
  desk.step({ task: "setAside", id: batch.id });
  desk.pass(10);
  desk.edit(count("c"));
  read(relay, desk);
  desk.retryRefused(false);
  send(relay, desk);
  assert.equal(desk.conflicts, 0);
  assert.deepEqual(openedBy(relay.records[0]).fields, { [desk.id]: 2 });
});

// Otherwise the desk would merge its version once more, with one more copy.
test("a device that merges two branches saves a version that includes both", () => {
  const { relay, desk, phone } = pair();
  const laptop = sealedDevice(3);
  desk.edit(draft("d", "first"));
  send(relay, desk);
  read(relay, phone);
  read(relay, laptop);
  desk.pass(10);
  desk.edit(draft("d", "desk"));
  send(relay, desk);
  read(relay, phone);
  phone.pass(20);
  phone.edit(draft("d", "phone, on the desk's"));
  // The relay saves what the laptop has made without the desk's version.
  laptop.pass(100);
  laptop.edit(draft("d", "laptop"));
  const batch = laptop.nextBatch();
  laptop.answer(batch, relay.take(batch, laptop.id));
  read(relay, phone);
  send(relay, phone);
  read(relay, desk);
  send(relay, desk);
  const texts = desk.live.map(({ fields }) => fields.text).sort();
  assert.deepEqual(texts, ["laptop", "phone, on the desk's"]);
  assert.equal(desk.conflicts, 0);
});

test("three devices that bring back the same version agree", () => {
  const { relay, desk, phone } = pair();
  const devices = [desk, phone, sealedDevice(3)];
  write(relay, desk, "diary", "first");
  const [former] = relay.records;
  desk.pass(10);
  write(relay, desk, "diary", "second");
  for (const device of devices.slice(1)) read(relay, device);
  relay.put(former);
  for (let rounds = 0; rounds < 3; rounds += 1) {
    for (const device of devices) read(relay, device);
    for (const device of devices) send(relay, device);
  }
  for (const device of devices) {
    assert.equal(device.text("diary"), "second");
    assert.equal(device.record("diary").tag, relay.records[0].tag);
    assert.equal(device.summary.unsent, 0);
    assert.equal(device.conflicts, 0);
  }
});

test("a tombstone that overtakes the answer is not forgotten", () => {
  const { relay, desk } = pair();
  write(relay, desk, "diary", "a");
  desk.edit(note("diary", "b"));
  const batch = desk.nextBatch();
  const results = relay.take(batch, desk.id);
  relay.delete(relay.records[0]);
  read(relay, desk);
  desk.answer(batch, results);
  desk.bringBack();
  send(relay, desk);
  assert.equal(relay.live.length, 1);
  assert.equal(openedBy(relay.records[0]).fields.text, "b");
});

test("a tombstone from before the save is nothing", () => {
  const { relay, desk } = pair();
  write(relay, desk, "diary", "a");
  relay.delete(relay.records[0]);
  const [tombstone] = relay.records;
  desk.edit(note("diary", "b"));
  send(relay, desk);
  desk.read([tombstone]);
  desk.bringBack();
  assert.equal(desk.nextBatch(), null);
  assert.equal(desk.text("diary"), "b");
});

test("a page from before the save is passed over", () => {
  const { relay, desk } = pair();
  write(relay, desk, "diary", "a");
  const [former] = relay.records;
  relay.delete(former);
  const [tombstone] = relay.records;
  desk.edit(note("diary", "b"));
  send(relay, desk);
  desk.edit(note("diary", "c"));
  desk.read([former]);
  desk.read([tombstone]);
  assert.deepEqual(desk.nextBatch().records.map((record) => record.baseTag),
    [relay.records[0].tag]);
});

test("a relay that refuses the version it has is asked later", () => {
  const { relay, desk } = pair();
  write(relay, desk, "diary", "a");
  desk.edit(note("diary", "b"));
  const batch = desk.nextBatch();
  const [conflict] = relay.records;
  const applied = desk.answer(batch, [{ name: conflict.name, conflict }]);
  assert.equal(applied.retryLater.code, "internalError");
  send(relay, desk);
  assert.equal(openedBy(relay.records[0]).fields.text, "b");
});

test("a tombstone of the relay under a waiting edit costs no conflict", () => {
  const { relay, desk } = shared();
  desk.edit(note("diary", "more"));
  relay.delete(relay.records[0]);
  read(relay, desk);
  assert.deepEqual(desk.nextBatch().records.map((record) => record.baseTag), [0]);
});

test("a snapshot shows which version of the relay a waiting edit replaces", () => {
  const { relay, desk } = pair();
  write(relay, desk, "diary", "first");
  const [former] = relay.records;
  write(relay, desk, "diary", "second");
  desk.edit(note("diary", "third"));
  desk.forgetCursor();
  desk.page([former], null, 9);
  assert.deepEqual(desk.nextBatch().records.map((record) => record.baseTag), [former.tag]);
  assert.equal(desk.conflicts, 0);
});

test("an edit that is made while another is in flight includes all that it does", () => {
  const { relay, desk, phone } = shared();
  const laptop = sealedDevice(3);
  phone.pass(10);
  phone.edit(note("diary", "second"));
  const batch = phone.nextBatch();
  phone.pass(10);
  phone.edit(note("diary", "third"));
  phone.answer(batch, relay.save(batch, phone.id));
  read(relay, laptop);
  send(relay, phone);
  for (const device of [laptop, desk]) read(relay, device);
  assert.deepEqual([laptop, desk].map((device) => device.text("diary")), ["third", "third"]);
  assert.deepEqual([laptop.conflicts, desk.conflicts], [0, 0]);
});

test("the version that a person is asked about may come again", () => {
  const { relay, desk, phone } = pair();
  desk.edit(choice("c", "desk's"));
  phone.edit(choice("c", "phone's"));
  send(relay, desk);
  send(relay, phone);
  relay.put(relay.records[0]);
  read(relay, phone);
  assert.equal(phone.conflicts, 1, "it is asked once");
  phone.step({ task: "decide", decision: { zone: app.zone, name: "c", keepLocal: true } });
  assert.deepEqual(phone.nextBatch().records.map((record) => record.baseTag),
    [relay.records[0].tag]);
});

test("the version that a person has chosen is saved again if the relay has deleted it", () => {
  const { relay, desk, phone } = pair();
  desk.edit(choice("c", "desk's"));
  phone.edit(choice("c", "phone's"));
  send(relay, desk);
  send(relay, phone);
  relay.delete(relay.records[0]);
  read(relay, phone);
  phone.step({ task: "decide", decision: { zone: app.zone, name: "c", keepLocal: false } });
  phone.bringBack();
  send(relay, phone);
  assert.equal(openedBy(relay.records[0]).fields.text, "desk's");
});

test("a device that may only read shows the later of two versions", () => {
  const { relay, desk, phone } = pair();
  const laptop = sealedDevice(3);
  laptop.limit({ zones: [app.zone], access: "read" });
  desk.edit(count("c"));
  phone.pass(10);
  phone.edit(count("c"));
  const versions = [desk, phone].map((device) => {
    const batch = device.nextBatch();
    device.answer(batch, relay.take(batch, device.id));
    return relay.records[0];
  });
  laptop.page([versions[0]], null, 1);
  read(relay, laptop);
  assert.deepEqual(laptop.fieldsOf("c"), { [phone.id]: 1 });
  relay.put(versions[0]);
  read(relay, laptop);
  assert.deepEqual(laptop.fieldsOf("c"), { [phone.id]: 1 });
  assert.equal(laptop.nextBatch(), null);
});

test("a device that may only read keeps a merge that has a former version's time", () => {
  const { relay, desk, phone } = pair();
  const laptop = sealedDevice(3);
  laptop.limit({ zones: [app.zone], access: "read" });
  for (const device of [desk, phone]) device.edit(count("c"));
  send(relay, phone);
  const [former] = relay.records;
  send(relay, desk);
  laptop.page(relay.live, null, 1);
  relay.put(former);
  read(relay, laptop);
  assert.deepEqual(laptop.fieldsOf("c"), { [desk.id]: 1, [phone.id]: 1 });
});

/** Makes the relay have this version, which a program with the key has sealed. */
function forge(relay, version, vector) {
  const sealed = new ZoneSeal(sealKeys(1)).seal({ zone: app.zone, type: "Counter", tag: 0,
    deleted: false, ...version, vector });
  relay.put(sealed);
}

test("another content under the vector of a change is merged with it", () => {
  const { relay, desk } = pair();
  desk.edit(count("c"));
  const batch = desk.nextBatch();
  const { vector } = openedBy({ ...batch.records[0], zone: app.zone, device: desk.id, tag: 1,
    deleted: false });
  desk.step({ task: "setAside", id: batch.id });
  forge(relay, { name: "c", device: desk.id, modifiedAt: desk.now, fields: { other: 1 } }, vector);
  read(relay, desk);
  assert.deepEqual(desk.fieldsOf("c"), { [desk.id]: 1, other: 1 });
});

test("a change to a record that can have no further versions is told of, others go on", () => {
  const { relay, desk } = pair();
  const phone = "0000000000000002";
  const vector = new VersionVector([{ device: phone, number: Number.MAX_SAFE_INTEGER }]);
  forge(relay, { name: "c", device: phone, modifiedAt: desk.now, fields: {} }, vector);
  read(relay, desk);
  desk.edit(count("c"), note("diary", "goes on"));
  send(relay, desk);
  assert.deepEqual(desk.outbox.parked.map(({ name }) => name), ["c"]);
  assert.equal(openedBy(relay.records[1]).name, "diary");
  assert.equal(desk.summary.unsent, 0);
});

test("a scope that leaves the zone out deletes nothing", () => {
  const { phone } = shared();
  phone.limit({ zones: ["Other"], access: "write" });
  phone.page([], null, 9);
  assert.equal(phone.text("diary"), "a secret");
});

// records that do not open

for (const part of ["author", "time", "type", "name", "plain"]) {
  test(`what the relay changes is not taken (${part})`, () => {
    const { relay, desk, phone } = pair();
    write(relay, desk, "diary", "a secret");
    write(relay, desk, "other", "b");
    read(relay, phone);
    desk.pass(10);
    write(relay, desk, "diary", "more");
    const changed = { ...relay.records.at(-1) };
    if (part === "author") changed.device = phone.id;
    if (part === "time") changed.modifiedAt += 1_000;
    if (part === "type") changed.type = "Note";
    if (part === "name") {
      relay.forget(changed);
      changed.name = relay.records[0].name;
    }
    if (part === "plain") changed.fields = { text: "false" };
    relay.put(changed);
    assert.deepEqual(read(relay, phone).changedNames, []);
    assert.deepEqual(["diary", "other"].map((name) => phone.text(name)), ["a secret", "b"]);
    assert.equal(phone.outbox.unreadableCount, 1);
    const [{ kind, name }] = phone.outbox.unreadable;
    assert.deepEqual([kind, name], [part === "plain" ? "notSealed" : "altered", changed.name]);
  });
}

test("a change waits while the relay's version cannot be read", () => {
  const { relay, desk, phone } = shared();
  const [good] = relay.records;
  spoil(relay, good);
  phone.edit(note("diary", "mine"), note("other", "goes on"));
  send(relay, phone);
  assert.equal(relay.live.length, 2);
  assert.deepEqual(relay.record(`${good.zone}\n${good.name}`).fields, {});
  assert.equal(phone.summary.unsent, 1);
  assert.equal(phone.outbox.unreadableCount, 1);
  assert.equal(phone.outbox.waiting.size, 0, "nothing can be sent");
  // After a reload the device knows it as well, once the version was read.
  read(relay, phone);
  phone.reopen();
  assert.deepEqual(waits(phone), [null, 1]);
  assert.equal(phone.outbox.unreadableCount, 1);
  // Another device, which holds the record, saves it again.
  read(relay, desk);
  desk.edit(note("diary", "from the desk"));
  relay.put(good);
  send(relay, desk);
  read(relay, phone);
  assert.equal(phone.outbox.unreadableCount, 0);
  send(relay, phone);
  assert.equal(phone.summary.unsent, 0);
  assert.equal(openedBy(relay.record(`${good.zone}\n${good.name}`)).fields.text, "mine");
});

// The relay need not send that version with the changes, so the device has to try again.
test("a conflict that cannot be read is tried again", () => {
  const { relay, desk } = shared();
  const [good] = relay.records;
  desk.pass(10);
  desk.edit(note("diary", "more"));
  spoil(relay, good);
  send(relay, desk);
  relay.put(good);
  assert.deepEqual(waits(desk), [null, 1]);
  desk.retryRefused();
  send(relay, desk);
  assert.equal(desk.summary.unsent, 0);
  assert.equal(desk.outbox.unreadableCount, 0);
  assert.equal(openedBy(relay.records[0]).fields.text, "more");
});

test("what could not be read is read again at a person's request", () => {
  const { relay, phone } = shared();
  const [good] = relay.records;
  spoil(relay, good);
  read(relay, phone);
  phone.retryRefused(false);
  assert.equal(phone.outbox.unreadableCount, 1);
  phone.retryRefused();
  assert.equal(phone.outcome.applied.position.kind, "nothing", "a snapshot follows");
  phone.page([good], null, 9);
  assert.equal(phone.outbox.unreadableCount, 0);
});

test("a person is told of what cannot be read, and may have it read again", () => {
  const { relay, phone } = shared();
  spoil(relay, relay.records[0]);
  read(relay, phone);
  const { outbox } = phone;
  const { state, unreadableCount } = statusOf({
    engine: { outbox, transport: "websocket", blockedZones: [], zonesRefusedByScope: [],
      isPaused: false, isInSync: true },
    connection: { failure: null, outage: null, pause: null }, isLoaded: true, lastSync: null,
    identity: phone.replica.identity, store: { isDurable: true, reason: null }, clock: null,
  });
  assert.deepEqual([state, unreadableCount], ["needsPerson", 1]);
  const engine = new SyncEngine();
  engine.loaded(phone.replica.position, outbox);
  engine.retryRefused();
  assert.equal(engine.next(), null, "not each time that the device is connected");
  engine.tryEverything();
  assert.deepEqual(engine.next().job, { task: "retryRefused", withParked: true });
});

test("a new generation makes readable what was not", () => {
  const { relay, desk, phone } = shared("old");
  assert.equal(desk.seal(sealKeys(1, 2)), true);
  desk.page(relay.live, null, 1);
  desk.pass(10);
  write(relay, desk, "diary", "new");
  read(relay, phone);
  assert.equal(phone.text("diary"), "old");
  const [{ kind, keyId }] = phone.outbox.unreadable;
  assert.deepEqual([kind, keyId], ["unknownKey", relay.records[0].fields.key]);
  assert.equal(phone.seal(sealKeys(1, 2)), true);
  phone.page(relay.live, null, 9);
  assert.equal(phone.text("diary"), "new");
  assert.equal(phone.outbox.unreadableCount, 0);
});

test("an unreadable version in a snapshot does not count as absent", () => {
  const { relay, phone } = shared();
  spoil(relay, relay.records[0]);
  phone.forgetCursor();
  phone.page(relay.live, null, 9);
  phone.bringBack();
  assert.equal(phone.text("diary"), "a secret");
  assert.deepEqual(waits(phone), [null, 0]);
});

test("a group waits for its unreadable member", () => {
  const { relay, desk, phone } = pair();
  desk.edit(draft("d", "first"));
  send(relay, desk);
  read(relay, phone);
  for (const [device, text] of [[desk, "desk's"], [phone, "phone's"]]) {
    device.pass(10);
    device.edit(draft("d", text));
  }
  send(relay, desk);
  read(relay, phone);
  assert.equal(phone.outbox.waiting.get(app.zone), 2, "the merged record, and a copy");
  spoil(relay, relay.records[0]);
  read(relay, phone);
  assert.deepEqual(waits(phone), [null, 2]);
  assert.equal(phone.outbox.waiting.size, 0);
});

test("the relay cannot fill the list of unreadable records", () => {
  const { relay, phone } = shared();
  spoil(relay, relay.records[0], { key: "k".repeat(900_000), sealed: "AAAA" });
  read(relay, phone);
  assert.ok(serialize(phone.disk.values.get("seal.unreadable")).length < 1_000);
  assert.equal(phone.outbox.unreadableCount, 1);
  const bad = Array.from({ length: 1_005 }, (_, index) =>
    ({ ...relay.records[0], name: `bad ${index}`, tag: 100 + index }));
  phone.read(bad);
  assert.equal(phone.disk.values.get("seal.unreadable").records.length, 1_000);
  assert.equal(phone.outbox.unreadableCount, 1_001, "one more stands for the others");
  phone.reopen();
  assert.equal(phone.outbox.unreadableCount, 1_001);
  assert.equal(phone.outbox.unreadable.length, 100);
});

// keys

test("keys may come after the first page", () => {
  const { relay, desk } = pair();
  write(relay, desk, "diary", "a secret");
  const phone = new SealingDevice(2);
  phone.page(relay.live, 1, 2);
  assert.equal(phone.seal(sealKeys(2)), "refused");
  assert.equal(phone.seal(sealKeys(1)), true);
  phone.page(relay.live, null, 9);
  assert.equal(phone.text("diary"), "a secret");
  assert.equal(phone.disk.records.size, 1);
});

test("what no relay has seen is sealed when it is sent", () => {
  const relay = new KeylessRelay();
  const desk = new SealingDevice(1);
  desk.edit(note("diary", "before the keys"));
  assert.equal(desk.seal(sealKeys(1)), true);
  desk.page([], null, 1);
  send(relay, desk);
  assert.equal(openedBy(relay.records[0]).fields.text, "before the keys");
  assert.ok(!serialize(relay.records).includes("before"));
});

test("keys that the store has lost are no reason to send plain text", () => {
  const { desk } = pair();
  desk.edit(note("diary", "a secret"));
  const [keys] = desk.disk.values.get("seal.keys");
  const damaged = [[], {}, "", null, [1], [keys, keys], [{ ...keys, names: "AAAA" }],
    [{ ...keys, generations: [] }], [{ ...keys, generations: [{ id: "x", key: 1 }] }]];
  const { records, outbox, values } = desk.disk;
  for (const value of damaged) {
    values.set("seal.keys", value);
    const contents = { records: [...records.values()], outbox: [...outbox.values()],
      values: [...values] };
    assert.throws(() => new Replica(contents, [app]), { name: "StoreError" }, serialize(value));
  }
});

test("a zone with plain records is not sealed", () => {
  const relay = new KeylessRelay();
  const desk = new SealingDevice(1);
  desk.edit(note("diary", "plain"));
  const batch = desk.nextBatch();
  assert.equal(desk.seal(sealKeys(1)), "refused");
  desk.answer(batch, relay.take(batch, desk.id));
  assert.equal(desk.seal(sealKeys(1)), "refused");
  assert.deepEqual(relay.records.map(({ name }) => name), ["diary"]);
});

test("a zone with files is not sealed", () => {
  const desk = new SealingDevice(1);
  desk.edit({ ...note("album", "x"), chunks: ["0".repeat(64)] });
  assert.equal(desk.seal(sealKeys(1)), "refused");
  assert.equal(desk.nextBatch().records[0].name, "album");
});

test("keys are never replaced by others, and the same keys are nothing new", () => {
  const { relay, desk } = pair();
  assert.equal(desk.seal(sealKeys(2)), "refused");
  assert.equal(desk.seal(sealKeys(1, 2), sealKeys(1, 2)), "refused");
  assert.equal(desk.seal(sealKeys(1)), false);
  assert.equal(desk.replica.position.kind, "cursor", "nothing is read again");
  write(relay, desk, "diary", "x");
  assert.equal(openedBy(relay.records[0]).fields.text, "x");
});

test("a device without an account has no keys", () => {
  const desk = new SealingDevice(1);
  desk.disk.values.delete("identity");
  desk.start();
  assert.equal(desk.seal(sealKeys(1)), "refused");
});
