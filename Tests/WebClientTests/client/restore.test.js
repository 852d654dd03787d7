import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../../../Sources/WebClient/client/limits.js";
import { withoutStamps } from "../../../Sources/WebClient/model/stamps.js";
import { world } from "./support/device.js";
import { fieldsOf, set, table } from "./support/modelApp.js";

test("a relay from a backup gets back what it forgot, tombstones too", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.change(set("kept", "1"), set("gone", "1"));
  phone.sync(relay);
  laptop.sync(relay);
  const backup = relay.copy();
  phone.change(set("kept", "1", "2"), set("new", "n"), { name: "gone", fields: null });
  phone.sync(relay);
  relay.putBack(backup, "b2");
  phone.sync(relay);
  laptop.sync(relay);
  assert.deepEqual(laptop.fields("kept"), { items: ["1", "2"] });
  assert.deepEqual(laptop.fields("new"), { items: ["n"] });
  assert.equal(laptop.fields("gone"), null);
  assert.deepEqual(relay.live.map((record) => record.name).sort(), ["kept", "new"]);
});

test("a deletion that only the second of two restores has lost stays one", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.change(set("gone", "1"));
  phone.sync(relay);
  laptop.sync(relay);
  const older = relay.copy();
  phone.change({ name: "gone", fields: null });
  phone.sync(relay);
  laptop.sync(relay);
  const newer = relay.copy();
  phone.change(set("new", "n"));
  phone.sync(relay);
  laptop.sync(relay);
  relay.putBack(newer, "b2");
  phone.sync(relay);
  laptop.sync(relay);
  // The relay reports how far back it went, as after a complete restore.
  relay.putBack({ ...older, generation: "b2" }, "b3");
  phone.sync(relay);
  laptop.sync(relay);
  assert.deepEqual(relay.live.map(({ name }) => name), ["new"]);
  assert.equal(laptop.fields("gone"), null);
});

test("an older version that another device brings back is no change", () => {
  const deleted = { name: "memo", fields: null };
  for (const change of [deleted, set("memo", "2")]) {
    for (const isFirst of [true, false]) {
      const [relay, phone, laptop] = world("phone", "laptop");
      phone.change(set("kept", "1"));
      phone.sync(relay);
      laptop.sync(relay);
      const backup = relay.copy();
      phone.change(set("memo", "1"));
      phone.sync(relay);
      laptop.sync(relay);
      phone.change(change);
      phone.sync(relay);
      relay.rollBack(backup);
      const order = isFirst ? [phone, laptop] : [laptop, phone];
      for (const device of [...order, ...order]) device.sync(relay);
      for (const device of order) {
        assert.deepEqual(device.fields("memo"), change.fields && { items: ["2"] });
      }
    }
  }
});

test("a relay that went back unseen gets back what it lost, and nothing else", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.change(set("kept", "1"), set("gone", "1"));
  phone.sync(relay);
  laptop.sync(relay);
  const backup = relay.copy();
  phone.change(set("kept", "1", "2"), set("new", "n"));
  phone.sync(relay);
  relay.rollBack(backup);
  // A device that was offline meanwhile deletes a record.
  laptop.change({ name: "gone", fields: null });
  laptop.sync(relay);
  phone.sync(relay);
  laptop.sync(relay);
  assert.deepEqual(laptop.fields("kept"), { items: ["1", "2"] });
  assert.deepEqual(laptop.fields("new"), { items: ["n"] });
  assert.deepEqual(relay.live.map(({ name }) => name).sort(), ["kept", "new"]);
});

test("a device without a cursor learns by the snapshot what the relay has lost", () => {
  const [relay, phone] = world("phone");
  phone.change(set("kept", "1"));
  phone.sync(relay);
  const backup = relay.copy();
  phone.change(set("new", "n"));
  phone.sync(relay);
  relay.rollBack(backup);
  phone.forget({ code: "tokenExpired" });
  phone.sync(relay);
  assert.deepEqual(relay.live.map(({ name }) => name).sort(), ["kept", "new"]);
});

