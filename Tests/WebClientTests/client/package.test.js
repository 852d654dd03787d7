import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  counterAdded, counterValue, fileStore, Lockstep, memoryStore, RuleFault,
} from "../../../Sources/WebClient/node.js";
import { needsProgram } from "../support/program.js";
import { RelayProcess } from "../support/relayProcess.js";
import { Browser, inState, until } from "./support/page.js";

// The package as an app uses it, with a live relay.

const within = { ...needsProgram, timeout: 60_000 };
const device = { deviceName: "test" };
const todos = { zone: "Todos", types: {
  Todo: { fields: { done: "or", tags: "set", minutes: "counter" } } } };
const notes = { zone: "Notes", types: { Note: { fields: { text: "keepBoth" } } } };

/** @type {RelayProcess} */
let relay;
before(async () => { if (!needsProgram.skip) relay = await RelayProcess.start(); });
after(async () => { await relay?.remove(); });

async function opened(context, browser = new Browser(), options = {}) {
  const lockstep = await browser.open(relay, { apps: [], rules: [todos, notes], ...options });
  context.after(() => lockstep.close());
  return lockstep;
}

/** Two browsers of one account. */
async function pair(context) {
  const browsers = [new Browser(), new Browser()];
  const one = await opened(context, browsers[0]);
  const two = await opened(context, browsers[1]);
  await one.createAccount(device);
  await two.join((await one.issueCode()).code, device);
  return { browsers, one, two };
}

/** Resolves with the first snapshot that is as wanted. */
async function snapshot(live, isWanted) {
  for (;;) {
    const { value, done } = await live.next();
    assert.ok(!done, "the sequence has ended");
    if (isWanted(value)) return value;
  }
}

test("what is saved shows at once, and on the other device; an update is on what is there",
  within, async (context) => {
    const { one, two } = await pair(context);
    const live = two.live("Todos", "Todo", { where: (todo) => !todo.done, sortBy: "order" });
    assert.deepEqual((await live.next()).value, []);
    const id = await one.save("Todos", "Todo", { title: "milk", order: 2, gone: undefined });
    assert.equal(await one.save("Todos", "Todo", { title: "tea", order: 1 }, { id: "x" }), "x");
    assert.deepEqual(one.record("Todos", id).fields, { title: "milk", order: 2 });
    const both = await snapshot(live, (items) => items.length === 2);
    assert.deepEqual(both.map(({ title }) => title), ["tea", "milk"]);
    await two.update("Todos", id, (todo) => {
      todo.tags = ["a"];
      return { ...todo, done: true };
    });
    assert.deepEqual((await snapshot(live, (items) => items.length === 1))[0], both[0]);
    await until(one, () => one.record("Todos", id).fields.done);
    assert.deepEqual(one.record("Todos", id).fields,
      { title: "milk", order: 2, tags: ["a"], done: true });
    // An item can be saved as it is.
    await one.save("Todos", "Todo", { ...both[0], title: "coffee" });
    await until(two, () => two.record("Todos", "x").fields.title === "coffee");
    await two.delete("Todos", "x");
    await until(one, () => one.record("Todos", "x") === null);
  });

test("two devices that were apart agree as the table of rules says", within, async (context) => {
  const { browsers, one, two } = await pair(context);
  const id = await one.save("Todos", "Todo", { title: "milk", done: false, tags: ["a"] });
  const note = await one.save("Notes", "Note", { text: "first" });
  await until(two, () => two.record("Notes", note) !== null);
  browsers[1].goOffline();
  await until(two, inState("offline"));
  const count = (by) => (todo, context) =>
    ({ ...todo, minutes: counterAdded(todo.minutes, context.device, by) });
  await one.update("Todos", id, (todo) => ({ ...todo, title: "tea", tags: ["a", "b"] }));
  await one.update("Todos", id, count(5));
  await one.update("Notes", note, () => ({ text: "one's" }));
  await two.update("Todos", id, (todo) => ({ ...todo, done: true, tags: [] }));
  await two.update("Todos", id, count(-2));
  await two.update("Notes", note, () => ({ text: "two's" }));
  await one.syncNow();
  browsers[1].goOnline();
  await two.syncNow();
  await one.syncNow();
  await until(one, () => one.record("Todos", id).fields.done);
  await until(one, () => one.records("Notes").length === 2);
  await until(two, () => two.records("Notes").length === 2);
  for (const lockstep of [one, two]) {
    const { minutes, ...rest } = lockstep.record("Todos", id).fields;
    assert.deepEqual(rest, { title: "tea", done: true, tags: ["b"] });
    assert.equal(counterValue(minutes), 3);
    assert.deepEqual(lockstep.records("Notes", "Note").map((it) => it.fields.text).sort(),
      ["one's", "two's"]);
  }
});

