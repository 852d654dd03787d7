import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { habitConflicts, habitFigures, habitWeek }
  from "../../../Sources/WebClient/apps/habits/habitWeek.js";
import { habitsApp } from "../../../Sources/WebClient/apps/habits/habitsApp.js";
import { parse } from "../../../Sources/WebClient/json/jsonParser.js";
import { numberOf, serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { ruleResolver } from "../../../Sources/WebClient/model/ruleResolver.js";
import { TestPage } from "../support/testPage.js";

const today = "2026-03-01";
const theirs = "000000000000000b";

/** Returns a page with a habit to check and one to count. */
function started() {
  const page = new TestPage(habitsApp);
  const add = (fields) => page.act({ do: "add", ...fields }).changes[0].name;
  const run = add({ title: "Run", kind: "checkbox", target: 1 });
  const water = add({ title: "Water", kind: "count", target: 8 });
  return { page, run, water };
}

const weekOf = (page, name, day = today) =>
  habitWeek(page.state, day).find((habit) => habit.name === name);

test("a week shows what was done, by title", () => {
  const { page, run, water } = started();
  page.act({ do: "check", habit: run, day: today, done: true });
  page.act({ do: "count", habit: water, day: today, by: 3 });
  page.act({ do: "count", habit: water, day: "2026-02-27", by: 8 });
  const week = habitWeek(page.state, today);
  assert.deepEqual(week.map((habit) => habit.title), ["Run", "Water"]);
  assert.deepEqual(week[1].days.map(({ day, done, total }) => [day, done, total]), [
    ["2026-02-23", false, 0], ["2026-02-24", false, 0], ["2026-02-25", false, 0],
    ["2026-02-26", false, 0], ["2026-02-27", true, 8], ["2026-02-28", false, 0],
    ["2026-03-01", false, 3],
  ]);
  assert.deepEqual(week[0].days.at(-1), { day: today, done: true, total: 0 });
});

test("each device counts for itself, and what is taken back as well", () => {
  const { page, run, water } = started();
  page.act({ do: "count", habit: water, day: today, by: 2 });
  page.act({ do: "count", habit: water, day: today, by: 3 });
  page.act({ do: "count", habit: water, day: today, by: -1 });
  page.act({ do: "count", habit: water, day: today, by: -1 });
  assert.deepEqual(page.fields(`${water}/${today}`), {
    habit: water, day: today, done: false, counts: { [page.state.device]: 5 },
    undone: { [page.state.device]: 2 },
  });
  assert.equal(
    page.refusal({ do: "count", habit: water, day: today, by: -4 }),
    "only 3 can be taken back on 2026-03-01");
  page.act({ do: "check", habit: run, day: today, done: true });
  page.act({ do: "check", habit: run, day: today, done: false });
  assert.deepEqual(page.fields(`${run}/${today}`), {
    habit: run, day: today, done: false, counts: {},
  });
});

test("the target is reached by all devices together", () => {
  const { page, water } = started();
  const name = `${water}/${today}`;
  page.addRemote(
    name, "CheckIn", { habit: water, day: today, done: false, counts: { [theirs]: 7 } }, 1);
  page.act({ do: "count", habit: water, day: today, by: 1 });
  assert.equal(page.fields(name).done, true);
  assert.deepEqual(weekOf(page, water).days.at(-1), { day: today, done: true, total: 8 });
});

test("a streak is the days in a row on which the aim was reached", () => {
  const { page, run } = started();
  const check = (day, done = true) => page.act({ do: "check", habit: run, day, done });
  const streak = () => weekOf(page, run).streak;
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
  assert.equal(weekOf(page, run, "2026-03-03").streak, 0);
});

test("the figures are those of the program, for the same records", () => {
  const file = new URL("../../AppsTests/Vectors/Figures/HabitStatistics.jsonl", import.meta.url);
  const vectors = readFileSync(file, "utf8").trim().split("\n").map(parse);
  assert.equal(vectors.length, 24);
  vectors.forEach(({ today: day, records, expect }, index) => {
    const page = new TestPage(habitsApp);
    for (const { name, type, fields } of records) page.addRemote(name, type, fields, 1);
    assert.deepEqual(habitFigures(page.state, day), expect, `line ${index + 1}`);
  });
});

test("a person arranges habits: a new one comes last, and what is archived is away", () => {
  const { page, run, water } = started();
  const titles = () => habitWeek(page.state, today).map(({ title }) => title);
  const add = (title) =>
    page.act({ do: "add", title, kind: "checkbox", target: 1 }).changes[0].name;
  const read = add("Read");
  assert.deepEqual(titles(), ["Read", "Run", "Water"]);
  page.act({ do: "move", habit: water, place: 1 });
  assert.deepEqual(titles(), ["Water", "Read", "Run"]);
  // There was no order before, so that all have got a place; from now on one is enough.
  page.act({ do: "move", habit: run, place: 2 });
  assert.deepEqual(titles(), ["Water", "Run", "Read"]);
  add("Draw");
  assert.deepEqual(titles(), ["Water", "Run", "Read", "Draw"]);
  page.act({ do: "move", habit: water, place: 99 });
  assert.deepEqual(titles(), ["Run", "Read", "Draw", "Water"]);
  page.act({ do: "archive", habit: read, archived: true });
  page.act({ do: "archive", habit: read, archived: true });
  assert.deepEqual(titles(), ["Run", "Draw", "Water"]);
  assert.deepEqual(page.fields("list").archived, [read]);
  assert.match(page.refusal({ do: "move", habit: read, place: 1 }), /is archived/);
  // Its days can still be changed, from the view of what is archived.
  assert.equal(page.refusal({ do: "check", habit: read, day: today, done: true }), undefined);
  page.act({ do: "archive", habit: read, archived: false });
  assert.deepEqual(titles(), ["Run", "Read", "Draw", "Water"]);
  for (const place of [0, -1, 1.5, "1", undefined]) {
    assert.ok(page.refusal({ do: "move", habit: run, place }), String(place));
  }
});

test("moves to one spot again and again never run out of room", () => {
  const { page, run, water } = started();
  const names = () => habitWeek(page.state, today).map(({ name }) => name);
  const third = page.act({ do: "add", title: "Zzz", kind: "checkbox", target: 1 }).changes[0].name;
  let order = [run, water, third];
  for (let round = 0; round < 60; round += 1) {
    const [last] = order.slice(-1);
    order = [order[0], last, ...order.slice(1, -1)];
    page.act({ do: "move", habit: last, place: 2 });
    assert.deepEqual(names(), order, `round ${round}`);
  }
});

test("two devices arrange at once: both moves count, and no habit is asked about", () => {
  const { page, run, water } = started();
  const third = page.act({ do: "add", title: "Zzz", kind: "checkbox", target: 1 }).changes[0].name;
  page.act({ do: "move", habit: run, place: 1 });
  const version = () => ({ ...page.record("list"), deleted: false });
  const base = version();
  const before = page.state;
  page.act({ do: "move", habit: third, place: 1 });
  const local = version();
  page.state = { ...before, device: theirs };
  page.act({ do: "move", habit: run, place: 3 });
  page.act({ do: "archive", habit: water, archived: true });
  const server = version();
  const { rules } = habitsApp;
  const stamped = (after) => ({ ...after, fields: rules.HabitList.completed(after, base) });
  const { merged } = ruleResolver(rules.HabitList).resolve(
    { base, local: stamped(local), server: stamped(server) });
  page.addRemote("list", "HabitList", merged, page.now);
  assert.deepEqual(habitWeek(page.state, today).map(({ name }) => name), [third, run]);
  assert.deepEqual(habitWeek(page.state, today).length, 2);
});

test("a habit that was removed by mistake comes back whole, with its days and its place", () => {
  const { page, run, water } = started();
  page.act({ do: "move", habit: water, place: 1 });
  page.act({ do: "check", habit: run, day: today, done: true });
  page.addRemote(water, "Habit", { ...page.fields(water), colour: "blue" }, page.now - 500);
  const fields = page.fields(water);
  page.act({ do: "remove", habit: water });
  page.act({ do: "restore", habit: water, fields });
  assert.deepEqual(page.fields(water), fields);
  assert.deepEqual(habitWeek(page.state, today).map(({ name }) => name), [water, run]);
  // Meanwhile another device may have made it again: that version stays.
  page.addRemote(water, "Habit", { ...fields, title: "Tea" }, page.now);
  page.act({ do: "restore", habit: water, fields });
  assert.equal(page.fields(water).title, "Tea");
  for (const odd of [undefined, null, {}, { ...fields, title: " " }]) {
    assert.ok(page.refusal({ do: "restore", habit: water, fields: odd }));
  }
});

test("a habit is changed and removed; its days stay, and are there when it comes back", () => {
  const { page, water } = started();
  page.act({ do: "count", habit: water, day: today, by: 3 });
  page.addRemote(water, "Habit", { ...page.fields(water), colour: "blue" }, page.now - 500);
  page.act({ do: "edit", habit: water, title: "Tea", target: 2 });
  assert.deepEqual(page.fields(water), {
    title: "Tea", kind: "count", target: 2, colour: "blue",
  });
  const { done, total } = weekOf(page, water).days.at(-1);
  assert.deepEqual([done, total], [true, 3]);
  const kept = page.fields(water);
  page.act({ do: "remove", habit: water });
  assert.equal(weekOf(page, water), undefined);
  page.addRemote(water, "Habit", kept, page.now);
  assert.equal(weekOf(page, water).days.at(-1).total, 3);
});

test("a conflict shows both versions with the time of each, and the person decides", () => {
  const { page, run } = started();
  assert.deepEqual(habitConflicts(page.state), []);
  const cloud = {
    zone: "Habits", name: run, type: "Habit", modifiedAt: 5, device: theirs,
    fields: { title: "Swim", kind: "count", target: 2 },
  };
  page.state.asking = [cloud];
  page.state.deviceNames = { [theirs]: "laptop", [page.state.device]: "page" };
  const { modifiedAt, device } = page.record(run);
  assert.deepEqual(habitConflicts(page.state), [{
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
  assert.deepEqual(page.act({ do: "keep", habit: run, version: "cloud" }), {
    changes: [], decisions: [{ zone: "Habits", name: run, keepLocal: false }],
  });
  const { decisions: [ours] } = page.act({ do: "keep", habit: run, version: "local" });
  assert.equal(ours.keepLocal, true);
  assert.ok(page.refusal({ do: "keep", habit: run, version: "both" }));
  assert.ok(page.refusal({ do: "keep", habit: "other", version: "local" }));
  // Either side may have deleted it.
  page.state.asking = [{ ...cloud, fields: null }];
  page.act({ do: "remove", habit: run });
  const [{ local, cloud: gone }] = habitConflicts(page.state);
  assert.deepEqual(local, { deleted: true });
  assert.deepEqual(gone, {
    deleted: true, modifiedAt: 5, device: theirs, deviceName: "laptop",
  });
});

test("a habit with a long name has room for its days", () => {
  const page = new TestPage(habitsApp);
  const name = "电".repeat(85);
  page.addRemote(name, "Habit", { title: "Long", kind: "checkbox", target: 1 }, 1);
  const { changes: [day] } = page.act({ do: "check", habit: name, day: today, done: true });
  assert.ok(Buffer.byteLength(day.name) <= 255 && day.name.endsWith(`/${today}`));
  assert.equal(day.fields.habit, name);
  assert.equal(weekOf(page, name).days.at(-1).done, true);
});

test("what makes no sense is refused in a sentence", () => {
  const { page, run, water } = started();
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
    assert.ok(page.refusal(action), serialize(action === null ? null : String(action.do)));
  }
  assert.equal(page.refusal({ ...add, title: "😀".repeat(200) }), undefined);
  assert.equal(page.refusal({ ...count, by: 1_000_000 }), undefined);
  assert.throws(() => habitWeek(page.state, "today"), { name: "EditRefusal" });
});

test("what another program wrote oddly is shown as far as it goes, and nothing overflows", () => {
  const { page, water } = started();
  const name = `${water}/${today}`;
  const many = numberOf("9e300");
  page.addRemote(
    name, "CheckIn", { counts: { a: many, b: many, c: "x" }, undone: [1], done: "yes" }, 1);
  page.addRemote("odd", "Habit", { title: 5, kind: "later", target: -3 }, 1);
  assert.equal(habitWeek(page.state, today).length, 3);
  assert.deepEqual(weekOf(page, water).days.at(-1), { day: today, done: true, total: 2 ** 60 });
  assert.deepEqual(
    [weekOf(page, "odd").title, weekOf(page, "odd").kind, weekOf(page, "odd").target],
    ["", "checkbox", 1]);
  // A device named like a property of JavaScript counts like any other.
  page.state.device = "__proto__";
  page.act({ do: "count", habit: water, day: today, by: 2 });
  assert.match(serialize(page.fields(name)), /"__proto__":2/);
  assert.equal({}.counts, undefined);
});
