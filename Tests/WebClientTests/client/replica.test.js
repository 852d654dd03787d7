import assert from "node:assert/strict";
import { test } from "node:test";
import { world, worldOf } from "./support/device.js";
import { fittingName } from "../../../Sources/WebClient/client/fields.js";
import { fingerprint } from "../../../Sources/WebClient/client/record.js";
import { MergeRules } from "../../../Sources/WebClient/model/mergeRules.js";
import { choice, echo, modelApp, note, set } from "./support/modelApp.js";

test("an edit shows at once, reaches the relay, and the other device", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  const { changed } = phone.change(set("list", "milk"));
  assert.deepEqual(changed.map((record) => record.fields), [{ items: ["milk"] }]);
  assert.equal(phone.summary.unsent, 1);
  phone.sync(relay);
  laptop.sync(relay);
  assert.equal(phone.summary.unsent, 0);
  assert.deepEqual(laptop.fields("list"), { items: ["milk"] });
});

test("edits of one record fold into one until it is sent, and then into the next", () => {
  const [relay, phone] = world("phone");
  phone.change(set("list", "a"));
  phone.change(set("list", "a", "b"));
  const batch = phone.freeze("first");
  assert.deepEqual(batch.records.map((record) => record.fields.items), [["a", "b"]]);
  phone.change(set("list", "a", "b", "c"));
  assert.equal(phone.summary.unsent, 2);
  const { answer } = relay.save("phone", batch);
  phone.apply({ kind: "answer", id: "first", answer, isLink: true });
  const next = phone.freeze("second");
  assert.equal(next.records[0].baseTag, answer.results[0].tag);
  assert.deepEqual(next.records[0].fields.items, ["a", "b", "c"]);
});

test("what is sent and not answered goes again as it was, also after a crash", () => {
  const [relay, phone] = world("phone");
  phone.change(set("list", "a"));
  const first = phone.freeze("one");
  relay.save("phone", first);
  phone.start();
  const again = phone.freeze("two");
  assert.deepEqual(again, first);
  const { answer } = relay.save("phone", again);
  phone.apply({ kind: "answer", id: "one", answer, isLink: true });
  assert.equal(phone.summary.unsent, 0);
  assert.equal(relay.sequence, 1);
});

test("a record that comes while ours is in flight waits for the answer", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.change(set("list", "a"));
  phone.sync(relay);
  laptop.sync(relay);
  laptop.change(set("list", "a", "laptop's"));
  phone.change(set("list", "a", "phone's"));
  const batch = phone.freeze("batch");
  const { answer } = relay.save("phone", batch);
  laptop.sync(relay);
  const cursor = phone.disk.values.get("cursor");
  const { page } = relay.changes(cursor);
  phone.apply({ kind: "page", page });
  assert.deepEqual(phone.fields("list"), { items: ["a", "phone's"] });
  assert.equal(phone.disk.values.get("cursor"), cursor, "a crash now costs a fetch, and no record");
  phone.apply({ kind: "answer", id: "batch", answer, isLink: true });
  assert.deepEqual(phone.fields("list"), { items: ["a", "laptop's", "phone's"] });
  assert.equal(phone.summary.unsent, 0);
});

test("two who changed one record end alike, and nothing of either is lost", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.change(note("n", "base"));
  phone.sync(relay);
  laptop.sync(relay);
  phone.change(note("n", "phone's"));
  laptop.change(note("n", "laptop's"));
  for (const device of [phone, laptop, phone]) device.sync(relay);
  assert.deepEqual(phone.live, laptop.live);
  const texts = phone.live.map((record) => record.fields.text).sort();
  assert.deepEqual(texts, ["laptop's", "phone's"]);
});

test("a merged record and its copies go as one atomic batch", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.change(note("n", "phone's"));
  phone.sync(relay);
  laptop.change(note("n", "laptop's"));
  laptop.now += 10;
  laptop.change(note("n", "laptop's newer"));
  laptop.fetch(relay);
  const batch = laptop.freeze("merged");
  assert.equal(batch.atomic, true);
  assert.equal(batch.records.length, 2);
  assert.match(batch.records[0].name, /^n~phone-/);
});

