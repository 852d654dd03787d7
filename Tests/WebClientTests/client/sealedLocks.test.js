import assert from "node:assert/strict";
import { test } from "node:test";
import { AccountKeys, KeyGeneration } from "../../../Sources/WebClient/sealing/accountKeys.js";
import { ringFields } from "../../../Sources/WebClient/sealing/keyRing.js";
import { SealingKeys } from "../../../Sources/WebClient/sealing/sealingKeys.js";
import { ZoneSet } from "../../../Sources/WebClient/sealing/zoneSet.js";
import { note } from "./support/deskApp.js";
import {
  KeylessRelay, sealedDevice, SealingDevice, sealKeys,
} from "./support/keylessRelay.js";
import { read, send, write } from "./support/sealedStage.js";

// A device that joined a sealed account with a code that carries no keys.

function stage() {
  const phone = new SealingDevice(2);
  phone.page([], null, 1);
  return { relay: new KeylessRelay(), desk: sealedDevice(1), phone };
}

const texts = (device) => device.live.map(({ fields }) => fields.text).sort();

test("it takes nothing of the zone, and sends nothing", () => {
  const { relay, desk, phone } = stage();
  phone.edit(note("mine", "made before"));
  write(relay, desk, "diary", "a secret");
  read(relay, phone);
  assert.deepEqual(texts(phone), ["made before"]);
  assert.equal(phone.outbox.unreadableCount, 1);
  assert.equal(phone.nextBatch(), null);
  assert.throws(() => phone.edit(note("later", "x")),
    { code: "refused", message: /does not have the account's keys/u });
  assert.equal(relay.records.length, 1);
  assert.equal(phone.seal(sealKeys(2)), "refused");
});

test("it stays locked until it has the keys, whatever the relay leaves out then", () => {
  const { relay, desk, phone } = stage();
  phone.edit(note("mine", "made before"));
  write(relay, desk, "diary", "a secret");
  read(relay, phone);
  phone.forgetCursor();
  phone.page([], null, 9);
  assert.equal(phone.nextBatch(), null);
  phone.reopen();
  assert.equal(phone.nextBatch(), null);
  const forged = { ...relay.records[0], name: "x", type: "Note", fields: { text: "forged" } };
  relay.put(forged);
  read(relay, phone);
  assert.deepEqual(texts(phone), ["made before"]);
  relay.forget(forged);
  assert.equal(phone.seal(sealKeys(1)), true);
  phone.page(relay.live, null, 20);
  assert.equal(phone.outbox.unreadableCount, 0);
  send(relay, phone);
  read(relay, desk);
  for (const device of [phone, desk]) {
    assert.deepEqual(texts(device), ["a secret", "made before"]);
  }
  phone.reopen();
  phone.edit(note("later", "x"));
});

test("it keeps what it has when it reads all again", () => {
  const { relay, desk, phone } = stage();
  const plain = new SealingDevice(3);
  write(relay, plain, "list", "from before");
  read(relay, phone);
  write(relay, desk, "diary", "a secret");
  read(relay, phone);
  phone.forgetCursor();
  phone.page(relay.live.filter(({ name }) => name !== "list"), null, 9);
  assert.deepEqual(texts(phone), ["from before"]);
});

test("it merges nothing with a sealed record", () => {
  const { relay, desk, phone } = stage();
  write(relay, desk, "diary", "a secret");
  phone.edit(note("mine", "made before"));
  const batch = phone.nextBatch();
  const conflict = { ...relay.records[0], name: "mine" };
  phone.answer(batch, [{ name: "mine", conflict }]);
  assert.deepEqual(texts(phone), ["made before"]);
  assert.equal(phone.nextBatch(), null);
  assert.equal(phone.outbox.unreadableCount, 1);
});

test("other zones are not locked", () => {
  const { relay, desk, phone } = stage();
  write(relay, desk, "diary", "a secret");
  read(relay, phone);
  phone.edit({ ...note("for all", "open"), zone: "Other" });
  send(relay, phone);
  assert.deepEqual(relay.live.map(({ zone }) => zone), ["Desk", "Other"]);
});

// The record of the account's keys shows that the account is sealed, before any sealed record does.

const bytes = new Uint8Array(32).fill(9);
const account = SealingKeys.ofAccount(
  new AccountKeys(bytes, [new KeyGeneration(bytes)]), ZoneSet.allBut(["Keys", "Open"]));

const ring = (fields = ringFields(account)) => ({
  zone: "Keys", name: "ring", type: "keyRing", fields, modifiedAt: 1_000, device: "d".repeat(16),
  tag: 0, deleted: fields === null,
});

test("the account's keys lock all zones but the plain ones, also after a reload", () => {
  const phone = new SealingDevice(2);
  const relay = new KeylessRelay();
  relay.put(ring());
  read(relay, phone);
  const isLocked = () => {
    assert.throws(() => phone.edit({ ...note("x", "x"), zone: "Later" }),
      { code: "refused", message: /does not have the account's keys/u });
    phone.edit({ ...note("x", "x"), zone: "Open" });
    relay.put({ ...ring(), zone: "Later", name: "forged" });
    relay.put({ ...ring(), zone: "Open", name: "plain" });
    read(relay, phone);
    const names = phone.live.map(({ zone, name }) => `${zone}/${name}`).sort();
    assert.deepEqual(names, ["Keys/ring", "Open/plain", "Open/x"]);
  };
  isLocked();
  assert.deepEqual(phone.disk.values.get("seal.locked"),
    { zones: ["Later"], plain: ["Keys", "Open"] });
  phone.reopen();
  isLocked();
  assert.equal(phone.sealStored(account.storedValue), true);
  assert.equal(phone.disk.values.get("seal.locked"), undefined);
  phone.edit({ ...note("x", "x"), zone: "Later" });
});

test("the record locks nothing if it is deleted, or the device has keys or a part", () => {
  const desk = new SealingDevice(1);
  desk.sealStored(account.storedValue);
  desk.page([], null, 1);
  const part = new SealingDevice(3);
  part.limit({ zones: ["Desk", "Keys"], access: "write" });
  part.page([], null, 1);
  const phone = new SealingDevice(2);
  desk.read([{ ...ring(), tag: 2 }]);
  part.read([{ ...ring(), tag: 2 }]);
  phone.read([{ ...ring(null), tag: 2 }]);
  for (const device of [desk, part, phone]) {
    device.edit(note("x", "x"));
    assert.equal(device.disk.values.get("seal.locked"), undefined);
  }
});

test("a list of plain zones in another form leaves none open", () => {
  for (const plain of [undefined, "Open", [1, "", "a\nb"]]) {
    const phone = new SealingDevice(2);
    phone.read([{ ...ring({ ...ringFields(account), plain }), tag: 2 }]);
    assert.throws(() => phone.edit({ ...note("x", "x"), zone: "Open" }), { code: "refused" });
  }
});

test("the zone of the account's keys is not for edits", () => {
  const phone = new SealingDevice(2);
  assert.throws(() => phone.edit({ ...note("ring", "x"), zone: "Keys" }),
    { code: "refused", message: "the zone Keys is for the account's keys alone" });
});
