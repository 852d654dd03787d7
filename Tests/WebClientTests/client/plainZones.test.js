import assert from "node:assert/strict";
import { test } from "node:test";
import { AccountKeys, KeyGeneration } from "../../../Sources/WebClient/sealing/accountKeys.js";
import { ringFields } from "../../../Sources/WebClient/sealing/keyRing.js";
import { plainVersion } from "../../../Sources/WebClient/sealing/recordVersion.js";
import { SealingKeys } from "../../../Sources/WebClient/sealing/sealingKeys.js";
import { ZoneSet } from "../../../Sources/WebClient/sealing/zoneSet.js";
import { choice, deletion, desk as app, note } from "./support/deskApp.js";
import { KeylessRelay, SealingDevice } from "./support/keylessRelay.js";
import { send } from "./support/sealedStage.js";

// A zone that had plain records, and is sealed from now on, while its devices go on; as in
// ReplicaPlainZoneTests.swift.

const bytes = (number) => new Uint8Array(32).fill(number);
const keys = (zones, ...numbers) => SealingKeys.ofAccount(
  new AccountKeys(bytes(9), (numbers.length > 0 ? numbers : [1])
    .map((number) => new KeyGeneration(bytes(number)))), zones);
const sealing = ZoneSet.only([app.zone]);

/** Two devices with keys that seal nothing yet, and a plain record. */
function stage(first = note("a", "before")) {
  const relay = new KeylessRelay();
  const [desk, phone] = [1, 2].map((number) => new SealingDevice(number));
  desk.edit(first);
  send(relay, desk);
  for (const device of [desk, phone]) {
    assert.equal(device.sealStored(keys(ZoneSet.empty).storedValue), true);
    readAll(relay, device);
    assert.deepEqual(device.fieldsOf("a"), first.fields);
  }
  return { relay, desk, phone, tag: relay.record("Desk\na").tag };
}

/** Reads all that is new, or all, if the replica begins again. */
function readAll(relay, device) {
  const changes = relay.changes(device.id);
  if (device.replica.cursor !== null) device.read(changes);
  if (device.replica.cursor === null) device.readAgain(relay.live);
  device.bringBack();
}

/** Brings the record of the keys to the device: it seals the zone, and saves what is there. */
function seal(relay, device, of = keys(sealing)) {
  const fields = ringFields(of);
  const ring = { zone: "Keys", name: "ring", type: "keyRing", fields, modifiedAt: 1,
    device: "0000000000000001", tag: 0, deleted: false };
  if (relay.record("Keys\nring")?.fields.sealed !== fields.sealed) relay.put(ring);
  readAll(relay, device);
  send(relay, device);
}

const sealed = (relay) => relay.live.filter(({ type }) => type === "Sealed");
const isSealed = (device) => device.replica.sealing.isSealed(app.zone);

test("what was there is sealed once", () => {
  const { relay, desk, phone, tag } = stage();
  seal(relay, desk);
  seal(relay, phone);
  assert.deepEqual(sealed(relay).map(({ device }) => device), [desk.id]);
  for (const device of [desk, phone]) {
    assert.equal(device.outbox.unreadableCount, 0);
    assert.equal(device.text("a"), "before");
    assert.equal(device.record("a").device, desk.id);
    assert.ok(device.replica.transaction.version("Desk\na").isSame(plainVersion(tag)));
  }
});

test("both go on while it is sealed", () => {
  const { relay, desk, phone } = stage();
  phone.pass(10);
  phone.edit(note("a", "from the phone, offline"));
  seal(relay, desk);
  seal(relay, phone);
  readAll(relay, desk);
  for (const device of [desk, phone]) {
    assert.equal(device.text("a"), "from the phone, offline");
  }
  assert.equal(desk.conflicts, 0);
  assert.equal(relay.live.filter(({ type }) => type === "Note").length, 1);
});

test("a plain record that came later is not readable", () => {
  const { relay, desk, phone } = stage();
  seal(relay, desk);
  phone.pass(10);
  phone.edit(note("a", "plain, and later"));
  send(relay, phone);
  readAll(relay, desk);
  assert.equal(desk.outbox.unreadableCount, 1);
  assert.equal(desk.text("a"), "before");
  // The device that has made it saves it sealed.
  seal(relay, phone);
  readAll(relay, desk);
  for (const device of [desk, phone]) {
    assert.equal(device.text("a"), "plain, and later");
    assert.equal(device.outbox.unreadableCount, 0);
  }
  assert.equal(sealed(relay).length, 1);
});

test("a change on its way is answered first, and nothing more is sent until then", () => {
  for (const isReloaded of [false, true]) {
    const { relay, phone } = stage();
    phone.pass(10);
    phone.edit(note("a", "on its way"));
    const batch = phone.nextBatch();
    seal(relay, new SealingDevice(9));
    readAll(relay, phone);
    phone.edit(note("a", "and once more"), note("b", "another"));
    if (isReloaded) phone.reopen();
    assert.equal(isSealed(phone), false);
    assert.equal(phone.nextBatch().id, batch.id);
    phone.answer(batch, relay.save(batch, phone.id));
    assert.equal(isSealed(phone), true);
    readAll(relay, phone);
    send(relay, phone);
    assert.equal(sealed(relay).length, 2);
    assert.ok(!relay.live.some(({ fields }) => fields.text === "and once more"));
    assert.equal(phone.summary.unsent, 0);
  }
});