test("copies that lead to themselves come to an end", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.now += 500;
  phone.change(echo("echo", "another's"));
  phone.now -= 500;
  phone.sync(relay);
  laptop.sync(relay);
  phone.change(echo("e", "phone's"));
  phone.sync(relay);
  laptop.now += 100;
  laptop.change(echo("e", "laptop's"));
  laptop.sync(relay);
  assert.deepEqual(laptop.fields("e"), { text: "laptop's" });
});

test("a copy's long name loses its beginning, and no letter is cut in two", () => {
  assert.equal(fittingName("memo"), "memo");
  assert.equal(fittingName(`${"é".repeat(200)}~x`), `${"é".repeat(126)}~x`);
  assert.equal(fittingName(`${"😀".repeat(200)}~`), `${"😀".repeat(63)}~`);
  assert.equal(fittingName(`${"水".repeat(500_000)}~ab`), `${"水".repeat(84)}~ab`);
});

test("a delete meets a change: the change stands", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.change(set("list", "a"));
  phone.sync(relay);
  laptop.sync(relay);
  phone.change({ name: "list", type: "Set", fields: null });
  laptop.change(set("list", "a", "b"));
  for (const device of [phone, laptop, phone]) device.sync(relay);
  assert.deepEqual(phone.fields("list"), { items: ["a", "b"] });
  assert.deepEqual(phone.live, laptop.live);
});

test("where the rule asks, nothing is overwritten, others go on, the answer goes to all", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.change(choice("c", "phone's"));
  phone.sync(relay);
  laptop.change(choice("c", "laptop's"), set("list", "x"));
  laptop.sync(relay);
  assert.deepEqual(laptop.summary.asking.map((it) => it.server.fields.title), ["phone's"]);
  assert.deepEqual(laptop.fields("c"), { title: "laptop's" });
  assert.ok(relay.live.some((record) => record.name === "list"));
  laptop.start();
  const decision = { zone: "Model", name: "c", keepLocal: true };
  laptop.step({ task: "decide", decision });
  laptop.sync(relay);
  phone.sync(relay);
  assert.deepEqual(phone.fields("c"), { title: "laptop's" });
  assert.equal(laptop.step({ task: "decide", decision }).error.code, "nothingToDecide");
});

test("a refused record is parked and shown, the others go on, an edit gives it another try", () => {
  const [, phone] = world("phone");
  phone.change(set("bad", "x"), set("good", "y"));
  phone.freeze("batch");
  const error = { code: "recordTooLarge", detail: "too large" };
  phone.apply({ kind: "answer", id: "batch", isLink: true, answer: {
    since: "a1.0", token: "a1.1", results: [{ name: "bad", error }, { name: "good", tag: 1 }],
  } });
  assert.deepEqual(phone.summary.parked.map((it) => it.name), ["bad"]);
  assert.equal(phone.freeze("none"), null);
  phone.change(set("bad", "smaller"));
  assert.deepEqual(phone.freeze("next").records.map((record) => record.name), ["bad"]);
});

test("a record that the account has no room for waits, is shown, and goes again", () => {
  const [, phone] = world("phone");
  phone.change(set("large", "x"), set("small", "y"));
  phone.freeze("batch");
  const error = { code: "quotaExceeded", detail: "no room" };
  phone.apply({ kind: "answer", id: "batch", isLink: true, answer: {
    since: "a1.0", token: "a1.1", results: [{ name: "large", error }, { name: "small", tag: 1 }],
  } });
  assert.deepEqual(phone.summary.parked.map((it) => it.refusal.code), ["quotaExceeded"]);
  assert.equal(phone.summary.mayRetryParked, true);
  assert.equal(phone.freeze("none"), null);
  phone.step({ task: "retryParked" });
  assert.equal(phone.summary.parkedCount, 0);
  assert.deepEqual(phone.freeze("next").records.map((record) => record.name), ["large"]);
});

