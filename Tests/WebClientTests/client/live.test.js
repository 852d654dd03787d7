import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, itemOf } from "../../../Sources/WebClient/client/live/item.js";
import { Each, Latest } from "../../../Sources/WebClient/client/live/latest.js";
import { LiveList } from "../../../Sources/WebClient/client/live/liveList.js";
import { SteadyStatus } from "../../../Sources/WebClient/client/live/steadyStatus.js";
import { parse } from "../../../Sources/WebClient/json/jsonParser.js";
import { SeededRandom } from "../support/seededRandom.js";
import { FakeEnvironment } from "./support/fakeEnvironment.js";

const record = (name, fields) => ({ zone: "Z", name, type: "T", fields, modifiedAt: 1 });

/** Returns an iterator over a number, and what it does at its end. */
function counting() {
  const state = { value: 0, ends: 0 };
  const latest = new Latest({ read: () => state.value, end: () => { state.ends += 1; } });
  const set = (value) => {
    state.value = value;
    latest.changed();
  };
  return { state, latest, set };
}

test("a reader gets the state at first, and then the latest of several changes", async () => {
  const { latest, set } = counting();
  assert.deepEqual(await latest.next(), { done: false, value: 0 });
  const waiting = latest.next();
  set(1);
  set(2);
  assert.equal((await waiting).value, 2, "one turn is one change");
  set(3);
  set(4);
  assert.equal((await latest.next()).value, 4, "what nobody read is skipped");
});

test("the end of a sequence reaches all who wait, once, and frees what it held", async () => {
  const { state, latest, set } = counting();
  await latest.next();
  const steps = [latest.next(), latest.next()];
  latest.close();
  latest.close();
  for (const step of steps) assert.deepEqual(await step, { done: true, value: undefined });
  set(9);
  assert.equal((await latest.next()).done, true);
  assert.equal(state.ends, 1);
  const other = counting();
  for await (const value of other.latest) {
    assert.equal(value, 0);
    break;
  }
  assert.equal(other.state.ends, 1, "a loop that is left ends it");
});

test("a fault of the app's own function ends its sequence and no other", async () => {
  const { latest } = counting();
  await latest.next();
  const step = latest.next();
  latest.close(new TypeError("where is not a function"));
  await assert.rejects(step, TypeError);
  assert.equal((await latest.next()).done, true);
});

test("the elements of several lists come one by one, in order", async () => {
  let list = ["a", "b"];
  const lists = new Latest({ read: () => list, end: () => {} });
  const each = new Each(lists);
  const steps = [each.next(), each.next(), each.next()];
  assert.equal((await steps[0]).value, "a");
  assert.equal((await steps[1]).value, "b");
  list = ["c"];
  lists.changed();
  assert.equal((await steps[2]).value, "c");
  await each.return();
  assert.equal((await each.next()).done, true);
});

test("an item is a record's fields and its id, and cannot be changed in place", () => {
  const held = record("r", { title: "milk", tags: ["a"], id: "another program's" });
  const item = itemOf(held);
  assert.deepEqual(item, { title: "milk", tags: ["a"], id: "r" });
  assert.equal(itemOf(held), item);
  assert.throws(() => item.tags.push("b"), TypeError);
  assert.deepEqual(fieldsOf({ ...item, title: undefined, inner: { x: undefined } }, held),
    { tags: ["a"], id: "another program's", inner: {} });
  assert.deepEqual(fieldsOf({ title: "tea", id: "r" }, null), { title: "tea" });
  assert.deepEqual(Object.keys(fieldsOf(parse('{"__proto__": 1}'), null)), ["__proto__"]);
});

test("a live list is what filtering and sorting all would give, after any changes", () => {
  const random = new SeededRandom(5);
  const where = (item) => item.done !== true;
  const options = [{}, { where }, { where, sortBy: "order" }, {
    sortBy: (left, right) => (right.order ?? 0) - (left.order ?? 0) }];
  for (const option of options) {
    const records = new Map();
    const list = new LiveList(option);
    list.fill([]);
    for (let step = 0; step < 2_000; step += 1) {
      const name = `r${random.below(60)}`;
      const isGone = random.below(5) === 0;
      const values = [undefined, 1, 2.5, "a", "é", true, null, [1]];
      const fields = { done: random.bool(), order: option.sortBy === "order"
        ? random.pick(values) : random.below(9) };
      const next = record(name, isGone ? null : fields);
      if (isGone) records.delete(name);
      else records.set(name, next);
      list.apply(next);
      if (step % 97 !== 0) continue;
      const fresh = new LiveList(option);
      fresh.fill([...records.values()]);
      assert.deepEqual(list.snapshot, fresh.snapshot);
    }
  }
});

test("one change of many records compares a few, and gives the others as they were", () => {
  let compared = 0;
  const list = new LiveList({ sortBy: (left, right) => {
    compared += 1;
    return left.order - right.order;
  } });
  const many = Array.from({ length: 10_000 }, (_, order) => record(`r${order}`, { order }));
  list.fill(many);
  const before = list.snapshot;
  compared = 0;
  assert.equal(list.apply(record("r5000", { order: -1 })), true);
  assert.ok(compared < 40, `${compared} comparisons`);
  const after = list.snapshot;
  assert.equal(after[0].id, "r5000");
  assert.equal(after[1], before[0]);
  assert.equal(after.length, 10_000);
  assert.equal(list.apply(record("other", null)), false);
});

test("a status without flicker says in sync once it has lasted, and all else at once", async () => {
  const environment = new FakeEnvironment();
  const shown = [];
  const steady = new SteadyStatus(environment, { state: "syncing" },
    () => shown.push(steady.status.state));
  const update = (state) => steady.update({ state });
  update("syncing");
  update("inSync");
  await environment.advance(200);
  update("syncing");
  update("inSync");
  await environment.advance(299);
  assert.deepEqual(shown, ["syncing", "syncing"]);
  await environment.advance(1);
  assert.deepEqual(shown, ["syncing", "syncing", "inSync"]);
  update("syncing");
  assert.equal(steady.status.state, "syncing", "it never says in sync when it is not");
});
