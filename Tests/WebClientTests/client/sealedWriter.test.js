import assert from "node:assert/strict";
import { test } from "node:test";
import { ZoneSeal } from "../../../Sources/WebClient/sealing/zoneSeal.js";
import { SeededRandom } from "../support/seededRandom.js";
import { desk as app, draft, note } from "./support/deskApp.js";
import { openedBy, sealedDevice, sealKeys } from "./support/keylessRelay.js";
import { pair, read, send, shared, write } from "./support/sealedStage.js";

// A replica as the writer of versions, and versions that another device saves again.

const stepMax = 2 ** 20;

const writerOf = (device) => device.disk.values.get("seal.writer");
const sentBy = (device, batch, at = 0) =>
  openedBy({ ...batch.records[at], zone: app.zone, device: device.id, tag: 1, deleted: false });
const textsOf = (device) => device.live.map(({ fields }) => fields.text).sort();

/** Sets the device's storage back to a copy that was made before. */
function setBack(device, copy) {
  device.disk = structuredClone(copy);
  device.reopen();
}

/** A desk that has forgotten its second version of a draft, and a relay as it was before that. */
function forgetful(seed) {
  const { relay, desk, phone } = pair();
  desk.random = new SeededRandom(seed);
  desk.edit(draft("d", "first"));
  send(relay, desk);
  read(relay, phone);
  const copy = structuredClone(desk.disk);
  const backup = relay.copy();
  desk.pass(10);
  desk.edit(draft("d", "forgotten"));
  send(relay, desk);
  setBack(desk, copy);
  for (const device of [desk, phone]) device.pass(10);
  return { relay, desk, phone, backup };
}

test("the numbers of a writer grow by random steps, over all records", () => {
  const { relay, desk } = pair();
  let greatest = 0;
  const steps = new Set();
  for (const name of ["a", "b", "a", "a"]) {
    desk.edit(note(name, "x"));
    const batch = desk.nextBatch();
    const { id } = sentBy(desk, batch).version;
    assert.deepEqual(writerOf(desk), { id: id.writer, greatest: id.number });
    const step = id.number - greatest;
    assert.ok(step >= 1 && step <= stepMax, `${step}`);
    steps.add(step);
    greatest = id.number;
    desk.answer(batch, relay.save(batch, desk.id));
    desk.reopen();
  }
  assert.equal(steps.size, 4);
});

test("a number is after all that the version was made on", () => {
  const { relay, desk, phone } = pair();
  for (const name of ["a", "b", "c"]) write(relay, desk, name, "x");
  read(relay, phone);
  phone.edit(note("c", "y"));
  const { id, made } = sentBy(phone, phone.nextBatch()).version;
  assert.ok(made.names({ writer: writerOf(desk).id, number: writerOf(desk).greatest }));
  assert.ok(id.number > made.greatest);
  assert.notEqual(id.writer, writerOf(desk).id);
});

test("a writer that has no numbers left gets another id", () => {
  const { relay, desk } = pair();
  write(relay, desk, "a", "x");
  const { id } = writerOf(desk);
  desk.disk.values.set("seal.writer", { id, greatest: Number.MAX_SAFE_INTEGER });
  desk.reopen();
  write(relay, desk, "b", "y");
  assert.notEqual(writerOf(desk).id, id);
  assert.ok(writerOf(desk).greatest <= stepMax);
});

test("a stored writer that is not readable is replaced", () => {
  for (const stored of [null, {}, { id: "x", greatest: 1 }, { id: "0".repeat(16), greatest: -1 },
    { id: "0".repeat(16), greatest: 2 ** 53 }]) {
    const { relay, desk } = pair();
    desk.disk.values.set("seal.writer", stored);
    desk.reopen();
    write(relay, desk, "a", "x");
    assert.match(writerOf(desk).id, /^[0-9a-f]{16}$/u);
    assert.notEqual(writerOf(desk).id, "0".repeat(16));
  }
});

test("a replica that was set back takes another id once it meets its own version", () => {
  const { relay, desk } = pair();
  write(relay, desk, "a", "x");
  const copy = structuredClone(desk.disk);
  const before = writerOf(desk);
  write(relay, desk, "b", "y");
  setBack(desk, copy);
  assert.deepEqual(writerOf(desk), before);
  read(relay, desk);
  assert.equal(writerOf(desk), undefined);
  assert.equal(desk.text("b"), "y");
  write(relay, desk, "b", "z");
  assert.notEqual(writerOf(desk).id, before.id);
  assert.ok(openedBy(relay.records[1]).version.made.number(before.id) > before.greatest);
});

test("what another writer made on an unknown version shows it too", () => {
  const { relay, desk, phone } = shared();
  const copy = structuredClone(desk.disk);
  write(relay, desk, "diary", "more");
  read(relay, phone);
  write(relay, phone, "diary", "phone's");
  setBack(desk, copy);
  read(relay, desk);
  assert.equal(writerOf(desk), undefined);
});

