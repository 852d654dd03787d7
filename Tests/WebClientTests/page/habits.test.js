import assert from "node:assert/strict";
import test from "node:test";
import { HabitContents } from "../../../Sources/WebClient/apps/habits/habitContents.js";
import { habitsApp } from "../../../Sources/WebClient/apps/habits/habitsApp.js";
import { dayOf } from "../../../Sources/WebClient/apps/universalTime.js";
import {
  dateAfter, dateInMonth, figureTexts, firstMonth, habitMonth, habitYear, monthAfter,
} from "../../../Sources/WebClient/page/habits/habitCalendarModel.js";
import { habitsAsCSV, habitsAsJSON } from "../../../Sources/WebClient/page/habits/habitExport.js";
import { HabitReminders } from "../../../Sources/WebClient/page/habits/habitReminders.js";
import { arrangement, habitDetail, habitRows, undoOffer }
  from "../../../Sources/WebClient/page/habits/habitsModel.js";
import { obstacleText } from "../../../Sources/WebClient/page/habits/reminderField.js";
import { systemReminderNotices }
  from "../../../Sources/WebClient/page/habits/reminderNotices.js";
import { ReminderTimes, dueReminders, reminderText }
  from "../../../Sources/WebClient/page/habits/reminderTimes.js";
import { monthName } from "../../../Sources/WebClient/page/text/time.js";
import { TestPage } from "../support/testPage.js";

const today = "2026-03-15";

function started() {
  const page = new TestPage(habitsApp);
  const add = (title, kind, target) =>
    page.act({ do: "add", title, kind, target }).changes[0].name;
  const [run, water] = [add("Run", "checkbox", 1), add("Water", "count", 8)];
  page.act({ do: "check", habit: run, day: "2026-03-01", done: true });
  page.act({ do: "count", habit: water, day: "2026-03-14", by: 8 });
  page.act({ do: "count", habit: water, day: today, by: 3 });
  const contents = () => new HabitContents(page.state);
  const entry = (name) => contents().habits.find((it) => it.name === name);
  return { page, run, water, contents, entry };
}

/** Storage of a browser, as far as the page uses it. */
class TestStorage {
  items = new Map();
  getItem(key) { return this.items.get(key) ?? null; }
  setItem(key, value) { this.items.set(key, value); }
  removeItem(key) { this.items.delete(key); }
}

test("a month has weeks from Monday, and says each day in words", () => {
  const { water, contents, entry } = started();
  const month = habitMonth(contents(), entry(water), "2026-03", today, "2026-03-14");
  assert.deepEqual([month.name, month.sum, month.hasPrevious, month.hasNext],
    ["March 2026", "1 of 15 days", true, false]);
  // 2026-03-01 is a Sunday, and 2026-03-31 a Tuesday.
  assert.equal(month.weeks.length, 6);
  assert.ok(month.weeks.every((week) => week.length === 7));
  assert.deepEqual(month.weeks[0].map((day) => day?.number ?? null),
    [null, null, null, null, null, null, "1"]);
  const days = month.weeks.flat().filter(Boolean);
  assert.deepEqual(days.slice(12, 16).map(({ label }) => label), [
    "Friday, 13 March 2026: 0 of 8", "Saturday, 14 March 2026: 8 of 8, done",
    "Sunday, 15 March 2026: 3 of 8", "Monday, 16 March 2026: not yet",
  ]);
  assert.deepEqual(days.filter(({ isChosen }) => isChosen).map(({ date }) => date), ["2026-03-14"]);
  assert.deepEqual(days.filter(({ isToday }) => isToday).map(({ date }) => date), [today]);
  assert.equal(days.filter(({ isFuture }) => isFuture).length, 16);
});

