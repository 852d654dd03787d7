import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordVersion } from "../../../Sources/WebClient/sealing/recordVersion.js";
import { ZoneSeal } from "../../../Sources/WebClient/sealing/zoneSeal.js";
import { choice, count, desk as app, draft, note } from "./support/deskApp.js";
import { openedBy, sealedDevice, sealKeys } from "./support/keylessRelay.js";
import { pair, read, send, shared, waits, write } from "./support/sealedStage.js";

// Sealed zones with a relay that lies about the order of versions.

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

// The desk merges its version with the phone's, which stays. The phone, which knows nothing of the
// desk's, deletes its version before the merge arrives: the merge has changed nothing of it.
test("a merge that keeps a version outlives no deletion of it", () => {
  const { relay, desk, phone } = pair();
  const edit = (text) =>
    ({ name: "diary", type: "Unknown", fields: text === null ? null : { text } });
  desk.edit(edit("first"));
  send(relay, desk);
  const [former] = relay.records;
  read(relay, phone);
  desk.pass(10);
  desk.edit(edit("desk"));
  send(relay, desk);
  relay.put(former);
  phone.pass(20);
  phone.edit(edit("phone"));
  const batch = phone.nextBatch();
  phone.answer(batch, relay.take(batch, phone.id));
  read(relay, desk);
  assert.equal(desk.text("diary"), "phone");
  const merge = desk.nextBatch();
  for (const text of ["second", null]) {
    phone.pass(10);
    phone.edit(edit(text));
    send(relay, phone);
  }
  desk.answer(merge, relay.save(merge, desk.id));
  send(relay, desk);
  read(relay, phone);
  assert.equal(openedBy(relay.records[0]).fields, null);
  for (const device of [desk, phone]) assert.equal(device.fieldsOf("diary"), null);
  assert.equal(phone.conflicts, 0);
});

// The phone merges the desk's version with the laptop's deletion of a former one. The desk, which
// has deleted its version, merges the two deletions: that includes all that the phone's merge does.
test("a merge gives way to a version that includes all that was merged", () => {
  for (const isSent of [false, true]) {
    const { relay, desk, phone } = pair();
    const laptop = sealedDevice(3);
    const edit = (text) =>
      ({ name: "diary", type: "Unknown", fields: text === null ? null : { text } });
    desk.edit(edit("first"));
    send(relay, desk);
    const [former] = relay.records;
    read(relay, laptop);
    desk.pass(10);
    desk.edit(edit("second"));
    send(relay, desk);
    read(relay, phone);
    relay.put(former);
    read(relay, laptop);
    laptop.pass(20);
    laptop.edit(edit(null));
    send(relay, laptop);
    read(relay, phone);
    assert.equal(phone.text("diary"), "second");
    const merge = isSent ? phone.nextBatch() : null;
    desk.pass(30);
    desk.edit(edit(null));
    read(relay, desk);
    send(relay, desk);
    if (merge) phone.answer(merge, relay.save(merge, phone.id));
    read(relay, phone);
    send(relay, phone);
    assert.equal(phone.fieldsOf("diary"), null);
    assert.equal(openedBy(relay.records[0]).fields, null);
    assert.equal(phone.summary.unsent, 0);
  }
});

// The answer to the desk's save is lost. The phone merges the saved version with the laptop's
// deletion of a former one, and keeps it; the desk has deleted that very version meanwhile.
test("a merge that keeps an unanswered version undoes no deletion of it", () => {
  const { relay, desk, phone } = pair();
  const laptop = sealedDevice(3);
  const edit = (text) =>
    ({ name: "diary", type: "Unknown", fields: text === null ? null : { text } });
  desk.edit(edit("first"));
  send(relay, desk);
  const [former] = relay.records;
  desk.pass(10);
  desk.edit(edit("second"));
  const batch = desk.nextBatch();
  relay.save(batch, desk.id);
  read(relay, phone);
  relay.put(former);
  read(relay, laptop);
  laptop.pass(20);
  laptop.edit(edit(null));
  send(relay, laptop);
  read(relay, phone);
  send(relay, phone);
  assert.equal(openedBy(relay.records[0]).fields.text, "second");
  desk.pass(30);
  desk.edit(edit(null));
  desk.answer(batch, relay.save(batch, desk.id));
  send(relay, desk);
  assert.equal(openedBy(relay.records[0]).fields, null);
  read(relay, phone);
  for (const device of [desk, phone]) assert.equal(device.fieldsOf("diary"), null);
  assert.equal(desk.conflicts, 0);
});