test("a tab that does not lead has live items too, and its updates are stamped like the leader's",
  within, async (context) => {
    const browser = new Browser();
    const leader = await opened(context, browser);
    await leader.createAccount(device);
    const tab = await opened(context, browser);
    const live = tab.live("Todos", "Todo");
    const id = await leader.save("Todos", "Todo", { title: "milk", n: 1 });
    assert.deepEqual(await snapshot(live, (items) => items.length === 1),
      [{ id, title: "milk", n: 1 }]);
    await Promise.all([1, 2, 3, 4].map((by) => [leader, tab][by % 2]
      .update("Todos", id, (todo) => ({ ...todo, n: todo.n + by }))));
    await snapshot(live, ([todo]) => todo.n === 11);
    await leader.syncNow();
    // The leader's answer follows the tags, which alone are no change that a tab reports.
    await tab.syncNow();
    await until(tab, ({ status }) => status.waiting === 0);
    assert.equal(tab.record("Todos", id).tag, leader.record("Todos", id).tag);
    assert.deepEqual(tab.record("Todos", id).fields, { title: "milk", n: 11 });
  });

test("changes come once each, and a record's tag follows its acknowledgement", within,
  async (context) => {
    const { one, two } = await pair(context);
    const changes = two.changes("Todos", "Todo");
    const id = await one.save("Todos", "Todo", { title: "milk" });
    assert.deepEqual((await changes.next()).value,
      { kind: "saved", id, item: { id, title: "milk" } });
    await one.syncNow();
    assert.ok(one.record("Todos", id).tag > 0);
    assert.equal(one.record("Todos", id).tag, two.record("Todos", id).tag);
    await one.save("Notes", "Note", { text: "x" });
    await one.delete("Todos", id);
    assert.deepEqual((await changes.next()).value, { kind: "deleted", id });
  });

test("edits that cannot be made say why, and change nothing", within, async (context) => {
  const one = await opened(context);
  await assert.rejects(one.update("Todos", "none", (it) => it), { code: "nothingToUpdate" });
  await assert.rejects(one.delete("Todos", "none"), { code: "nothingToDelete" });
  const id = await one.save("Todos", "Todo", { title: "a" });
  await assert.rejects(one.update("Todos", id, async (it) => it), { code: "badEdit" });
  await assert.rejects(one.update("Todos", id, () => {}), { code: "badEdit" });
  await assert.rejects(one.save("Todos", "Todo", { title: new Date(0) }), { code: "badEdit" });
  assert.deepEqual(one.record("Todos", id).fields, { title: "a" });
  await assert.rejects(Lockstep.open({ relay: relay.url, rules: { zone: "Z", types: {
    T: { fields: { a: "greatst" } } } } }), RuleFault);
  await assert.rejects(Lockstep.open({ relay: relay.url, rules: [todos, todos] }), RuleFault);
});

test("a value of another kind than its rule's is refused with the next step, unless it was there",
  within, async (context) => {
    const { one, two } = await pair(context);
    await assert.rejects(one.save("Todos", "Todo", { tags: "home" }), { name: "EditError",
      code: "wrongKind", message: 'the field "tags" of Todo must be an array of scalars, as its '
        + 'rule "set" requires; give it such a value, or leave it out' });
    const id = await one.save("Todos", "Todo", { title: "a", done: false });
    await assert.rejects(one.update("Todos", id, (todo) => ({ ...todo, minutes: 5 })),
      { code: "wrongKind", message: /counterAdded/u });
    await assert.rejects(one.save("Notes", "Note", { text: 1 }), { code: "wrongKind" });
    assert.deepEqual(one.record("Todos", id).fields, { title: "a", done: false });
    assert.equal(one.records("Notes").length, 0);
    // A type without a table takes everything.
    const other = await one.save("Todos", "Other", { tags: "home" });
    // A device with another table, or curl, may have written such a value.
    await two.change(() => [{ zone: "Todos", name: other, type: "Todo", fields: { a: 1 } }]);
    const old = await opened(context, new Browser(), { rules: [] });
    await old.join((await one.issueCode()).code, device);
    const odd = await old.save("Todos", "Todo", { done: "yes", n: 1 });
    await until(one, () => one.record("Todos", odd) !== null);
    await one.update("Todos", odd, (todo) => ({ ...todo, n: 2 }));
    assert.equal(one.record("Todos", odd).fields.n, 2);
  });