test("a batch that is turned down for its content shrinks to the record at fault", () => {
  const [, phone] = world("phone");
  phone.change(set("a", "1"), set("b", "2"));
  phone.freeze("both");
  const refusal = { code: "badJSON", detail: "?" };
  phone.step({ task: "refuseBatch", id: "both", refusal });
  assert.equal(phone.summary.parkedCount, 0);
  phone.freeze("one", 1);
  phone.step({ task: "refuseBatch", id: "one", refusal });
  assert.deepEqual(phone.summary.parked.map((it) => it.name), ["a"]);
  assert.deepEqual(phone.freeze("rest").records.map((record) => record.name), ["b"]);
});

test("a cursor that is too old costs a snapshot: deleted records go, edited ones stay", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.change(set("a", "1"), set("b", "1"), set("c", "1"), set("d", "1"), set("e", "1"));
  phone.sync(relay);
  laptop.sync(relay);
  phone.change({ name: "a", fields: null }, { name: "b", fields: null });
  phone.sync(relay);
  relay.forgetTombstones();
  laptop.change(set("b", "1", "laptop's"));
  laptop.sync(relay);
  phone.sync(relay);
  assert.equal(laptop.fields("a"), null);
  assert.deepEqual(laptop.fields("b"), { items: ["1", "laptop's"] });
  assert.deepEqual(laptop.live, phone.live);
});

test("a crash in the middle of a snapshot begins it anew, and loses nothing", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  for (const name of ["a", "b", "c", "d", "e"]) phone.change(set(name, "1"));
  phone.sync(relay);
  laptop.change(set("own", "x"));
  const { page } = relay.changes(null);
  assert.equal(page.more, true);
  laptop.apply({ kind: "page", page });
  laptop.start();
  assert.equal(laptop.replica.position.kind, "nothing");
  laptop.sync(relay);
  phone.sync(relay);
  assert.equal(laptop.live.length, 6);
  assert.deepEqual(laptop.live, phone.live);
});

test("a save that landed, though it was taken for refused, is at odds with nothing", () => {
  const [relay, phone] = world("phone");
  phone.change(note("n", "first"));
  relay.save("phone", phone.freeze("one"));
  phone.step({ task: "refuseBatch", id: "one", refusal: { code: "batchMismatch", detail: "" } });
  phone.now += 10;
  phone.change(note("n", "second"));
  phone.sync(relay);
  assert.deepEqual(relay.live.map(({ fields }) => fields.text), ["second"]);
});

test("a device whose disk came back from a backup overwrites nothing that it saved since", () => {
  const [relay, phone] = world("phone");
  phone.change(set("list", "a"));
  phone.sync(relay);
  const backup = structuredClone(phone.disk);
  phone.now += 10;
  phone.change(set("list", "a", "since"));
  phone.sync(relay);
  phone.disk = backup;
  phone.start();
  phone.now += 10;
  phone.change(set("list", "a", "after"));
  phone.sync(relay);
  assert.deepEqual(phone.fields("list").items.toSorted(), ["a", "after", "since"]);
  assert.deepEqual(relay.live.map(({ fields }) => fields), [phone.fields("list")]);
});

test("what may have landed is deleted on the relay too", () => {
  const [relay, phone] = world("phone");
  phone.change(set("list", "a"));
  relay.save("phone", phone.freeze("one"));
  phone.step({ task: "refuseBatch", id: "one", refusal: { code: "batchMismatch", detail: "" } });
  phone.change({ name: "list", fields: null });
  assert.equal(phone.summary.unsent, 1);
  phone.now += 10;
  phone.sync(relay);
  assert.deepEqual(relay.live, []);
});

test("what was made and deleted before anyone heard of it is nobody's business", () => {
  const [, phone] = world("phone");
  phone.change(set("list", "a"));
  phone.change({ name: "list", fields: null });
  assert.equal(phone.summary.unsent, 0);
  assert.deepEqual([...phone.disk.records.keys()], []);
});

