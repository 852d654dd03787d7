import assert from "node:assert/strict";
import { test } from "node:test";
import { KeyMembers } from "../../../Sources/WebClient/client/replica/keyMembers.js";
import { keyRotation } from "../../../Sources/WebClient/client/replica/keyRotation.js";
import { AccountKeys, KeyGeneration } from "../../../Sources/WebClient/sealing/accountKeys.js";
import { hexBytes } from "../../../Sources/WebClient/sealing/hex.js";
import {
  deviceFields, deviceRecord, deviceType, nextFields, nextRecord, nextType,
} from "../../../Sources/WebClient/sealing/keyHandover.js";
import { keysInRing, ringFields } from "../../../Sources/WebClient/sealing/keyRing.js";
import { SealingKeys } from "../../../Sources/WebClient/sealing/sealingKeys.js";
import { RecordVersion } from "../../../Sources/WebClient/sealing/recordVersion.js";
import { x25519PublicKey } from "../../../Sources/WebClient/sealing/x25519.js";
import { ZoneSeal } from "../../../Sources/WebClient/sealing/zoneSeal.js";
import { ZoneSet } from "../../../Sources/WebClient/sealing/zoneSet.js";
import { deletion, draft, note } from "./support/deskApp.js";
import { KeylessRelay, SealingDevice } from "./support/keylessRelay.js";
import { read, send } from "./support/sealedStage.js";
import { settled } from "./support/fakeEnvironment.js";
import { identity, TestDevice } from "./support/testDevice.js";

// Devices of an account that give each other new keys, and one that gets none; as in
// ReplicaKeyHandoverTests.swift.

const bytes = (number) => new Uint8Array(32).fill(number);
const generation = (number) => new KeyGeneration(bytes(number));
const accountKeys = (...numbers) => SealingKeys.ofAccount(
  new AccountKeys(bytes(9), numbers.map(generation)), ZoneSet.allBut(["Keys"]));

const keysOf = (device) => SealingKeys.ofStored(device.disk.values.get("seal.keys"));
const currentOf = (device) => keysOf(device).account.current.id;
const privateKeyOf = (device) => hexBytes(device.disk.values.get("seal.device"));
const membersOf = (device) => new KeyMembers(device.disk.values.get("seal.members"));

const makeDeviceKey = (device, number) =>
  device.step({ task: "makeDeviceKey", secret: bytes(number) });

function stage() {
  const relay = new KeylessRelay();
  const devices = [1, 2, 3].map((number) => {
    const device = new SealingDevice(number);
    device.sealStored(accountKeys(1).storedValue);
    device.page([], null, 1);
    makeDeviceKey(device, number);
    send(relay, device);
    return device;
  });
  const [desk, phone, lost] = devices;
  desk.edit(draft("d", "before"));
  send(relay, desk);
  for (const device of devices) {
    read(relay, device);
    assert.equal(membersOf(device).list.length, 3);
  }
  return { relay, desk, phone, lost };
}

const putKeyRecord = (relay, { name, type, fields }) => relay.put({
  zone: "Keys", name, type, fields, modifiedAt: 1_000_000, device: "0000000000000001", tag: 0,
  deleted: fields === null });

function rotate(relay, device, number, without = []) {
  const { records } = keyRotation({ keys: keysOf(device), secret: bytes(number),
    device: device.id, privateKey: privateKeyOf(device), members: membersOf(device),
    without: without.map(({ id }) => id) });
  for (const record of records) putKeyRecord(relay, record);
}

function write(relay, device, text, number) {
  read(relay, device);
  assert.equal(currentOf(device), generation(number).id);
  device.pass(10);
  device.edit(draft("d", text));
  send(relay, device);
}

/** Makes the device's new keys as it does before it removes others. */
const makeKeys = (device, number, gone) => device.step(
  { task: "makeKeys", secret: bytes(number), without: gone.map(({ id }) => id) });

/** Saves mutations as a relay does, all or none. Returns true if it has saved them. */
function saveTogether(relay, records) {
  const isRead = ({ name, baseTag }) => {
    const tag = relay.live.find((it) => it.zone === "Keys" && it.name === name)?.tag ?? 0;
    return baseTag === "any" || baseTag === tag;
  };
  if (!records.every(isRead)) return false;
  for (const { name, type, fields = null } of records) putKeyRecord(relay, { name, type, fields });
  return true;
}

const nextFor = (relay, { id }) => relay.record(`Keys\n${nextRecord(id)}`);

