import assert from "node:assert/strict";
import { test } from "node:test";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { choice, count, deletion, desk as app, note } from "./support/deskApp.js";
import { openedBy, SealingDevice } from "./support/keylessRelay.js";
import { pair, read, send, shared, write } from "./support/sealedStage.js";

// Sealed zones with an honest relay, and one that deletes, withholds and repeats.

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

const photo = (text, seal) => {
  const file = { name: "a.jpg", bytes: 1, chunks: ["0".repeat(64)], ...(seal && { seal }) };
  return { name: "photo", type: "Note", fields: { text, file } };
};

test("files that are not sealed for the zone are refused", () => {
  const { desk } = pair();
  const chunks = ["0".repeat(64)];
  assert.throws(() => desk.edit({ ...note("album", "x"), chunks }), { code: "refused" });
  for (const seal of [undefined, { zone: "Other", key: "00" }, { zone: app.zone }, app.zone]) {
    assert.throws(() => desk.edit(photo("x", seal)), { code: "refused" });
  }
});

test("an edit keeps a sealed file, which the relay cannot take away", () => {
  const { relay, desk, phone } = pair();
  const seal = { zone: app.zone, key: "00" };
  desk.edit(photo("lake", seal));
  send(relay, desk);
  read(relay, phone);
  phone.edit(photo("the lake", seal));
  send(relay, phone);
  const [stored] = relay.records;
  assert.deepEqual(stored.chunks, ["0".repeat(64)]);
  assert.equal(openedBy(stored).fields.text, "the lake");
  relay.put({ ...stored, chunks: ["1".repeat(64)] });
  read(relay, desk);
  assert.equal(desk.text("photo"), "lake");
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