test("what was edited before the join survives a reload, and is the device's own after it", within,
  async (context) => {
    const [browser, other] = [new Browser(), new Browser()];
    const first = await opened(context, browser);
    assert.equal(first.status.state, "needsPairing");
    const id = await first.save("Todos", "Todo", { title: "milk", tags: ["a"] });
    const gone = await first.save("Todos", "Todo", { title: "gone" });
    await first.delete("Todos", gone);
    const count = (todo, context) => ({ ...todo, tags: ["b"],
      minutes: counterAdded(todo.minutes, context.device, 3) });
    await first.update("Todos", id, count);
    assert.equal(first.status.waiting, 1);
    await first.close();

    const one = await opened(context, browser);
    assert.deepEqual([one.status.state, one.status.waiting], ["needsPairing", 1]);
    // Another tab of the same browser edits it too.
    const tab = await opened(context, browser);
    await tab.update("Todos", id, count);
    assert.equal(counterValue(tab.record("Todos", id).fields.minutes), 6);
    const two = await opened(context, other);
    await two.save("Todos", "Todo", { title: "tea" }, { id: "tea" });
    await two.createAccount(device);
    await one.join((await two.issueCode()).code, device);
    await until(tab, () => tab.record("Todos", id).device === one.status.deviceID);
    await one.update("Todos", id, count);
    for (const lockstep of [one, two, tab]) {
      await until(lockstep, () => lockstep.records("Todos").length === 2);
      await until(lockstep, ({ status }) => status.waiting === 0 && status.state === "inSync");
      const { fields } = lockstep.record("Todos", id);
      assert.deepEqual(fields, { title: "milk", tags: ["b"],
        minutes: { [one.status.deviceID]: [9, 0] } });
    }
    assert.equal(one.record("Todos", id).device, one.status.deviceID);
  });

test("who leaves before the join is asked first, and leaves nothing", within, async (context) => {
  const browser = new Browser();
  const one = await opened(context, browser);
  await one.save("Todos", "Todo", { title: "milk" });
  await assert.rejects(one.signOut(), { code: "unsent" });
  await one.signOut({ discardUnsent: true });
  assert.deepEqual(one.records(), []);
  assert.equal(one.status.waiting, 0);
});

test("open resolves with the status of the store, also in a tab that does not lead", within,
  async (context) => {
    const own = await RelayProcess.start();
    context.after(() => own.remove());
    const browser = new Browser();
    const open = async () => {
      const lockstep = await browser.open(own, { apps: [], rules: [todos] });
      context.after(() => lockstep.close());
      return lockstep;
    };
    const one = await open();
    assert.equal(one.status.state, "needsPairing");
    await one.createAccount(device);
    const { deviceID } = one.status;
    await own.stop("SIGKILL");
    await until(one, inState("offline"));
    await one.save("Todos", "Todo", { title: "milk" });
    const { status } = await open();
    assert.deepEqual([status.state, status.waiting, status.deviceID], ["syncing", 1, deviceID]);
  });

test("close ends every sequence", within, async (context) => {
  const one = await opened(context);
  const sequences = [one.live("Todos", "Todo"), one.changes("Todos", "Todo"), one.statusUpdates];
  await sequences[0].next();
  await sequences[2].next();
  const ends = sequences.map(async (sequence) => {
    for (;;) if ((await sequence.next()).done) return true;
  });
  await one.close();
  assert.deepEqual(await Promise.all(ends), [true, true, true]);
  assert.equal((await one.live("Todos", "Todo").next()).done, true);
  await one.close();
});

test("a fault in the app's own function ends its sequence, and no other", within,
  async (context) => {
    const one = await opened(context);
    await one.createAccount(device);
    const broken = one.live("Todos", "Todo", { where: (todo) => todo.tags.length > 0 });
    const sound = one.live("Todos", "Todo");
    await broken.next();
    await one.save("Todos", "Todo", { title: "no tags" });
    await assert.rejects(broken.next(), TypeError);
    assert.equal((await snapshot(sound, (items) => items.length === 1))[0].title, "no tags");
  });

test("a script with a file is a device that lasts, also offline", within, async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-script-"));
  context.after(() => rm(folder, { recursive: true, force: true }));
  const own = await RelayProcess.start();
  context.after(() => own.remove());
  const open = async () => {
    const lockstep = await Lockstep.open({ relay: own.url, rules: todos,
      store: fileStore(join(folder, "home.json")) });
    context.after(() => lockstep.close());
    return lockstep;
  };
  const first = await open();
  assert.equal(first.status.isDurable, true);
  await first.createAccount(device);
  const id = await first.save("Todos", "Todo", { n: 1 });
  await first.syncNow();
  const { deviceID } = first.status;
  const { tag } = first.record("Todos", id);
  await first.close();
  await own.stop("SIGKILL");
  const offline = await open();
  await until(offline, inState("offline"));
  const live = offline.live("Todos", "Todo");
  assert.deepEqual((await live.next()).value, [{ id, n: 1 }]);
  await offline.update("Todos", id, ({ n }) => ({ n: n + 1 }));
  assert.deepEqual((await live.next()).value, [{ id, n: 2 }]);
  await offline.close();
  await own.start();
  const again = await open();
  const status = await again.syncNow();
  assert.deepEqual([status.state, status.waiting, status.deviceID], ["inSync", 0, deviceID]);
  assert.ok(again.record("Todos", id).tag > tag);
});

test("a store in memory is another device each time", within, async (context) => {
  const open = async () => {
    const lockstep = await Lockstep.open({ relay: relay.url, rules: todos,
      store: memoryStore() });
    context.after(() => lockstep.close());
    return lockstep;
  };
  const [one, two] = [await open(), await open()];
  await one.createAccount(device);
  await until(two, inState("needsPairing"));
  assert.equal(one.status.isDurable, false);
});
