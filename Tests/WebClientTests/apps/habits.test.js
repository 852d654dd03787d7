import assert from "node:assert/strict";
import test from "node:test";
import { habitConflicts, habitWeek } from "../../../Sources/WebClient/apps/habits/habitWeek.js";
import { habitsApp } from "../../../Sources/WebClient/apps/habits/habitsApp.js";
import { numberOf, serialize } from "../../../Sources/WebClient/changes/json.js";
import { Table } from "../support/table.js";

const today = "2026-03-01";
const theirs = "000000000000000b";

/** Returns a table with a habit to check and one to count. */
function started() {
  const table = new Table(habitsApp);
  const add = (fields) => table.act({ do: "add", ...fields }).changes[0].name;
  const run = add({ title: "Run", kind: "checkbox", target: 1 });
  const water = add({ title: "Water", kind: "count", target: 8 });
  return { table, run, water };
}

const weekOf = (table, name, day = today) =>
  habitWeek(table.state, day).find((habit) => habit.name === name);

test("a week shows what was done, by title", () => {
  const { table, run, water } = started();
  table.act({ do: "check", habit: run, day: today, done: true });
  table.act({ do: "count", habit: water, day: today, by: 3 });
  table.act({ do: "count", habit: water, day: "2026-02-27", by: 8 });
  const week = habitWeek(table.state, today);
  assert.deepEqual(week.map((habit) => habit.title), ["Run", "Water"]);
  assert.deepEqual(week[1].days.map(({ day, done, total }) => [day, done, total]), [
    ["2026-02-23", false, 0], ["2026-02-24", false, 0], ["2026-02-25", false, 0],
    ["2026-02-26", false, 0], ["2026-02-27", true, 8], ["2026-02-28", false, 0],
    ["2026-03-01", false, 3],
  ]);
  assert.deepEqual(week[0].days.at(-1), { day: today, done: true, total: 0 });
});

test("each device counts for itself, and what is taken back as well", () => {
  const { table, run, water } = started();
  table.act({ do: "count", habit: water, day: today, by: 2 });
  table.act({ do: "count", habit: water, day: today, by: 3 });
  table.act({ do: "count", habit: water, day: today, by: -1 });
  table.act({ do: "count", habit: water, day: today, by: -1 });
  assert.deepEqual(table.fields(`${water}/${today}`), {
    habit: water, day: today, done: false, counts: { [table.state.device]: 5 },
    undone: { [table.state.device]: 2 },
  });
  assert.equal(
    table.refusal({ do: "count", habit: water, day: today, by: -4 }),
    "only 3 can be taken back on 2026-03-01");
  table.act({ do: "check", habit: run, day: today, done: true });
  table.act({ do: "check", habit: run, day: today, done: false });
  assert.deepEqual(table.fields(`${run}/${today}`), {
    habit: run, day: today, done: false, counts: {},
  });
});

test("the target is reached by all devices together", () => {
  const { table, water } = started();
  const name = `${water}/${today}`;
  table.take(
    name, "CheckIn", { habit: water, day: today, done: false, counts: { [theirs]: 7 } }, 1);
  table.act({ do: "count", habit: water, day: today, by: 1 });
  assert.equal(table.fields(name).done, true);
  assert.deepEqual(weekOf(table, water).days.at(-1), { day: today, done: true, total: 8 });
});

test("a streak is the days in a row on which the aim was reached", () => {
  const { table, run } = started();
  const check = (day, done = true) => table.act({ do: "check", habit: run, day, done });
  const streak = () => weekOf(table, run).streak;
  assert.equal(streak(), 0);
  check("2026-02-28");
  // Today is not over, so it does not break the streak.
  assert.equal(streak(), 1);
  check(today);
  assert.equal(streak(), 2);
  check("2026-02-26");
  assert.equal(streak(), 2);
  check("2026-02-27");
  assert.equal(streak(), 4);
  check("2026-02-28", false);
  assert.equal(streak(), 1);
  assert.equal(weekOf(table, run, "2026-03-03").streak, 0);
});

test("a habit is changed and removed; its days stay, and are there when it comes back", () => {
  const { table, water } = started();
  table.act({ do: "count", habit: water, day: today, by: 3 });
  table.take(water, "Habit", { ...table.fields(water), colour: "blue" }, table.now - 500);
  table.act({ do: "edit", habit: water, title: "Tea", target: 2 });
  assert.deepEqual(table.fields(water), {
    title: "Tea", kind: "count", target: 2, colour: "blue",
  });
  const { done, total } = weekOf(table, water).days.at(-1);
  assert.deepEqual([done, total], [true, 3]);
  const kept = table.fields(water);
  table.act({ do: "remove", habit: water });
  assert.equal(weekOf(table, water), undefined);
  table.take(water, "Habit", kept, table.now);
  assert.equal(weekOf(table, water).days.at(-1).total, 3);
});

