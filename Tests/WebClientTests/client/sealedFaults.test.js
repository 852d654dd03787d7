import assert from "node:assert/strict";
import { test } from "node:test";
import { statusOf } from "../../../Sources/WebClient/client/sync/status.js";
import { SyncEngine } from "../../../Sources/WebClient/client/sync/syncEngine.js";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { desk as app, draft, note } from "./support/deskApp.js";
import { openedBy, sealKeys } from "./support/keylessRelay.js";
import { pair, read, send, shared, spoil, waits, write } from "./support/sealedStage.js";

// Records of sealed zones that do not open.

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

test("a conflict that could not be read is resolved once its version comes with a page", () => {
  const { relay, desk } = shared();
  const [good] = relay.records;
  desk.pass(10);
  desk.edit(note("diary", "more"));
  spoil(relay, good);
  send(relay, desk);
  relay.put(good);
  read(relay, desk);
  send(relay, desk);
  assert.equal(openedBy(relay.records[0]).fields.text, "more");
  assert.equal(desk.outbox.unreadableCount, 0);
});

// A snapshot does not name what the relay has deleted.
test("a conflict that cannot be read is tried again after a snapshot", () => {
  const { relay, desk } = shared();
  const [bad] = relay.records;
  desk.pass(10);
  desk.edit(note("diary", "more"));
  spoil(relay, bad);
  send(relay, desk);
  assert.equal(desk.outbox.unreadableCount, 1);
  relay.forget(bad);
  desk.forgetCursor();
  desk.page(relay.live, null, 9);
  send(relay, desk);
  assert.deepEqual([desk.summary.unsent, desk.outbox.unreadableCount], [0, 0]);
  assert.equal(openedBy(relay.records[0]).fields.text, "more");
});

// The relay is restored to a time before it had that version, and the device needs no snapshot: the
// changes since then do not name the record.
for (const lostTags of [[], [[20, 39]]]) {
  const kind = lostTags.length === 0 ? "another history" : "lost tags";
  test(`a conflict that cannot be read is tried again after a restore (${kind})`, () => {
    const { relay, desk } = shared();
    desk.page(relay.live, 1, 9);
    const [good] = relay.records;
    desk.pass(10);
    desk.edit(note("diary", "more"));
    spoil(relay, good);
    send(relay, desk);
    assert.deepEqual([desk.summary.unsent, desk.outbox.unreadableCount], [1, 1]);
    relay.restore(good);
    desk.readRestored(9, 40, lostTags);
    assert.equal(desk.outbox.unreadableCount, 0);
    send(relay, desk);
    assert.equal(desk.summary.unsent, 0);
    assert.equal(openedBy(relay.records[0]).fields.text, "more");
  });
}

test("a conflict of a new generation waits for its keys", () => {
  const { relay, desk, phone } = shared("old");
  desk.seal(sealKeys(1, 2));
  desk.page(relay.live, null, 1);
  desk.pass(10);
  write(relay, desk, "diary", "new");
  phone.edit(note("other", "goes on"), note("diary", "mine"));
  send(relay, phone);
  assert.equal(phone.summary.unsent, 1);
  phone.seal(sealKeys(1, 2));
  phone.page([], null, 9);
  send(relay, phone);
  assert.equal(phone.summary.unsent, 0);
  assert.equal(phone.text("diary"), "new");
});

test("what a snapshot does not have any more is not unreadable", () => {
  const { relay, phone } = shared();
  spoil(relay, relay.records[0]);
  read(relay, phone);
  phone.forgetCursor();
  phone.page([], null, 9);
  assert.equal(phone.outbox.unreadableCount, 0);
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