test("a device makes its key known once, and the record of the account's keys", () => {
  const { relay, desk } = stage();
  assert.deepEqual(relay.records.filter(({ zone }) => zone === "Keys").map(({ name }) => name),
    ["ring", ...[1, 2, 3].map((number) => deviceRecord(number.toString(16).padStart(16, "0")))]);
  const ring = relay.record("Keys\nring").fields;
  assert.ok(keysInRing(ring, generation(1)).keys.isSame(accountKeys(1)));
  assert.deepEqual(ring.plain, ["Keys"]);
  const before = desk.disk.values.get("seal.device");
  desk.reopen();
  makeDeviceKey(desk, 7);
  assert.equal(desk.nextBatch(), null);
  assert.equal(desk.disk.values.get("seal.device"), before);
});

test("an agent makes its device's key after the join, and again after a start", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  assert.equal(await device.store.value("seal.device"), undefined);
  await device.agent.join(identity, accountKeys(1).storedValue);
  await settled();
  assert.match(await device.store.value("seal.device"), /^[0-9a-f]{64}$/u);
  const { outbox } = await device.store.load();
  assert.deepEqual(outbox.map(({ zone, name }) => `${zone}/${name}`),
    ["Keys/ring", "Keys/device/page"]);
  await device.store.write(1, [{ store: "values", key: "seal.device" }]);
  const again = await TestDevice.start({ store: device.store });
  await settled();
  assert.match(await again.store.value("seal.device"), /^[0-9a-f]{64}$/u);
});

test("a record of keys that was changed is saved again, and not one with newer keys", () => {
  const { relay, desk, phone } = stage();
  const ring = relay.record("Keys\nring");
  putKeyRecord(relay, { ...ring, fields: { ...ring.fields, sealed: "AAAA" } });
  read(relay, desk);
  makeDeviceKey(desk, 7);
  send(relay, desk);
  assert.deepEqual(relay.record("Keys\nring").fields, ring.fields);
  putKeyRecord(relay, { ...ring, fields: ringFields(accountKeys(1, 2)) });
  read(relay, phone);
  makeDeviceKey(phone, 7);
  assert.equal(phone.nextBatch(), null);
});

test("a record of keys that the relay has set back is saved again", () => {
  const { relay, desk, phone } = stage();
  const former = relay.record("Keys\nring");
  rotate(relay, desk, 2);
  read(relay, desk);
  read(relay, phone);
  relay.put(former);
  read(relay, desk);
  assert.ok(makeKeys(desk, 3, []).result);
  makeDeviceKey(desk, 7);
  send(relay, desk);
  const ring = relay.record("Keys\nring").fields;
  assert.ok(keysInRing(ring, generation(2)).keys.isSame(accountKeys(1, 2)));
});

test("a device that has not read the newest keys does not put back former ones", () => {
  const { relay, desk } = stage();
  rotate(relay, desk, 2);
  read(relay, desk);
  const late = new SealingDevice(4);
  late.sealStored(accountKeys(1).storedValue);
  late.page([], null, 1);
  late.pass(1_000_000);
  makeDeviceKey(late, 4);
  send(relay, late);
  assert.equal(relay.record("Keys\nring").fields.key, generation(2).id);
  assert.equal(late.record("ring", "Keys").fields.key, generation(2).id);
  read(relay, desk);
  assert.equal(membersOf(desk).list.length, 3, "its key is sealed with the former generation");
});

test("a device without the account's keys, or with a part of it, has no key of its own", () => {
  const part = new SealingDevice(1);
  part.limit({ access: "read" });
  part.sealStored(accountKeys(1).storedValue);
  const plain = new SealingDevice(2);
  for (const device of [part, plain]) {
    makeDeviceKey(device, 1);
    assert.equal(device.disk.values.get("seal.device"), undefined);
    assert.equal(device.nextBatch(), null);
  }
});

test("the others get the new keys and go on", () => {
  const { relay, desk, phone, lost } = stage();
  rotate(relay, desk, 2, [lost]);
  write(relay, desk, "after", 2);
  read(relay, phone);
  phone.page(relay.live, null, 90);
  assert.equal(phone.outbox.unreadableCount, 0);
  assert.equal(phone.text("d"), "after");
  phone.reopen();
  phone.pass(10);
  phone.edit(draft("d", "from the phone"));
  send(relay, phone);
  const sealed = relay.records.find(({ zone }) => zone === "Desk");
  assert.equal(sealed.fields.key, generation(2).id);
  read(relay, lost);
  assert.equal(lost.outbox.unreadableCount, 1);
  assert.equal(lost.text("d"), "before");
});