/** A countdown that ends at `zeroAt`, in the same way on every device. */
const countdown = {
  zone: "Model",
  timedTypes: ["Countdown"],
  dueEdit: ({ fields: { owner, zeroAt } }) => (zeroAt === null ? null : { dueAt: zeroAt, owner,
    graceMilliseconds: 0, fields: { owner, zeroAt: null } }),
  resolvers: { Countdown: modelApp.resolvers.Fields },
};

function countdowns() {
  const [relay, phone, laptop] = worldOf([countdown], "phone", "laptop");
  const start = (zeroAt) => ({ name: "c", type: "Countdown", fields: { owner: "phone", zeroAt } });
  phone.change(start(phone.now + 1_000));
  phone.sync(relay);
  laptop.sync(relay);
  return { relay, phone, laptop, start };
}

test("what two devices add at the end of one countdown is there once", () => {
  const addition = { name: "day", type: "Day", field: "ends", member: ["1-phone", 60] };
  const app = {
    ...countdown,
    rules: { Day: MergeRules.of({ fields: { ends: "greatestEach" } }) },
    dueEdit: (it) => (it.type === "Countdown" && countdown.dueEdit(it)
      ? { ...countdown.dueEdit(it), addition } : null),
  };
  const [relay, phone, laptop] = worldOf([app], "phone", "laptop");
  phone.change({ name: "c", type: "Countdown",
    fields: { owner: "phone", zeroAt: phone.now + 1_000 } });
  phone.sync(relay);
  laptop.sync(relay);
  for (const device of [phone, laptop]) {
    device.now += 5_000;
    device.step({ task: "makeDueEdits", isConnected: false });
    device.step({ task: "makeDueEdits", isConnected: false });
    assert.deepEqual(device.fields("day").ends, { "1-phone": 60 });
  }
  for (const device of [phone, laptop, phone]) device.sync(relay);
  assert.deepEqual([phone, laptop].map((it) => it.fields("day").ends),
    [{ "1-phone": 60 }, { "1-phone": 60 }]);
  // Another countdown adds to what is there.
  Object.assign(addition, { member: ["9-phone", 25] });
  phone.change({ name: "c", type: "Countdown",
    fields: { owner: "phone", zeroAt: phone.now + 1_000 } });
  phone.now += 1_000;
  phone.step({ task: "makeDueEdits", isConnected: true });
  assert.deepEqual(phone.fields("day").ends, { "1-phone": 60, "9-phone": 25 });
});

test("who starts anew what had run out is not undone by a device that sees it later", () => {
  const { relay, phone, laptop, start } = countdowns();
  laptop.now += 1_001;
  laptop.step({ task: "makeDueEdits", isConnected: true });
  const zeroAt = laptop.now + 90_000;
  laptop.now += 1;
  laptop.change(start(zeroAt));
  phone.now += 5_000;
  phone.step({ task: "makeDueEdits", isConnected: true });
  phone.sync(relay);
  laptop.now = phone.now;
  laptop.sync(relay);
  assert.equal(laptop.fields("c").zeroAt, zeroAt);
});

test("what time made while a clock was ahead is taken back, if its hour has not come", () => {
  const { relay, phone } = countdowns();
  const { zeroAt } = phone.fields("c");
  Object.assign(phone, { isClockTrusted: false, skew: -60_000 });
  phone.step({ task: "makeDueEdits", isConnected: false });
  assert.equal(phone.fields("c").zeroAt, null);
  phone.isClockTrusted = true;
  phone.sync(relay);
  assert.equal(phone.fields("c").zeroAt, zeroAt);
  assert.equal(relay.sequence, 1);
});

test("an edit made with a wrong clock is stamped anew before it is sent", () => {
  const [, phone] = world("phone");
  Object.assign(phone, { isClockTrusted: false, skew: -90_000 });
  phone.change(set("list", "a"));
  assert.equal(phone.live[0].modifiedAt, phone.now + 90_000);
  assert.equal(phone.freeze("early"), null, "not before relay time is known");
  phone.isClockTrusted = true;
  phone.now += 5_000;
  assert.equal(phone.freeze("now").records[0].modifiedAt, phone.now - 5_000);
});