test("a device that saves before it reads is told by the page what the relay has lost", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.change(set("kept", "1"));
  phone.sync(relay);
  laptop.sync(relay);
  const backup = relay.copy();
  laptop.change(set("other", "o"));
  laptop.sync(relay);
  // Answered but not read: its cursor does not move.
  phone.change(set("new", "n"));
  const save = (id) => {
    const { answer } = relay.save("phone", phone.freeze(id));
    phone.apply({ kind: "answer", id, answer, isLink: true });
  };
  save("lost");
  relay.rollBack(backup);
  phone.change(set("next", "x"));
  save("next");
  phone.sync(relay);
  laptop.sync(relay);
  const names = ["kept", "new", "next", "other"];
  assert.deepEqual(relay.live.map(({ name }) => name).sort(), names);
});

/** Lets a phone read a page that leaves out a list, which a laptop has changed meanwhile. Then the
 * relay's disk goes back to the state before that. */
function leaveOutAndRollBack() {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.sync(relay);
  for (const number of [1, 2, 3, 4, 5]) laptop.change(set(`list${number}`, "1"));
  laptop.sync(relay);
  const disk = relay.copy();
  laptop.change(set("list2", "1", "lost"));
  laptop.sync(relay);
  const { page } = relay.changes(phone.replica.position.token);
  assert.deepEqual(page.changes.map(({ name }) => name), ["list1", "list3", "list4"]);
  phone.apply({ kind: "page", page });
  relay.rollBack(disk);
  return { relay, phone, laptop };
}

for (const isLater of [false, true]) {
  for (const isReloaded of [false, true]) {
    const when = `${isLater ? ", after others" : ""}${isReloaded ? ", and is reloaded" : ""}`;
    test(`a device that saves in the middle of reading misses nothing${when}`, () => {
      const { relay, phone, laptop } = leaveOutAndRollBack();
      if (isLater) {
        // The relay shows by this save that it went back.
        const other = world("tablet")[1];
        other.change(set("other", "o"));
        relay.save("tablet", other.freeze("other"));
      }
      phone.change(set("new", "n"));
      const { answer } = relay.save("phone", phone.freeze("new"));
      phone.apply({ kind: "answer", id: "new", answer, isLink: true });
      if (isReloaded) phone.start();
      phone.sync(relay);
      assert.deepEqual(phone.fields("list2"), { items: ["1"] });
      laptop.sync(relay);
      phone.sync(relay);
      assert.deepEqual(phone.fields("list2"), { items: ["1", "lost"] });
    });
  }
}

test("a change on a version that the relay has lost joins what others saved since", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.change(set("list", "1"));
  phone.sync(relay);
  laptop.sync(relay);
  const backup = relay.copy();
  phone.change(set("list", "1", "lost"));
  phone.sync(relay);
  relay.putBack(backup, "b2");
  laptop.change(set("list", "1", "laptop's"));
  laptop.sync(relay);
  phone.change(set("list", "1", "lost", "unsent"));
  phone.sync(relay);
  laptop.sync(relay);
  assert.deepEqual(laptop.fields("list"), { items: ["1", "laptop's", "lost", "unsent"] });
});

test("a value of a lost version stands against what somebody saved who did not know it", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  const fields = (values) => fieldsOf("f", values);
  phone.change(fields({ a: 1, b: 1 }));
  phone.sync(relay);
  laptop.sync(relay);
  const backup = relay.copy();
  laptop.change(fields({ a: 1, b: 1, c: 9 }));
  phone.now += 10;
  phone.change(fields({ a: 2, b: 1 }));
  phone.sync(relay);
  relay.putBack(backup, "b2");
  laptop.sync(relay);
  phone.change(fields({ a: 2, b: 3 }));
  phone.sync(relay);
  assert.deepEqual(phone.fields("f"), { a: 2, b: 3, c: 9 });
});