test("an edit after a set-back loses neither itself nor what was forgotten", () => {
  for (let seed = 0; seed < 30; seed += 1) {
    for (const isEditedInFlight of [false, true]) {
      const { relay, desk, phone } = pair();
      desk.random = new SeededRandom(100 + seed);
      desk.edit(draft("d", "first"));
      send(relay, desk);
      const copy = structuredClone(desk.disk);
      desk.pass(10);
      desk.edit(draft("d", "forgotten"));
      send(relay, desk);
      // Its numbers are now smaller or greater than that of the forgotten version.
      setBack(desk, copy);
      desk.pass(10);
      desk.edit(draft("d", "second"));
      const batch = desk.nextBatch();
      desk.pass(10);
      if (isEditedInFlight) desk.edit(draft("d", "third"));
      desk.answer(batch, relay.save(batch, desk.id));
      send(relay, desk);
      read(relay, phone);
      const texts = ["forgotten", isEditedInFlight ? "third" : "second"];
      assert.deepEqual(textsOf(desk), texts, `seed ${seed}`);
      assert.deepEqual(textsOf(phone), texts, `seed ${seed}`);
      assert.equal(desk.summary.unsent + phone.summary.unsent, 0);
    }
  }
});

// The answer does not say that another version is there; the changes do, after the edit.
test("an edit of a change that is not answered after a set-back loses nothing", () => {
  for (let seed = 0; seed < 30; seed += 1) {
    const { relay, desk, phone } = forgetful(300 + seed);
    desk.edit(draft("d", "third"));
    desk.step({ task: "setAside", id: desk.nextBatch().id });
    desk.pass(10);
    desk.edit(draft("d", "fourth"));
    desk.retryRefused(false);
    desk.reopen();
    read(relay, desk);
    send(relay, desk);
    read(relay, phone);
    for (const device of [desk, phone]) {
      assert.deepEqual(textsOf(device), ["forgotten", "fourth"], `seed ${seed}`);
    }
  }
});

test("a merge of a change after a set-back includes no forgotten version", () => {
  for (let seed = 0; seed < 30; seed += 1) {
    const { relay, desk, phone, backup } = forgetful(400 + seed);
    const [forgotten] = relay.records;
    phone.edit(draft("d", "phone's"));
    send(backup, phone);
    desk.edit(draft("d", "third"));
    desk.step({ task: "setAside", id: desk.nextBatch().id });
    desk.read(backup.live);
    // The relay has gone back before the forgotten version, and shows it now.
    backup.put(forgotten);
    desk.read(backup.live);
    desk.retryRefused(false);
    send(backup, desk);
    assert.deepEqual(textsOf(desk), ["forgotten", "phone's", "third"], `seed ${seed}`);
  }
});

test("a change remembers the newest of the ids that it has had", () => {
  const { desk } = pair();
  const ids = [];
  for (let count = 0; count < 10; count += 1) {
    desk.pass(10);
    desk.edit(note("diary", `${count}`));
    const batch = desk.nextBatch();
    ids.push(sentBy(desk, batch).version.id);
    desk.step({ task: "setAside", id: batch.id });
    desk.retryRefused(false);
    desk.reopen();
  }
  const [{ lineage }] = desk.replica.transaction.outbox.entries();
  assert.deepEqual(lineage.given, ids.slice(2));
  desk.pass(10);
  desk.edit(note("diary", "last"));
  const batch = desk.nextBatch();
  desk.answer(batch, [{ name: batch.records[0].name, tag: 9 }]);
  desk.edit(note("diary", "new"));
  assert.deepEqual(desk.replica.transaction.outbox.entries()[0].lineage.given, []);
});

test("several edits of one batch after a set-back lose nothing", () => {
  for (let seed = 0; seed < 10; seed += 1) {
    const { relay, desk } = pair();
    desk.random = new SeededRandom(200 + seed);
    const editBoth = (text) => {
      desk.pass(10);
      desk.edit(...["d", "e", "f"].map((name) => draft(name, `${name} ${text}`)));
    };
    editBoth("first");
    send(relay, desk);
    const copy = structuredClone(desk.disk);
    editBoth("forgotten");
    send(relay, desk);
    setBack(desk, copy);
    editBoth("second");
    const batch = desk.nextBatch();
    editBoth("third");
    desk.answer(batch, relay.save(batch, desk.id));
    send(relay, desk);
    assert.deepEqual(textsOf(desk), ["d forgotten", "d third", "e forgotten", "e third",
      "f forgotten", "f third"], `seed ${seed}`);
  }
});