test("a conflict shows both versions with the time of each, and the person decides", () => {
  const { table, run } = started();
  assert.deepEqual(habitConflicts(table.state), []);
  const cloud = {
    zone: "Habits", name: run, type: "Habit", modifiedAt: 5, device: theirs,
    fields: { title: "Swim", kind: "count", target: 2 },
  };
  table.state.asking = [cloud];
  table.state.deviceNames = { [theirs]: "laptop", [table.state.device]: "page" };
  const { modifiedAt, device } = table.record(run);
  assert.deepEqual(habitConflicts(table.state), [{
    name: run,
    local: {
      deleted: false, name: run, title: "Run", kind: "checkbox", target: 1, modifiedAt, device,
      deviceName: "page",
    },
    cloud: {
      deleted: false, name: run, title: "Swim", kind: "count", target: 2, modifiedAt: 5,
      device: theirs, deviceName: "laptop",
    },
  }]);
  assert.deepEqual(table.act({ do: "keep", habit: run, version: "cloud" }), {
    changes: [], decisions: [{ zone: "Habits", name: run, keepLocal: false }],
  });
  const { decisions: [ours] } = table.act({ do: "keep", habit: run, version: "local" });
  assert.equal(ours.keepLocal, true);
  assert.ok(table.refusal({ do: "keep", habit: run, version: "both" }));
  assert.ok(table.refusal({ do: "keep", habit: "other", version: "local" }));
  // Either side may have deleted it.
  table.state.asking = [{ ...cloud, fields: null }];
  table.act({ do: "remove", habit: run });
  const [{ local, cloud: gone }] = habitConflicts(table.state);
  assert.deepEqual(local, { deleted: true });
  assert.deepEqual(gone, {
    deleted: true, modifiedAt: 5, device: theirs, deviceName: "laptop",
  });
});

test("a habit with a long name has room for its days", () => {
  const table = new Table(habitsApp);
  const name = "电".repeat(85);
  table.take(name, "Habit", { title: "Long", kind: "checkbox", target: 1 }, 1);
  const { changes: [day] } = table.act({ do: "check", habit: name, day: today, done: true });
  assert.ok(Buffer.byteLength(day.name) <= 255 && day.name.endsWith(`/${today}`));
  assert.equal(day.fields.habit, name);
  assert.equal(weekOf(table, name).days.at(-1).done, true);
});

test("what makes no sense is refused in a sentence", () => {
  const { table, run, water } = started();
  const add = { do: "add", title: "a", kind: "count", target: 1 };
  const count = { do: "count", habit: water, day: today, by: 1 };
  const check = { do: "check", habit: run, day: today, done: true };
  for (const action of [
    { ...add, title: "" }, { ...add, title: " \n" }, { ...add, title: "😀".repeat(201) },
    { ...add, title: 5 }, { ...add, kind: "often" }, { ...add, target: 0 },
    { ...add, target: 1_000_001 }, { ...add, target: 1.5 }, { ...add, target: NaN },
    { ...add, target: undefined }, { do: "edit", habit: run }, { do: "edit", habit: "other" },
    { do: "edit", habit: run, target: "two" }, { do: "remove", habit: "other" }, { do: "dance" },
    { ...check, day: "2026-02-30" }, { ...check, day: "today" }, { ...check, done: undefined },
    { ...check, habit: water }, { ...count, habit: run }, { ...count, by: 0 },
    { ...count, by: 1_000_001 }, { ...count, by: -1 }, { ...count, by: "1" }, {}, null,
  ]) {
    assert.ok(table.refusal(action), serialize(action === null ? null : String(action.do)));
  }
  assert.equal(table.refusal({ ...add, title: "😀".repeat(200) }), undefined);
  assert.equal(table.refusal({ ...count, by: 1_000_000 }), undefined);
  assert.throws(() => habitWeek(table.state, "today"), { name: "EditRefusal" });
});

test("what another program wrote oddly is shown as far as it goes, and nothing overflows", () => {
  const { table, water } = started();
  const name = `${water}/${today}`;
  const many = numberOf("9e300");
  table.take(
    name, "CheckIn", { counts: { a: many, b: many, c: "x" }, undone: [1], done: "yes" }, 1);
  table.take("odd", "Habit", { title: 5, kind: "later", target: -3 }, 1);
  assert.equal(habitWeek(table.state, today).length, 3);
  assert.deepEqual(weekOf(table, water).days.at(-1), { day: today, done: true, total: 2 ** 60 });
  assert.deepEqual(
    [weekOf(table, "odd").title, weekOf(table, "odd").kind, weekOf(table, "odd").target],
    ["", "checkbox", 1]);
  // A device named like a property of JavaScript counts like any other.
  table.state.device = "__proto__";
  table.act({ do: "count", habit: water, day: today, by: 2 });
  assert.match(serialize(table.fields(name)), /"__proto__":2/);
  assert.equal({}.counts, undefined);
});