test("a text of a lost version that the change did not touch is kept as a copy", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  const backup = relay.copy();
  phone.change(table("t", { text: "lost" }));
  phone.sync(relay);
  relay.putBack(backup, "b2");
  laptop.now += 10;
  laptop.change(table("t", { text: "theirs" }));
  laptop.sync(relay);
  phone.now += 20;
  phone.change(table("t", { text: "lost", items: ["new"] }));
  phone.sync(relay);
  laptop.sync(relay);
  assert.deepEqual(withoutStamps(phone.fields("t")), { text: "theirs", items: ["new"] });
  const copies = laptop.live.filter(({ name }) => name.startsWith("t~"));
  assert.deepEqual(copies.map(({ fields }) => fields.text), ["lost"]);
});

test("a relay that goes back while a cursor is lost: what it lacks is not deleted here", () => {
  const [relay, phone] = world("phone");
  phone.change(set("a", "1"));
  phone.sync(relay);
  const backup = relay.copy();
  phone.change(set("b", "1"));
  phone.sync(relay);
  phone.step({ task: "forgetCursor", restoredThrough: null, generation: null });
  relay.putBack(backup, "b2");
  phone.sync(relay);
  assert.deepEqual(phone.fields("b"), { items: ["1"] });
  assert.deepEqual(relay.live.map(({ name }) => name), ["a", "b"]);
});

test("what was read between two restores and survived the second is not brought back", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  laptop.sync(relay);
  const first = relay.copy();
  phone.change(set("lost", "1"));
  phone.sync(relay);
  relay.putBack(first, "b2");
  laptop.change(set("list", "1", "2"));
  laptop.sync(relay);
  // An unsent change keeps the first restore from ending.
  phone.change(set("unsent", "1"));
  const second = relay.copy();
  laptop.change(set("newer", "1"));
  laptop.sync(relay);
  phone.fetch(relay);
  relay.putBack(second, "c3");
  laptop.change(set("list", "1"));
  laptop.sync(relay);
  phone.sync(relay);
  assert.deepEqual(phone.fields("list"), { items: ["1"] });
  assert.deepEqual(relay.live.map(({ name }) => name).sort(), ["list", "lost", "newer", "unsent"]);
});

test("what came since a restore is not lost by a reload with something in flight", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.change(set("busy", "1"));
  phone.sync(relay);
  laptop.sync(relay);
  relay.putBack(relay.copy(), "b2");
  phone.change(set("busy", "1", "phone's"));
  phone.freeze("in flight");
  // The batch in flight holds back other devices' changes of its record, and so the store's cursor.
  laptop.change(set("busy", "1", "laptop's"), set("theirs", "1"));
  laptop.sync(relay);
  phone.fetch(relay);
  phone.start();
  laptop.change({ name: "theirs", fields: null });
  laptop.sync(relay);
  phone.sync(relay);
  laptop.sync(relay);
  assert.equal(phone.fields("theirs"), null);
  assert.equal(laptop.fields("theirs"), null);
  assert.deepEqual(laptop.fields("busy"), { items: ["1", "laptop's", "phone's"] });
});

for (const isKept of [true, false]) {
  const when = isKept ? "after" : "before";
  test(`a reload, and another restore to a backup from ${when} a record came`, () => {
    const [relay, phone, laptop] = world("phone", "laptop");
    phone.change(set("busy", "1"));
    phone.sync(relay);
    laptop.sync(relay);
    relay.putBack(relay.copy(), "b2");
    phone.change(set("busy", "1", "phone's"));
    phone.freeze("in flight");
    laptop.change(set("busy", "1", "laptop's"));
    laptop.sync(relay);
    const before = relay.copy();
    laptop.change(set("theirs", "1"));
    laptop.sync(relay);
    phone.fetch(relay);
    phone.start();
    if (isKept) {
      relay.putBack(relay.copy(), "c3");
      laptop.change({ name: "theirs", fields: null });
      laptop.sync(relay);
    } else {
      relay.putBack(before, "c3");
    }
    phone.sync(relay);
    laptop.sync(relay);
    assert.deepEqual(phone.fields("theirs"), isKept ? null : { items: ["1"] });
    assert.deepEqual(laptop.fields("theirs"), isKept ? null : { items: ["1"] });
    assert.deepEqual(laptop.fields("busy"), { items: ["1", "laptop's", "phone's"] });
  });
}