test("what could not be read is read again with keys of the same page", () => {
  const { relay, desk, phone } = stage();
  rotate(relay, desk, 2);
  read(relay, desk);
  desk.pass(10);
  desk.edit(draft("d", "after"));
  send(relay, desk);
  const applied = phone.read(relay.changes(phone.id));
  assert.equal(applied.foundGap, true);
  assert.equal(phone.replica.position.kind, "nothing");
  assert.equal(phone.page(relay.live, null, 90).foundGap, false);
  assert.equal(phone.text("d"), "after");
});

test("a change whose answer was lost is known again under the new keys", () => {
  const { relay, desk, phone } = stage();
  phone.pass(10);
  phone.edit(draft("d", "from the phone"));
  const batch = phone.nextBatch();
  relay.save(batch, phone.id);
  rotate(relay, desk, 2);
  read(relay, phone);
  assert.equal(currentOf(phone), generation(2).id);
  // The same batch has another seal now, so the relay refuses it.
  assert.notDeepEqual(phone.freeze().records, batch.records);
  const refusal = { code: "batchMismatch", detail: "other content" };
  phone.step({ task: "refuseBatch", id: batch.id, refusal });
  send(relay, phone);
  assert.equal(phone.summary.unsent, 0);
  assert.equal(phone.text("d"), "from the phone");
  read(relay, desk);
  assert.deepEqual([desk.text("d"), desk.live.filter(({ zone }) => zone === "Desk").length],
    ["from the phone", 1]);
});

test("a removed device gives nobody keys", () => {
  const { relay, desk, phone, lost } = stage();
  rotate(relay, desk, 2, [lost]);
  read(relay, phone);
  const held = keysOf(phone);
  assert.equal(held.account.current.id, generation(2).id);
  // It has what it had: the former generation, and its own key.
  const privateKey = privateKeyOf(lost);
  for (const author of [lost.id, desk.id, "0000000000000077"]) {
    const other = relay.copy();
    // An invented device would have to be known first.
    putKeyRecord(other, { name: deviceRecord(author), type: deviceType,
      fields: deviceFields(x25519PublicKey(privateKey), author, generation(1)) });
    const fields = nextFields({ keys: accountKeys(1, 2, 9), author, without: [] },
      { device: phone.id, publicKey: x25519PublicKey(privateKeyOf(phone)), privateKey });
    putKeyRecord(other, { name: nextRecord(phone.id), type: nextType, fields });
    read(other, phone);
    assert.ok(keysOf(phone).isSame(held), author);
  }
});

test("a device that a removed one invents is no member once the new keys are there", () => {
  const invented = "0000000000000077";
  for (const arrives of ["in a page before", "in the same page"]) {
    const { relay, desk, phone, lost } = stage();
    const privateKey = privateKeyOf(lost);
    const invention = { name: deviceRecord(invented), type: deviceType,
      fields: deviceFields(x25519PublicKey(privateKey), invented, generation(1)) };
    if (arrives === "in a page before") {
      putKeyRecord(relay, invention);
      read(relay, phone);
      assert.ok(membersOf(phone).key(invented));
    }
    rotate(relay, desk, 2, [lost]);
    putKeyRecord(relay, invention);
    read(relay, phone);
    assert.equal(currentOf(phone), generation(2).id);
    assert.deepEqual(membersOf(phone).list.map(({ device }) => device), [desk.id, phone.id],
      arrives);
    assert.ok(membersOf(phone).storedValue.removed.includes(lost.id));
    const fields = nextFields({ keys: accountKeys(1, 2, 9), author: invented, without: [] },
      { device: phone.id, publicKey: x25519PublicKey(privateKeyOf(phone)), privateKey });
    putKeyRecord(relay, { name: nextRecord(phone.id), type: nextType, fields });
    read(relay, phone);
    assert.equal(currentOf(phone), generation(2).id, arrives);
    assert.deepEqual(makeKeys(phone, 3, []).result.receivers, [desk.id]);
  }
});

test("members are also learnt again if a code has brought the new keys before", () => {
  const { relay, desk, phone, lost } = stage();
  const invented = "0000000000000077";
  putKeyRecord(relay, { name: deviceRecord(invented), type: deviceType,
    fields: deviceFields(bytes(5), invented, generation(1)) });
  read(relay, phone);
  rotate(relay, desk, 2, [lost]);
  phone.sealStored(accountKeys(1, 2).storedValue);
  assert.ok(membersOf(phone).key(invented));
  phone.readAgain(relay.live);
  assert.deepEqual(membersOf(phone).list.map(({ device }) => device), [desk.id, phone.id]);
});