test("a year adds its months up, and only days that have come", () => {
  const { run, contents, entry } = started();
  const year = habitYear(contents(), entry(run), "2026", today);
  assert.deepEqual([year.months.length, year.sum, year.hasPrevious, year.hasNext],
    [12, "1 of 74 days", true, false]);
  assert.deepEqual(year.months.slice(0, 4).map(({ sum }) => sum),
    ["0 of 31 days", "0 of 28 days", "1 of 15 days", ""]);
  assert.equal(habitYear(contents(), entry(run), "2024", today).sum, "0 of 366 days");
});

test("months and days are counted over the ends of years, and stop at the calendar's ends", () => {
  assert.deepEqual([monthAfter("2026-01", -1), monthAfter("2026-12", 1), monthAfter("2026-03", 0)],
    ["2025-12", "2027-01", "2026-03"]);
  assert.equal(monthName("2026-11"), "November 2026");
  assert.equal(dateAfter("2026-03-01", -1, today), "2026-02-28");
  assert.equal(dateAfter("2026-03-14", 7, today), today);
  assert.equal(dateInMonth("2025-03-31", -1, today), "2025-02-28");
  assert.equal(dateInMonth("2026-02-28", 1, today), today);
  assert.equal(firstMonth(today), "2006-03");
  assert.equal(dateAfter("2006-03-02", -7, today), "2006-03-01");
  const { run, contents, entry } = started();
  assert.equal(habitMonth(contents(), entry(run), "2006-03", today, today).hasPrevious, false);
});

test("the figures of one habit are told in words", () => {
  const { run, contents } = started();
  const detail = habitDetail(contents(), run, today);
  assert.deepEqual(figureTexts(detail.figures), [
    ["Streak", "0 days", ""], ["Longest streak", "1 day", "from 1 March 2026"],
    ["Last 30 days", "6 %", "1 of 15 days"], ["In all", "1 day", ""],
  ]);
  assert.deepEqual(detail.dayState("2026-03-01"), { done: true, total: 0 });
  assert.equal(habitDetail(contents(), "gone", today), null);
  const { page } = started();
  const { name } = page.act({ do: "add", title: "New", kind: "checkbox", target: 1 }).changes[0];
  assert.deepEqual(
    figureTexts(habitDetail(new HabitContents(page.state), name, today).figures)[2],
    ["Last 30 days", "–", "nothing done yet"]);
});

test("what is archived has its own list, and the order has numbers", () => {
  const { page, run, water, contents } = started();
  page.act({ do: "move", habit: water, place: 1 });
  const places = ({ inUse }) => inUse.map(({ key, place, count }) => [key, place, count]);
  assert.deepEqual(places(arrangement(contents())), [[water, 1, 2], [run, 2, 2]]);
  page.act({ do: "archive", habit: water, archived: true });
  assert.deepEqual(places(arrangement(contents())), [[run, 1, 1]]);
  assert.deepEqual(arrangement(contents()).archived.map(({ title }) => title), ["Water"]);
  assert.deepEqual(
    habitRows(page.state, today, today, (name) => (name === run ? "20:00" : null))
      .map(({ key, reminder }) => [key, reminder]), [[run, "reminder 20:00"]]);
});

test("each action says what it did, and what takes it back", () => {
  const { page, water, contents } = started();
  const habit = { title: "Water", target: 8, total: 3, place: 2, fields: page.fields(water) };
  const undone = (action) => {
    const offer = undoOffer(action, habit, today);
    page.act(action);
    page.act(offer.action);
    return offer.words;
  };
  const before = JSON.stringify(arrangement(contents()));
  assert.equal(undone({ do: "count", habit: water, day: today, by: 2 }), "“Water”: 5 of 8 today.");
  assert.equal(undone({ do: "move", habit: water, place: 1 }), "“Water” is number 1 now.");
  assert.equal(undone({ do: "archive", habit: water, archived: true }), "“Water” is archived.");
  assert.equal(undone({ do: "remove", habit: water }), "“Water” was deleted.");
  assert.equal(JSON.stringify(arrangement(contents())), before);
  assert.equal(habitDetail(contents(), water, today).dayState(today).total, 3);
  assert.equal(undoOffer({ do: "check", habit: water, day: "2026-03-01", done: false }, habit,
    today).words, "“Water”: not done on 1 March 2026.");
  assert.equal(undoOffer({ do: "keep" }, habit, today), null);
});