for (const isEarlier of [false, true]) {
  const who = isEarlier ? "an earlier relay" : "a relay";
  test(`${who} that goes back twice before it was read anew: nothing acknowledged is lost`, () => {
    const [relay, phone] = world("phone");
    relay.isEarlier = isEarlier;
    const first = relay.copy();
    phone.change(set("a", "1"));
    phone.sync(relay);
    relay.putBack(relay.copy(), "b2");
    phone.change(set("b", "1"));
    phone.sync(relay);
    relay.putBack(first, "c3");
    const second = relay.copy();
    phone.change(set("c", "1"));
    const { answer } = relay.save("phone", phone.freeze("batch"));
    phone.apply({ kind: "answer", id: "batch", answer, isLink: true });
    const { error } = relay.changes(phone.replica.cursor);
    assert.deepEqual([error.code, error.token],
      ["badChangeToken", isEarlier ? undefined : relay.token]);
    phone.forget(error);
    relay.putBack(second, "d4");
    phone.sync(relay);
    assert.deepEqual(relay.live.map(({ name }) => name).sort(), ["a", "b", "c"]);
  });
}

/** A save that a restored relay acknowledges before the phone reads on. Returns the relay without
 * this save, because its disk went back. */
function saveAcknowledgedAndLost(isRestored, prepare = () => {}) {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.change(set("kept", "1"));
  phone.sync(relay);
  laptop.sync(relay);
  if (isRestored) relay.putBack(relay.copy(), "b2");
  const disk = relay.copy();
  phone.change(set("new", "n"));
  const batch = phone.freeze("batch");
  prepare(phone);
  const { answer } = relay.save("phone", batch);
  phone.apply({ kind: "answer", id: "batch", answer, isLink: true });
  Object.assign(relay, { ...disk, records: new Map(disk.records) });
  return { relay, phone, laptop };
}

for (const isReloaded of [false, true]) {
  const when = isReloaded ? ", after a reload" : "";
  test(`a save to a restored relay whose disk then goes back is not lost${when}`, () => {
    const { relay, phone, laptop } = saveAcknowledgedAndLost(true);
    if (isReloaded) phone.start();
    // Nothing is saved in the relay's present run yet, so that no page reports a loss.
    phone.fetch(relay);
    const since = phone.replica.position.token.split(".h")[0];
    relay.rollBack(relay.copy());
    laptop.change(set("later", "l"));
    laptop.sync(relay);
    // A push continues from where the phone is, and reports no loss either.
    const { page } = relay.changes(since);
    phone.apply({ kind: "page", page: { ...page, since, lostTags: [] } });
    phone.sync(relay);
    laptop.sync(relay);
    assert.deepEqual(relay.live.map(({ name }) => name).sort(), ["kept", "later", "new"]);
    assert.deepEqual(laptop.fields("new"), { items: ["n"] });
  });
}

test("a save without a cursor is not lost if the disk goes back before the snapshot", () => {
  const forget = (phone) => phone.forget({ code: "tokenExpired" });
  const { relay, phone } = saveAcknowledgedAndLost(false, forget);
  phone.sync(relay);
  assert.deepEqual(relay.live.map(({ name }) => name).sort(), ["kept", "new"]);
});

test("what an unfinished snapshot has brought is not taken for deleted after a restore", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  const empty = relay.copy();
  for (const number of [1, 2, 3, 4]) laptop.change(set(`list${number}`, "1"));
  laptop.sync(relay);
  const { page } = relay.changes(null);
  phone.apply({ kind: "page", page });
  phone.start();
  relay.putBack(empty, "b2");
  phone.sync(relay);
  assert.deepEqual(relay.live.map(({ name }) => name).sort(), ["list1", "list2", "list3"]);
});