test("public keys that came before the new keys are taken once these have come", () => {
  const { relay, desk, phone, lost } = stage();
  rotate(relay, desk, 2);
  const next = nextFor(relay, phone);
  phone.read(relay.changes(phone.id).filter((record) => record !== next));
  assert.equal(currentOf(phone), generation(1).id);
  phone.read([next]);
  assert.equal(currentOf(phone), generation(2).id);
  assert.deepEqual(membersOf(phone).list.map(({ device }) => device),
    [desk, phone, lost].map(({ id }) => id));
});

test("a former handover takes nothing back", () => {
  const { relay, desk, phone, lost } = stage();
  rotate(relay, desk, 2);
  const former = nextFor(relay, phone);
  read(relay, phone);
  read(relay, desk);
  rotate(relay, desk, 3, [lost]);
  read(relay, phone);
  assert.equal(currentOf(phone), generation(3).id);
  relay.put(former);
  read(relay, phone);
  assert.equal(currentOf(phone), generation(3).id);
});

test("a device that was away for several rotations catches up", () => {
  const { relay, desk, phone, lost } = stage();
  for (const number of [2, 3, 4]) {
    rotate(relay, desk, number, [lost]);
    read(relay, desk);
  }
  write(relay, desk, "after", 4);
  read(relay, phone);
  phone.page(relay.live, null, 90);
  assert.equal(phone.text("d"), "after");
  assert.equal(phone.outbox.unreadableCount, 0);
});

test("two rotations at once make a key that follows from both", () => {
  const { relay, desk, phone } = stage();
  const other = relay.copy();
  rotate(other, phone, 3);
  rotate(relay, desk, 2);
  const merged = generation(2).merged(generation(3)).id;
  for (const [device, relays] of [[desk, [relay, other]], [phone, [other, relay]]]) {
    relays.forEach((each, at) => {
      device.read(each.live.filter(({ zone }) => zone === "Keys")
        .map((record, index) => ({ ...record, tag: 1_000 * (at + 1) + index })));
    });
    assert.equal(currentOf(device), merged);
  }
});

test("zones that are plain for both stay plain", () => {
  const { relay, desk } = stage();
  const keys = SealingKeys.ofAccount(accountKeys(1).account.adding(generation(2)),
    ZoneSet.allBut([]));
  const privateKey = privateKeyOf(desk);
  const fields = nextFields({ keys, author: desk.id, without: [] },
    { device: desk.id, publicKey: x25519PublicKey(privateKey), privateKey });
  putKeyRecord(relay, { name: nextRecord(desk.id), type: nextType, fields });
  read(relay, desk);
  assert.deepEqual(keysOf(desk).sealed.member, { plain: [] });
});

test("a device makes keys without another, and adopts them once the relay has them", () => {
  const { relay, desk, phone, lost } = stage();
  const { result: made, writes } = makeKeys(desk, 2, [lost]);
  assert.deepEqual([writes, made.receivers, made.without], [[], [phone.id], [lost.id]]);
  assert.equal(currentOf(desk), generation(1).id);
  assert.ok(saveTogether(relay, made.records));
  desk.step({ task: "adoptKeys", made });
  assert.equal(currentOf(desk), generation(2).id);
  assert.deepEqual(membersOf(desk).list.map(({ device }) => device), [desk.id, phone.id]);
  const names = relay.live.filter(({ zone }) => zone === "Keys").map(({ name }) => name);
  assert.ok(!names.includes(deviceRecord(lost.id)));
  write(relay, desk, "after", 2);
  read(relay, phone);
  phone.page(relay.live, null, 90);
  assert.equal(phone.text("d"), "after");
  read(relay, lost);
  assert.equal(lost.outbox.unreadableCount, 1);
});

test("what was written before is saved again with the new keys, also after a reload", () => {
  const { relay, desk, phone, lost } = stage();
  const names = Array.from({ length: 20 }, (_, number) => `n${number}`);
  for (const name of names) {
    desk.pass(1);
    desk.edit(note(name, `text of ${name}`));
  }
  send(relay, desk);
  desk.pass(1);
  desk.edit(deletion("n0"));
  send(relay, desk);
  read(relay, phone);
  const versions = () => names.map((name) =>
    phone.replica.transaction.version(`Desk\n${name}`)?.id);
  const before = versions();
  const { result: made } = makeKeys(desk, 2, [lost]);
  assert.ok(saveTogether(relay, made.records));
  desk.step({ task: "adoptKeys", made });
  read(relay, desk);
  let turns = 0;
  for (; desk.outbox.isResealing; turns += 1) {
    desk.step({ task: "reseal" });
    assert.ok(desk.summary.unsent <= 8);
    send(relay, desk);
    if (turns === 1) desk.reopen();
  }
  assert.ok(turns >= 3 && turns <= 4, `${turns} turns`);
  const sealed = relay.live.filter(({ zone }) => zone === "Desk");
  assert.equal(sealed.length, 21);
  assert.ok(sealed.every(({ fields }) => fields.key === generation(2).id));
  read(relay, phone);
  phone.readAgain(relay.live);
  assert.deepEqual(versions(), before);
  assert.deepEqual([phone.outbox.unreadableCount, phone.nextBatch(), phone.conflicts,
    desk.conflicts], [0, null, 0, 0]);
});

