import assert from "node:assert/strict";
import { test } from "node:test";
import { Replica } from "../../../Sources/WebClient/client/replica/replica.js";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
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