// The phone's edit is in no version that the desk knows, whatever it was merged with.
test("an edit of a merge gives way to nothing", () => {
  const { relay, desk, phone } = pair();
  desk.edit(count("c"));
  send(relay, desk);
  const [former] = relay.records;
  desk.edit(count("c"));
  send(relay, desk);
  read(relay, phone);
  relay.put(former);
  const laptop = sealedDevice(3);
  read(relay, laptop);
  laptop.edit(count("c"));
  send(relay, laptop);
  read(relay, phone);
  phone.edit(count("c"));
  read(relay, desk);
  send(relay, desk);
  read(relay, phone);
  send(relay, phone);
  const counts = { [desk.id]: 2, [laptop.id]: 1, [phone.id]: 1 };
  assert.deepEqual(openedBy(relay.records[0]).fields, counts);
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

test("an edit of a record that a snapshot withholds is made on no version of the relay", () => {
  for (const isEditedFirst of [true, false]) {
    const { desk } = shared();
    if (isEditedFirst) desk.edit(note("diary", "more"));
    desk.forgetCursor();
    desk.page([], null, 9);
    if (!isEditedFirst) desk.edit(note("diary", "more"));
    assert.deepEqual(desk.nextBatch().records.map((record) => record.baseTag), [0]);
  }
});

test("an older tombstone in a snapshot does not stand for the record", () => {
  const { relay, phone } = shared();
  const tombstone = { ...relay.records[0], fields: null, deleted: true, tag: 1 };
  relay.forget(relay.records[0]);
  phone.forgetCursor();
  phone.page([tombstone], null, 9);
  phone.bringBack();
  send(relay, phone);
  assert.equal(relay.live.length, 1);
});

test("a version that was chosen, or has won, is as well known as one that was read", () => {
  for (const make of [choice, note]) {
    const { relay, desk, phone } = pair();
    desk.edit(make("c", "first"));
    send(relay, desk);
    const [former] = relay.records;
    phone.edit(make("c", "phone's"));
    desk.pass(10);
    desk.edit(make("c", "second"));
    send(relay, desk);
    read(relay, phone);
    if (make === choice) {
      phone.step({ task: "decide", decision: { zone: app.zone, name: "c", keepLocal: false } });
    }
    assert.equal(phone.text("c"), "second");
    relay.put(former);
    assert.deepEqual(read(relay, phone).changedNames, []);
    send(relay, phone);
    assert.equal(openedBy(relay.records[0]).fields.text, "second");
    assert.equal(phone.conflicts, 1);
  }
});

test("a change that is stamped again is another version", () => {
  const { desk } = pair();
  desk.edit(note("diary", "a"));
  const versions = [0, -500].map((skew) => {
    desk.skew = skew;
    const { id, records } = desk.nextBatch();
    desk.step({ task: "refuseBatch", id, refusal: { code: "clockAhead", detail: "" } });
    return openedBy({ ...records[0], zone: app.zone, device: desk.id, tag: 1, deleted: false });
  });
  assert.notEqual(versions[1].modifiedAt, versions[0].modifiedAt);
  assert.ok(versions[1].version.includes(versions[0].version));
  assert.ok(!versions[0].version.includes(versions[1].version));
});

test("another record in the place of a conflict is not taken for it", () => {
  const { relay, desk } = shared();
  write(relay, desk, "other", "b");
  desk.edit(note("diary", "more"));
  const batch = desk.nextBatch();
  desk.answer(batch, [{ name: batch.records[0].name, conflict: relay.records[1] }]);
  assert.deepEqual([desk.text("diary"), desk.text("other")], ["more", "b"]);
  assert.deepEqual(waits(desk), [null, 1]);
  assert.deepEqual(desk.outbox.unreadable.map(({ kind }) => kind), ["altered"]);
});

test("a save without a tag has not been saved", () => {
  const { desk } = pair();
  desk.edit(note("diary", "a"));
  const batch = desk.nextBatch();
  desk.answer(batch, [{ name: batch.records[0].name, tag: 0 }]);
  assert.deepEqual(desk.nextBatch().records, batch.records, "the same version goes again");
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
function forge(relay, record, version) {
  const sealed = new ZoneSeal(sealKeys(1)).seal({ zone: app.zone, type: "Counter", tag: 0,
    deleted: false, ...record, version });
  relay.put(sealed);
}

test("another content under the version of a change is merged with it", () => {
  const { relay, desk } = pair();
  desk.edit(count("c"));
  const batch = desk.nextBatch();
  const { version } = openedBy({ ...batch.records[0], zone: app.zone, device: desk.id, tag: 1,
    deleted: false });
  desk.step({ task: "setAside", id: batch.id });
  forge(relay, { name: "c", device: desk.id, modifiedAt: desk.now, fields: { other: 1 } }, version);
  read(relay, desk);
  assert.deepEqual(desk.fieldsOf("c"), { [desk.id]: 1, other: 1 });
});

test("a change to a record that can have no further versions is told of, others go on", () => {
  const { relay, desk } = pair();
  const phone = "0000000000000002";
  const version = new RecordVersion({ writer: phone, number: Number.MAX_SAFE_INTEGER });
  forge(relay, { name: "c", device: phone, modifiedAt: desk.now, fields: {} }, version);
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

/** A phone has edited a draft often; then the relay has the draft's first text in another version,
 * which includes the phone's base, or does not. */
function repeatedBase(includesBase) {
  const { relay, desk, phone } = pair();
  desk.edit(draft("d", "first"));
  send(relay, desk);
  read(relay, phone);
  phone.pass(10);
  phone.edit(draft("d", "second"));
  // Edits of a change that the relay may have push its base out of the versions that are known.
  phone.step({ task: "setAside", id: phone.nextBatch().id });
  for (let edits = 0; edits < 9; edits += 1) {
    phone.pass(10);
    phone.edit(draft("d", `edit ${edits}`));
  }
  const { version, ...held } = openedBy(relay.records[0]);
  const other = new RecordVersion({ writer: "a".repeat(16), number: 1 }).vector;
  const made = includesBase ? version.vector.joined(other) : other;
  const id = { writer: "b".repeat(16), number: made.greatest + 1 };
  forge(relay, held, new RecordVersion(id, made));
  read(relay, phone);
  return { relay, phone };
}

test("a merge of another device that keeps the base brings nothing new", () => {
  const { relay, phone } = repeatedBase(true);
  assert.equal(phone.conflicts, 0);
  send(relay, phone);
  assert.deepEqual(relay.records.map((record) => openedBy(record).fields), [{ text: "edit 8" }]);
});

test("a version with the content of the base that does not include it is in conflict", () => {
  assert.equal(repeatedBase(false).phone.conflicts, 1);
});

test("a change that loses to the relay's version is not saved", () => {
  const { relay, desk, phone } = shared();
  phone.pass(10);
  phone.edit(note("diary", "earlier"));
  desk.pass(20);
  write(relay, desk, "diary", "later");
  // The phone has sent it, so it is a version of its own.
  const batch = phone.nextBatch();
  phone.answer(batch, relay.save(batch, phone.id));
  assert.equal(phone.text("diary"), "later");
  assert.deepEqual(waits(phone), [null, 0]);
});