test("files of the vault are saved again, although they name their chunks in their own way", () => {
  const { relay, desk } = stage();
  const seal = new ZoneSeal(accountKeys(1).account.zoneKeys("Vault"));
  const file = { zone: "Vault", name: "file", type: "VaultFile", fields: { sealed: "AAAA" },
    modifiedAt: 1_000, device: "0000000000000004", tag: 0, deleted: false,
    chunks: ["0".repeat(64)], version: new RecordVersion({ writer: "a".repeat(16), number: 1 }) };
  relay.put(seal.seal(file));
  read(relay, desk);
  const { result: made } = makeKeys(desk, 2, []);
  assert.ok(saveTogether(relay, made.records));
  desk.step({ task: "adoptKeys", made });
  read(relay, desk);
  while (desk.outbox.isResealing) {
    desk.step({ task: "reseal" });
    send(relay, desk);
  }
  const saved = relay.live.find(({ zone }) => zone === "Vault");
  assert.deepEqual([saved.fields.key, saved.chunks, desk.outbox.parkedCount],
    [generation(2).id, file.chunks, 0]);
});

test("a device that stops before it adopts its new keys gets them from the relay", () => {
  const { relay, desk, phone, lost } = stage();
  assert.ok(saveTogether(relay, makeKeys(desk, 2, [lost]).result.records));
  desk.reopen();
  read(relay, desk);
  assert.equal(currentOf(desk), generation(2).id);
  assert.deepEqual(membersOf(desk).list.map(({ device }) => device), [desk.id, phone.id]);
});

test("of two devices that make keys at once, one saves them", () => {
  const { relay, desk, phone, lost } = stage();
  const [one, other] = [makeKeys(desk, 2, [lost]), makeKeys(phone, 3, [lost])]
    .map(({ result }) => result.records);
  assert.ok(saveTogether(relay, one));
  assert.equal(saveTogether(relay, other), false);
  assert.ok(relay.record("Keys\nring").fields.key === generation(2).id);
  read(relay, phone);
  const again = makeKeys(phone, 3, []).result;
  assert.ok(saveTogether(relay, again.records));
  assert.deepEqual(SealingKeys.ofStored(again.keys).account.generations.map(({ id }) => id),
    [1, 2, 3].map((number) => generation(number).id));
});

test("a device makes no keys on former ones, and none that it does not have", () => {
  const { relay, desk, phone, lost } = stage();
  const ring = relay.record("Keys\nring");
  putKeyRecord(relay, { ...ring, fields: ringFields(accountKeys(1, 2)) });
  read(relay, desk);
  assert.equal(makeKeys(desk, 3, [lost]).error.code, "keysChanged");
  phone.limit({ access: "read" });
  const part = new SealingDevice(4);
  for (const device of [phone, part]) {
    assert.equal(makeKeys(device, 3, [lost]).error.code, "refused");
  }
  const many = new SealingDevice(5);
  many.sealStored(accountKeys(...Array.from({ length: 64 }, (_, at) => at)).storedValue);
  makeDeviceKey(many, 5);
  assert.match(makeKeys(many, 99, []).error.message, /has had 64 keys/u);
});

test("members are kept with the removed ones, and learnt again from another form", () => {
  const members = new KeyMembers(undefined);
  const [first, second] = ["1".repeat(16), "2".repeat(16)];
  assert.ok(members.put(second, bytes(2)) && members.put(first, bytes(1)));
  assert.equal(members.put(first, bytes(3)), false);
  members.remove([first]);
  const again = new KeyMembers(members.storedValue);
  assert.deepEqual(again.storedValue, {
    members: [{ id: second, key: "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI" }],
    removed: [first] });
  assert.equal(again.put(first, bytes(1)), false);
  for (const stored of ["x", [], { members: [1, { id: "x", key: "AA" }], removed: 1 }]) {
    assert.deepEqual(new KeyMembers(stored).storedValue, { members: [], removed: [] });
  }
});
