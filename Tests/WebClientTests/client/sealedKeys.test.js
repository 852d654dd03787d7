import assert from "node:assert/strict";
import { test } from "node:test";
import { Replica } from "../../../Sources/WebClient/client/replica/replica.js";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { AccountKeys, KeyGeneration } from "../../../Sources/WebClient/sealing/accountKeys.js";
import { SealingKeys } from "../../../Sources/WebClient/sealing/sealingKeys.js";
import { ZoneSet } from "../../../Sources/WebClient/sealing/zoneSet.js";
import { desk as app, note } from "./support/deskApp.js";
import { KeylessRelay, openedBy, SealingDevice, sealKeys } from "./support/keylessRelay.js";
import { pair, send, write } from "./support/sealedStage.js";

// The keys of sealed zones.

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

test("a zone with files that are not sealed is not sealed", () => {
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

/** Keys of an account, of these generations. */
const accountKeys = (names, numbers, plain = ["Vault"]) => {
  const bytes = (number) => new Uint8Array(32).fill(number);
  const generations = numbers.map((number) => new KeyGeneration(bytes(number)));
  return SealingKeys.ofAccount(new AccountKeys(bytes(names), generations), ZoneSet.allBut(plain))
    .storedValue;
};

test("an account's keys seal every zone but the plain ones, also after a reload", () => {
  const relay = new KeylessRelay();
  const desk = new SealingDevice(1);
  assert.equal(desk.sealStored(accountKeys(9, [1], ["Open"])), true);
  desk.page([], null, 1);
  desk.reopen();
  for (const zone of ["Desk", "Open", "Later"]) desk.edit({ ...note("diary", zone), zone });
  send(relay, desk);
  const at = (zone) => relay.records.find((record) => record.zone === zone);
  assert.deepEqual(at("Open").fields, { text: "Open" });
  assert.equal(openedBy(at("Desk")).fields.text, "Desk");
  assert.deepEqual(Object.keys(at("Later").fields).sort(), ["key", "sealed"]);
  const keys = SealingKeys.ofStored(desk.disk.values.get("seal.keys"));
  const opened = openedBy({ ...at("Later"), tag: 3 }, keys.zoneKeys("Later"));
  assert.equal(opened.fields.text, "Later");
});

test("an account's keys are extended, and never replaced by fewer", () => {
  const desk = new SealingDevice(1);
  assert.equal(desk.sealStored(accountKeys(9, [1])), true);
  assert.equal(desk.sealStored(accountKeys(9, [1])), false);
  for (const keys of [accountKeys(8, [1]), null, {}]) {
    assert.equal(desk.sealStored(keys), "refused");
  }
  assert.equal(desk.seal(sealKeys(1)), "refused");
  assert.equal(desk.sealStored(accountKeys(9, [1, 2])), true);
  for (const keys of [accountKeys(9, [1]), accountKeys(9, [1, 2], ["Vault", "Desk"])]) {
    assert.equal(desk.sealStored(keys), false);
  }
  desk.edit(note("diary", "x"));
  const relay = new KeylessRelay();
  send(relay, desk);
  assert.equal(openedBy(relay.records[0]), undefined);
  assert.equal(openedBy(relay.records[0], sealKeys(2)).fields.text, "x");
});

/** Returns a device that has edited, and belongs to no account. */
function unjoined() {
  const device = new SealingDevice(1);
  device.disk.values.clear();
  device.start();
  device.edit(note("diary", "before the join"));
  return device;
}

const identity = { accountID: "account", deviceID: "0000000000000001", token: "token" };

test("account and keys are stored at once, and the first batch is sealed", () => {
  const device = unjoined();
  const written = [];
  const offer = { id: "first", records: 400, bytes: 2 << 20, blockedZones: [],
    randomBytes: (count) => device.random.bytes(count) };
  const { batch, error } = device.step(
    { task: "join", identity, keys: accountKeys(9, [1]), offer }, (writes) => {
      written.push(...writes.map(({ key }) => key));
      device.write(writes);
    });
  assert.equal(error, null);
  assert.ok(written.includes("identity") && written.includes("seal.keys"));
  const relay = new KeylessRelay();
  relay.save(batch, device.id);
  assert.equal(openedBy(relay.records[0]).fields.text, "before the join");
  assert.ok(!serialize(relay.records).includes("before"));
});

test("keys that are no keys leave the device without an account", () => {
  for (const keys of [null, {}, [], "keys"]) {
    const device = unjoined();
    const { error, writes } = device.step({ task: "join", identity, keys });
    assert.equal(error.code, "refused");
    assert.deepEqual(writes, []);
    assert.equal(device.replica.identity, null);
    assert.equal(device.nextBatch(), null);
  }
});

/** Joins the account again, with its keys. */
const joinAgain = (device) => device.step(
  { task: "join", identity: { ...identity, token: "other" },
    keys: accountKeys(9, [1], ["Open"]) });

test("a device that joins again with keys drops plain records, and seals what waits", () => {
  const device = new SealingDevice(1);
  const relay = new KeylessRelay();
  for (const name of ["diary", "gone", "kept"]) device.edit(note(name, "plain"));
  send(relay, device);
  device.edit(note("kept", "changed"));
  device.edit({ name: "gone", type: "Note", fields: null });
  device.edit({ ...note("open", "plain"), zone: "Open" });
  assert.equal(joinAgain(device).error, null);
  assert.deepEqual(device.live.map(({ name }) => name).sort(), ["kept", "open"]);
  const empty = new KeylessRelay();
  send(empty, device);
  const sealed = empty.records.find(({ zone }) => zone === "Desk");
  assert.equal(openedBy(sealed).fields.text, "changed");
  assert.deepEqual(empty.records.map(({ zone }) => zone).sort(), ["Desk", "Open"]);
});

test("a device does not join again with keys while a plain change is on its way", () => {
  const device = new SealingDevice(1);
  device.edit(note("diary", "plain"));
  const batch = device.nextBatch();
  const { error, writes } = joinAgain(device);
  assert.deepEqual([error.code, writes], ["refused", []]);
  assert.equal(device.nextBatch().id, batch.id);
});

test("a device that joins again keeps its keys if none come with the code", () => {
  const device = new SealingDevice(1);
  device.sealStored(accountKeys(9, [1]));
  device.step({ task: "join", identity });
  device.edit(note("diary", "x"));
  const relay = new KeylessRelay();
  send(relay, device);
  assert.equal(openedBy(relay.records[0]).fields.text, "x");
});