test("a version with a smaller tag is no older one if the relay's clock was set back", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.change(set("list", "1"));
  phone.sync(relay);
  laptop.sync(relay);
  const backup = relay.copy();
  relay.putBack(backup, "b2");
  relay.sequence += 1_000_000;
  phone.change(set("list", "1", "phone's"));
  phone.sync(relay);
  // The backup is put back again. The tags of its history are smaller than the phone's.
  relay.putBack(backup, "c3");
  relay.restores = [{ generation: backup.generation, through: backup.sequence },
    { generation: "b2", through: backup.sequence }];
  relay.sequence = backup.sequence + 500;
  laptop.change(set("list", "1", "laptop's"));
  laptop.sync(relay);
  phone.sync(relay);
  laptop.sync(relay);
  assert.deepEqual(phone.fields("list"), { items: ["1", "laptop's", "phone's"] });
  assert.deepEqual(laptop.fields("list"), { items: ["1", "laptop's", "phone's"] });
});

/** Performs all that the device's engine wants, with a relay that answers. */
function runEngine(device, relay) {
  const { engine, id } = device;
  for (let action = engine.next(); action; action = engine.next()) {
    if (action.do === "job") {
      const { job, bounds } = action;
      const offer = bounds ? { id: `${id} ${relay.sequence} ${device.random.uuid()}`,
        randomBytes: (count) => device.random.bytes(count), ...bounds } : undefined;
      engine.finished({ offered: !!offer, ...device.step({ ...job, offer }) });
    } else if (action.do === "save") {
      const { answer, error } = relay.save(id, action.batch);
      if (answer) engine.saved(action.batch.id, answer);
      else engine.saveRefused(action.batch.id, error);
    } else if (action.do === "fetch") {
      const { page, error } = relay.changes(action.since);
      if (page) engine.page(page, "fetch");
      else engine.fetchRefused(error, "fetch");
    } else {
      throw new Error(`the engine wants ${action.do}`);
    }
  }
}

test("a refused save does not report what a relay lost that was restored meanwhile", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  const empty = relay.copy();
  phone.change(set("list", "1"));
  phone.sync(relay);
  relay.rollBack(empty);
  laptop.change(set("other", "o"));
  laptop.sync(relay);
  const backup = relay.copy();
  relay.putBack(backup, "b2");
  // Acknowledged, and lost by the next restore.
  phone.change(set("new", "n"));
  const { answer } = relay.save("phone", phone.freeze("new"));
  phone.apply({ kind: "answer", id: "new", answer, isLink: true });
  relay.putBack(backup, "c3");
  phone.change(set("list", "1", "2"));
  const batch = phone.freeze("list");
  const { error } = relay.save("phone", batch);
  assert.equal(error.code, "storeRestored");
  phone.start();
  phone.engine.online("websocket", null);
  runEngine(phone, relay);
  laptop.sync(relay);
  assert.deepEqual(laptop.live.map(({ name }) => name).sort(), ["list", "new", "other"]);
});

test("a relay that refuses each of its own cursors is asked again after a pause", () => {
  const [, phone] = world("phone");
  const { engine } = phone;
  engine.online("long-poll", null);
  const refusal = { code: "storeRestored", detail: "gone", restoredThrough: 0 };
  const done = [];
  const drive = () => {
    for (let action = engine.next(); action; action = engine.next()) {
      assert.ok(done.length < 100, "the device comes to no rest");
      done.push(action.do);
      if (action.do === "job") {
        engine.finished({ offered: !!action.bounds, ...phone.step(action.job) });
      } else if (action.do === "wait") engine.fetchRefused(refusal, "longPoll");
      else if (action.do === "fetch" && action.since) engine.fetchRefused(refusal, "fetch");
      else if (action.do === "fetch") {
        engine.page({ since: null, token: "a1.1", more: false, changes: [] }, "fetch");
      }
    }
  };
  drive();
  const count = (what) => done.filter((each) => each === what).length;
  assert.deepEqual([count("pause"), count("wait")], [1, limits.lostCursors + 1]);
  engine.resume();
  drive();
  assert.deepEqual([count("pause"), count("wait")], [2, limits.lostCursors + 2]);
});