test("a batch that is refused or set aside is an end of the wait", () => {
  for (const end of [
    (phone, id) => phone.step({ task: "setAside", id }),
    (phone, id) => phone.step({ task: "refuseBatch", id,
      refusal: { code: "internalError", detail: "later" } }),
  ]) {
    const { relay, phone } = stage();
    phone.pass(10);
    phone.edit(note("a", "on its way"));
    const { id } = phone.nextBatch();
    seal(relay, new SealingDevice(9));
    readAll(relay, phone);
    assert.equal(isSealed(phone), false);
    assert.equal(end(phone, id).applied.foundGap, true);
    assert.equal(isSealed(phone), true);
    phone.retryRefused();
    readAll(relay, phone);
    send(relay, phone);
    assert.ok(!relay.live.some(({ fields }) => fields.text === "on its way"));
    assert.equal(sealed(relay).length, 1);
  }
});

test("a deletion that waits is not lost", () => {
  const { relay, desk, phone } = stage();
  phone.pass(10);
  phone.edit(deletion("a"));
  seal(relay, desk);
  seal(relay, phone);
  readAll(relay, desk);
  for (const device of [desk, phone]) assert.equal(device.fieldsOf("a"), null);
});

test("what was deleted before is not saved at all", () => {
  const { relay, desk, phone } = stage();
  phone.pass(10);
  phone.edit(deletion("a"));
  send(relay, phone);
  readAll(relay, desk);
  for (const device of [desk, phone]) seal(relay, device);
  assert.deepEqual(sealed(relay), []);
});

test("a change that waits is saved at once, as a new record of the relay", () => {
  const { relay, phone } = stage();
  phone.pass(10);
  phone.edit(note("a", "waits"));
  phone.step({ task: "setAside", id: phone.nextBatch().id });
  phone.retryRefused();
  seal(relay, new SealingDevice(9));
  readAll(relay, phone);
  const { records } = phone.nextBatch();
  assert.deepEqual(records.map(({ baseTag }) => baseTag), [0]);
  assert.equal(phone.replica.transaction.outbox.sent("Desk\na").firstSent, null);
});

test("what was made and deleted before anybody had it is nothing", () => {
  const { relay, phone } = stage();
  phone.edit(note("b", "new"));
  phone.nextBatch();
  phone.edit(deletion("b"));
  phone.step({ task: "setAside", id: phone.replica.transaction.outbox.frozen.id });
  seal(relay, phone);
  assert.deepEqual([phone.summary.unsent, sealed(relay).length], [0, 1]);
});

test("a question stays open while its zone is sealed", () => {
  const { relay, desk, phone } = stage(choice("a", "first"));
  phone.pass(10);
  phone.edit(choice("a", "phone"));
  desk.edit(choice("a", "desk"));
  send(relay, desk);
  send(relay, phone);
  assert.equal(phone.outbox.askingCount, 1);
  seal(relay, desk);
  seal(relay, phone);
  assert.equal(phone.outbox.asking[0].server.fields.text, "desk");
  phone.step({ task: "decide", decision: { zone: app.zone, name: "a", keepLocal: true } });
  send(relay, phone);
  readAll(relay, desk);
  assert.equal(desk.text("a"), "phone");
});

test("a device that has neither keys nor heard of them sends nothing plain", () => {
  const { relay, desk, phone } = stage();
  const tablet = new SealingDevice(3);
  readAll(relay, tablet);
  seal(relay, desk);
  tablet.pass(10);
  tablet.edit(note("a", "from the tablet"));
  readAll(relay, tablet);
  assert.equal(tablet.nextBatch(), null);
  assert.throws(() => tablet.edit(note("b", "another")), { code: "refused" });
  const identity = { accountID: "account", deviceID: tablet.id };
  tablet.step({ task: "join", identity, keys: keys(sealing).storedValue });
  readAll(relay, tablet);
  send(relay, tablet);
  readAll(relay, desk);
  seal(relay, phone);
  for (const device of [desk, phone]) assert.equal(device.text("a"), "from the tablet");
});

test("a device that reads all of it at once reads the sealed records with the new keys", () => {
  const { relay, desk } = stage();
  seal(relay, desk);
  const phone = new SealingDevice(2);
  phone.sealStored(keys(ZoneSet.empty).storedValue);
  assert.equal(phone.page(relay.live, null, 90).foundGap, true);
  phone.page(relay.live, null, 90);
  assert.equal(phone.outbox.unreadableCount, 0);
  assert.equal(phone.text("a"), "before");
});

test("further zones are sealed only as keys say that the device has", () => {
  const { relay, phone } = stage();
  seal(relay, phone, keys(sealing, 1, 2));
  assert.equal(isSealed(phone), false);
  assert.throws(() => phone.edit(note("b", "another")), { code: "refused" });
});

test("the record of the keys keeps the zones that others have sealed", () => {
  const { relay, phone } = stage();
  const makeKey = () => phone.step({ task: "makeDeviceKey", secret: bytes(2) });
  makeKey();
  send(relay, phone);
  assert.equal(relay.record("Keys\nring"), undefined);
  phone.sealStored(keys(ZoneSet.only(["Other"])).storedValue);
  readAll(relay, phone);
  phone.edit(note("a", "on its way"));
  phone.nextBatch();
  seal(relay, new SealingDevice(9), keys(ZoneSet.only([app.zone, "Other"])));
  readAll(relay, phone);
  const { result, error } = phone.step({ task: "makeKeys", secret: bytes(3), without: [] });
  assert.deepEqual([result, error.code], [null, "keysChanged"]);
  makeKey();
  assert.deepEqual(phone.record("ring", "Keys").fields.only, [app.zone, "Other"]);
});
