import assert from "node:assert/strict";
import { test } from "node:test";
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