test("an edit made after another is newer, however wrong the clock", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  phone.change(set("list", "a"));
  phone.sync(relay);
  Object.assign(laptop, { now: 500 });
  laptop.sync(relay);
  laptop.change(set("list", "a", "b"));
  assert.ok(laptop.live[0].modifiedAt > phone.live[0].modifiedAt);
});

test("what cannot be kept is told, and changes nothing", () => {
  const [, phone] = world("phone");
  const refused = (code, ...edits) =>
    assert.throws(() => phone.change(set("fine", "x"), ...edits), { code });
  refused("badEdit", set("", "x"));
  refused("badEdit", set("line\nfeed", "x"));
  refused("badEdit", set("lone \ud800", "x"));
  refused("badEdit", { name: "n", type: "Set", fields: [] });
  refused("badEdit", { name: "n", type: "Set", fields: { when: new Date(0) } });
  refused("badEdit", { name: "n", type: "Set", fields: { not: Number.NaN } });
  refused("badEdit", set("twice", "x"), set("twice", "y"));
  refused("nothingToDelete", { name: "none", type: "Set", fields: null });
  refused("tooLarge", set("large", "x".repeat(1 << 20)));
  refused("stale", { ...set("n", "x"), seen: { modifiedAt: 1, device: "laptop" } });
  assert.deepEqual(phone.live, []);
  assert.equal(phone.summary.unsent, 0);
});

test("an order that another tab asks twice is carried out once", () => {
  const [, phone] = world("phone");
  const make = ({ record }) => [{ zone: "Model", name: "n", type: "Set",
    fields: { items: [...record("Model", "n")?.fields.items ?? [], "more"] } }];
  phone.step({ task: "change", make, order: "order-1" });
  phone.start();
  const { result } = phone.step({ task: "change", make, order: "order-1" });
  assert.equal(result.isRepeated, true);
  assert.deepEqual(phone.fields("n").items, ["more"]);
});

test("a device belongs to one account and never gives its data to another", () => {
  const [relay, phone] = world("phone");
  phone.change(set("list", "mine"));
  const join = (accountID) => phone.step({ task: "join",
    identity: { accountID, deviceID: "anew" } });
  assert.equal(join("another").error.code, "otherAccount");
  assert.equal(join("account").error, null);
  phone.id = "anew";
  phone.sync(relay);
  assert.deepEqual(relay.live.map((record) => record.device), ["anew"]);
});

test("a version has the fingerprint that every client computes", () => {
  const version = { modifiedAt: 7, type: "Note", tag: 1, device: "phone" };
  assert.equal(fingerprint({ ...version, fields: { b: 1, a: "é" } }), "95e231e49cd9a752");
  assert.equal(fingerprint({ ...version, fields: null }), "28f0165e7006ec28");
  assert.match(fingerprint({ ...version, fields: { a: "\ud800" } }), /^[0-9a-f]{16}$/);
});

test("what is too much goes once the device is caught up, also if an answer was no link", () => {
  const surplus = (type, records) => records.map(({ name }) => name).sort().slice(0, -3);
  const app = { ...modelApp, boundedTypes: ["Set"], surplus };
  const [relay, phone, laptop] = worldOf([app], "phone", "laptop");
  phone.change(set("a", "1"), set("b", "1"), set("c", "1"));
  phone.sync(relay);
  laptop.change({ zone: "Other", name: "other", type: "Other", fields: {} });
  laptop.sync(relay);
  phone.change(set("d", "1"));
  const { answer } = relay.save("phone", phone.freeze("batch"));
  phone.apply({ kind: "answer", id: "batch", answer, isLink: true });
  // The page brings nothing new in this zone.
  phone.sync(relay);
  assert.deepEqual(phone.live.filter(({ zone }) => zone === "Model").map(({ name }) => name),
    ["b", "c", "d"]);
});