test("a reminder comes once a day, after its time, for what is in use and not done", () => {
  const { page, run, water, contents } = started();
  const due = (time, reminders) => dueReminders(reminders, contents(),
    { date: today, day: dayOf(today), time }).map(({ name }) => name);
  const both = { [run]: { time: "20:00", shown: null }, [water]: { time: "08:30", shown: null } };
  assert.deepEqual(due("08:29", both), []);
  assert.deepEqual(due("08:30", both), [water]);
  assert.deepEqual(due("23:59", both), [run, water]);
  assert.deepEqual(due("23:59", { ...both, [run]: { time: "20:00", shown: today } }), [water]);
  page.act({ do: "count", habit: water, day: today, by: 5 });
  assert.deepEqual(due("23:59", both), [run]);
  page.act({ do: "archive", habit: run, archived: true });
  assert.deepEqual(due("23:59", both), []);
  const titled = ["a", "b", "c", "d"].map((title) => ({ title }));
  assert.equal(reminderText(titled), "Not done yet today: “a”, “b”, “c”, and 1 more.");
  assert.equal(reminderText(titled.slice(0, 1)), "Not done yet today: “a”.");
});

test("times stay in the browser, belong to one account, and odd ones are ignored", () => {
  const storage = new TestStorage();
  const times = new ReminderTimes(storage);
  times.set("a", "run", "20:00");
  times.set("a", "odd", "25:00");
  assert.deepEqual(new ReminderTimes(storage).of("a"), { run: { time: "20:00", shown: null } });
  assert.deepEqual(times.of("b"), {});
  times.setShown("a", ["run", "gone"], today);
  assert.equal(times.of("a").run.shown, today);
  times.set("a", "run", null);
  assert.deepEqual(times.of("a"), {});
  for (let count = 0; count < 150; count += 1) times.set("a", `h${count}`, "08:00");
  assert.equal(Object.keys(times.of("a")).length, 100);
  times.clear();
  assert.equal(storage.items.size, 0);
  for (const odd of ["{", "null", "[]", "5", '{"account":5,"habits":{}}',
    '{"account":"a","habits":null}', '{"account":"a","habits":{"x":5,"y":{"time":"8:00"}}}']) {
    storage.setItem("lockstep habit reminders", odd);
    assert.deepEqual(times.of("a"), {}, odd);
  }
});

test("a browser that stores nothing reminds until the page is closed", () => {
  const refusing = { getItem() { throw new Error("no"); }, setItem() { throw new Error("no"); },
    removeItem() { throw new Error("no"); } };
  for (const storage of [refusing, null]) {
    const times = new ReminderTimes(storage);
    times.set("a", "run", "20:00");
    assert.equal(times.of("a").run.time, "20:00");
    times.clear();
    assert.deepEqual(times.of("a"), {});
  }
});

/** The parts of the page that reminders use, with a clock of its own. */
function reminding() {
  const { page, run } = started();
  const at = (date, time) => Date.parse(`${date}T${time}:00Z`);
  const listeners = new Set();
  const status = { accountID: "a", state: "inSync" };
  const timers = [];
  const controller = {
    now: at(today, "19:58"), minutesAhead: 0, status, state: () => page.state,
    browser: {
      setTimer: (act, milliseconds) => timers.push({ act, milliseconds }),
      clearTimer: () => { timers.length = 0; },
    },
    subscribe: (listener) => listeners.add(listener),
  };
  const storage = new TestStorage();
  const [told, shown] = [[], []];
  const notices = { obstacle: null, request: async () => {},
    show: async (words) => { shown.push(words); } };
  const reminders = new HabitReminders(controller, new ReminderTimes(storage), notices,
    (words) => told.push(words));
  const pass = () => {
    const [{ act, milliseconds }] = timers;
    controller.now += milliseconds;
    act();
  };
  const change = (next) => {
    Object.assign(status, next);
    for (const listener of listeners) listener({ kind: "status" });
  };
  return { controller, reminders, run, timers, told, shown, storage, pass, change };
}