test("a relay that was set back takes nothing that another device holds", () => {
  const { relay, desk, phone } = pair();
  const tablet = sealedDevice(3);
  desk.edit(draft("d", "first"));
  send(relay, desk);
  for (const device of [phone, tablet]) read(relay, device);
  const backup = relay.copy();
  desk.pass(10);
  desk.edit(draft("d", "lost"));
  send(relay, desk);
  read(relay, phone);
  tablet.pass(20);
  tablet.edit(draft("d", "later"));
  send(backup, tablet);
  // Above the tags that the relay has given before.
  backup.put(backup.live[0]);
  backup.put(backup.live[0]);
  read(backup, phone);
  send(backup, phone);
  assert.deepEqual(textsOf(phone), ["later", "lost"]);
});

test("two versions of a writer that was set back are merged by those who read both", () => {
  const { relay, desk, phone } = pair();
  desk.edit(draft("d", "first"));
  send(relay, desk);
  read(relay, phone);
  const copy = structuredClone(desk.disk);
  desk.pass(10);
  desk.edit(draft("d", "forgotten"));
  send(relay, desk);
  read(relay, phone);
  setBack(desk, copy);
  desk.pass(10);
  desk.edit(draft("d", "second"));
  const batch = desk.nextBatch();
  // The relay saves it over the version that it was not made on.
  desk.answer(batch, relay.take(batch, desk.id));
  read(relay, phone);
  send(relay, phone);
  assert.deepEqual(textsOf(phone), ["forgotten", "second"]);
});

test("two contents of one version are merged", () => {
  const { relay, desk, phone } = pair();
  desk.edit(draft("d", "first"));
  const batch = desk.nextBatch();
  const { version } = sentBy(desk, batch);
  desk.step({ task: "setAside", id: batch.id });
  relay.put(new ZoneSeal(sealKeys(1)).seal({ zone: app.zone, name: "d", type: "Draft",
    fields: { text: "twin" }, modifiedAt: desk.now + 1, device: desk.id, tag: 0, deleted: false,
    version }));
  read(relay, desk);
  desk.retryRefused();
  send(relay, desk);
  read(relay, phone);
  for (const device of [desk, phone]) assert.deepEqual(textsOf(device), ["first", "twin"]);
});

test("a change that waits under an id that was given up is sent under another one", () => {
  const { relay, desk } = pair();
  const copy = structuredClone(desk.disk);
  write(relay, desk, "other", "x");
  setBack(desk, copy);
  desk.disk.values.set("seal.writer", { id: openedBy(relay.records[0]).version.id.writer,
    greatest: 0 });
  desk.reopen();
  desk.random = { bytes: (count) => new Uint8Array(count) };
  desk.edit(note("diary", "a"));
  const first = desk.nextBatch();
  desk.step({ task: "refuseBatch", id: first.id, refusal: { code: "internalError", detail: "" } });
  read(relay, desk);
  assert.equal(writerOf(desk), undefined);
  desk.random = new SeededRandom(50);
  const again = desk.nextBatch();
  const [former, version] = [sentBy(desk, first), sentBy(desk, again)].map((it) => it.version);
  assert.notEqual(version.id.writer, former.id.writer);
  assert.ok(version.includes(former), "the relay may have saved it under its former id");
});

test("a version that is brought back is the same one, by the same author", () => {
  const { relay, desk, phone } = shared("first");
  const laptop = sealedDevice(3);
  const former = openedBy(relay.records[0]);
  relay.delete(relay.records[0]);
  read(relay, phone);
  send(relay, phone);
  const [again] = relay.records;
  assert.equal(again.device, phone.id);
  const opened = openedBy(again);
  assert.equal(opened.device, desk.id);
  assert.equal(opened.modifiedAt, former.modifiedAt);
  assert.ok(opened.version.isSame(former.version));
  for (const device of [desk, laptop]) {
    read(relay, device);
    assert.equal(device.record("diary").device, desk.id);
    assert.equal(device.nextBatch(), null);
    assert.equal(device.conflicts, 0);
  }
  assert.equal(phone.record("diary").device, desk.id);
  assert.equal(writerOf(phone), undefined, "it has made no version");
});

test("an edit of a version that is brought back is a version by its own author", () => {
  const { relay, desk, phone } = shared("first");
  const former = openedBy(relay.records[0]);
  relay.delete(relay.records[0]);
  read(relay, phone);
  phone.pass(10);
  phone.edit(note("diary", "second"));
  send(relay, phone);
  const opened = openedBy(relay.records[0]);
  assert.equal(opened.device, phone.id);
  assert.equal(opened.version.id.writer, writerOf(phone).id);
  assert.ok(opened.version.includes(former.version));
  read(relay, desk);
  assert.equal(desk.text("diary"), "second");
  assert.equal(desk.conflicts, 0);
});