test("the page reminds at the time, once, and again the next day", async () => {
  const { controller, reminders, run, timers, told, shown, pass } = reminding();
  assert.equal(timers.length, 0);
  await reminders.set(run, "20:00");
  pass();
  assert.deepEqual([told, timers.length], [[], 1]);
  pass();
  assert.deepEqual([told, shown],
    [["Not done yet today: “Run”."], ["Not done yet today: “Run”."]]);
  pass();
  assert.equal(told.length, 1);
  controller.now += 86_400_000;
  pass();
  assert.equal(told.length, 2);
  await reminders.set(run, null);
  assert.deepEqual([reminders.time(run), timers.length], [null, 0]);
});

test("nobody is reminded of what another device may have done, before the page knows", async () => {
  const { controller, reminders, run, told, storage, pass, change } = reminding();
  change({ state: "syncing" });
  await reminders.set(run, "19:00");
  pass();
  assert.deepEqual(told, []);
  change({ state: "inSync" });
  assert.equal(told.length, 1);
  // A browser that is removed from its account keeps what it has, and one that is signed out not.
  change({ state: "needsPairing" });
  assert.equal(storage.items.size, 1);
  change({ accountID: null });
  assert.equal(storage.items.size, 0);
  controller.now += 86_400_000;
  change({ accountID: "b", state: "inSync" });
  assert.equal(told.length, 1);
});

test("a person who says no to notifications reads at once where to change that", async () => {
  const scope = (answer) => ({ isSecureContext: true, Notification: class {
    // The browser gives the former permission until the page is opened again.
    static permission = "default";
    static async requestPermission() { return answer; }
  } });
  for (const [answer, obstacle] of
    [["denied", "blocked"], ["default", "leftOpen"], ["granted", null]]) {
    const notices = systemReminderNotices(scope(answer));
    assert.equal(notices.obstacle, null);
    await notices.request();
    assert.equal(notices.obstacle, obstacle);
    assert.equal(obstacleText(notices.obstacle) === "", obstacle === null);
  }
  assert.equal(systemReminderNotices({ isSecureContext: true }).obstacle, "unsupported");
  assert.equal(systemReminderNotices({}).obstacle, "insecure");
});

test("a file for a spreadsheet has a row a day, and computes nothing", () => {
  const { page, water } = started();
  page.act({ do: "edit", habit: water, title: '=1+1, "two"\nlines' });
  assert.equal(habitsAsCSV(page.state), [
    "habit,kind,target,archived,day,done,total",
    `"'=1+1, ""two""\nlines",count,8,false,2026-03-14,true,8`,
    `"'=1+1, ""two""\nlines",count,8,false,2026-03-15,false,3`,
    "Run,checkbox,1,false,2026-03-01,true,0", "",
  ].join("\r\n"));
});

test("a file for programs has everything, the archived habits and the figures too", () => {
  const { page, run } = started();
  page.act({ do: "archive", habit: run, archived: true });
  const { day, habits } = JSON.parse(habitsAsJSON(page.state, today));
  assert.equal(day, today);
  assert.deepEqual(habits.map(({ title, archived }) => [title, archived]),
    [["Water", false], ["Run", true]]);
  assert.deepEqual(habits[1].checkIns, [{ day: "2026-03-01", done: true, total: 0 }]);
  assert.deepEqual([habits[1].longestSince, habits[0].streak], ["2026-03-01", 1]);
});
