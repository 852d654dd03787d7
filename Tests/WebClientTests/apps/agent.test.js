import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import test, { after, before } from "node:test";
import { clipboardApp } from "../../../Sources/WebClient/apps/clipboard/clipboardApp.js";
import { clipboardList } from "../../../Sources/WebClient/apps/clipboard/clipboardContents.js";
import { act } from "../../../Sources/WebClient/apps/edit.js";
import { habitFigures, habitWeek } from "../../../Sources/WebClient/apps/habits/habitWeek.js";
import { habitsApp } from "../../../Sources/WebClient/apps/habits/habitsApp.js";
import { memoContents } from "../../../Sources/WebClient/apps/memos/memoContents.js";
import { memosApp } from "../../../Sources/WebClient/apps/memos/memosApp.js";
import { timerApp } from "../../../Sources/WebClient/apps/timer/timerApp.js";
import { timerScreen } from "../../../Sources/WebClient/apps/timer/timerScreen.js";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { withoutStamps } from "../../../Sources/WebClient/model/stamps.js";
import { parse } from "../../../Sources/WebClient/json/jsonParser.js";
import { Account } from "../support/account.js";
import { needsProgram } from "../support/program.js";

// A terminal's agent and a page on one account: both make the same records for the same action.

/** @type {Account} */
let account;
before(async () => { if (!needsProgram.skip) account = await Account.open(); });
after(async () => { await account?.close(); });

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * Performs an action on the agent, and the same action on the page, based on the records before it,
 * as the agent's device and at the same instant. Both must make the same records.
 */
async function actsAlike(app, action, ...words) {
  const input = action.was === undefined ? "" : action.content;
  const before = await account.state();
  account.agentReading(input, app.name, ...words);
  const after = await account.records();
  const known = new Map(before.records.map((it) => [serialize([it.zone, it.name]), it.tag]));
  const written = after.filter((it) => known.get(serialize([it.zone, it.name])) !== it.tag);
  assert.equal(written.length, 1, `${words} made one change`);
  const [record] = written;
  const { changes } = act(
    app, { ...before, device: account.phone }, action, record.modifiedAt, randomBytes);
  assert.equal(changes.length, 1);
  if (action.do === "add") {
    assert.match(record.name, uuidForm);
    assert.match(changes[0].name, uuidForm);
    changes[0].name = record.name;
  }
  const { zone, name, type, modifiedAt: stamp } = record;
  // The agent keeps the stamps of the fields, as the page's client does, which ignores those that
  // an action leaves in.
  const fields = withoutStamps(record.fields);
  changes[0].fields = withoutStamps(changes[0].fields);
  assert.equal(record.device, account.phone);
  assert.equal(serialize(changes[0]), serialize({ zone, name, type, fields, stamp }));
  return record;
}

test("every button of the timer writes what the agent writes", needsProgram, async () => {
  const settings = {
    focusMinutes: 50, shortBreakMinutes: 7.5, longBreakEvery: 2, autoStart: false,
  };
  await actsAlike(timerApp, { do: "start" }, "start");
  await actsAlike(timerApp, { do: "pause" }, "pause");
  await actsAlike(timerApp, { do: "resume" }, "resume");
  await actsAlike(timerApp, { do: "skip" }, "skip");
  await actsAlike(timerApp, { do: "snooze" }, "snooze");
  await actsAlike(timerApp, { do: "snooze", length: 60_000 }, "snooze", "--minutes", "1");
  await actsAlike(timerApp, { do: "stop" }, "stop");
  const words = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  await actsAlike(timerApp, { do: "set", settings }, "settings", "set", ...words);
  await actsAlike(
    timerApp, { do: "set", settings: { snoozeMinutes: 2 } }, "settings", "set", "snoozeMinutes=2");
  await actsAlike(timerApp, { do: "start" }, "start");
  await actsAlike(timerApp, { do: "skip" }, "skip");
  await actsAlike(timerApp, { do: "start", length: 90_000 }, "start", "--minutes", "1.5");
});

test("a countdown that ends is the same edit on both", needsProgram, async () => {
  // The agent's own focus ended while the agent was away: it writes that itself, at once.
  const current = async () => (await account.records()).find((it) => it.name === "current");
  for (const [minutes, expected] of [[26, "breakTime"], [60, "idle"]]) {
    const now = await account.time();
    const state = { records: [], device: account.phone };
    const { changes: [begun] } = act(
      timerApp, state, { do: "start" }, now - minutes * 60_000, randomBytes);
    let ended = begun;
    for (let due = timerApp.dueEdit(begun); due?.dueAt <= now; due = timerApp.dueEdit(ended)) {
      assert.equal(due.owner, account.phone);
      ended = { ...ended, fields: due.fields };
    }
    await account.write(begun);
    const { fields } = await current();
    assert.equal(serialize(fields), serialize(ended.fields));
    assert.equal(fields.edits[0].stateType, expected);
    assert.equal(fields.completedPomodoros, 1);
  }
});

test("the agent's screen shows what the page's shows", needsProgram, async () => {
  const buttons = ["start", "pause", "resume", "skip", "resume", "stop"];
  for (const button of buttons) {
    await account.act(timerApp, { do: button });
    const shown = account.agent("timer", "status");
    const screen = timerScreen(await account.state(), shown.at);
    for (const [name, value] of Object.entries(shown)) assert.equal(screen[name], value, name);
  }
});

test("clipboard, memos and habits are written as the agent writes them", needsProgram, async () => {
  const text = "電脑\r\n\"x\" \u2028 😀\u0007";
  await actsAlike(clipboardApp, { do: "add", content: text }, "add", text);
  const item = clipboardList(await account.state())[0].name;
  await actsAlike(clipboardApp, { do: "pin", item }, "pin", "1");
  await actsAlike(clipboardApp, { do: "unpin", item }, "unpin", "1");
  await actsAlike(
    memosApp, { do: "add", content: `Milk\n${text}` }, "add", `Milk\n${text}`);
  const memo = memoContents(await account.state())[0];
  await actsAlike(
    memosApp, { do: "edit", memo: memo.name, was: memo.content, content: "Eggs" }, "edit", "1");
  const run = await actsAlike(
    habitsApp, { do: "add", title: "Run", kind: "checkbox", target: 1 }, "add", "Run");
  const water = await actsAlike(
    habitsApp, { do: "add", title: "Water", kind: "count", target: 8 },
    "add", "Water", "--count", "--target", "8");
  const on = ["--day", "2026-03-01"];
  const day = "2026-03-01";
  await actsAlike(
    habitsApp, { do: "check", habit: run.name, day, done: true }, "check", "run", ...on);
  await actsAlike(
    habitsApp, { do: "check", habit: run.name, day, done: false }, "uncheck", "run", ...on);
  await actsAlike(
    habitsApp, { do: "count", habit: water.name, day, by: 9 }, "count", "water", "9", ...on);
  await actsAlike(
    habitsApp, { do: "count", habit: water.name, day, by: -2 },
    "count", "water", "2", "--undo", ...on);
  await actsAlike(
    habitsApp, { do: "edit", habit: water.name, title: "Tea", target: 7 },
    "edit", "water", "--title", "Tea", "--target", "7");
  await actsAlike(habitsApp, { do: "move", habit: water.name, place: 1 }, "move", "tea", "1");
  await actsAlike(habitsApp, { do: "move", habit: run.name, place: 1 }, "move", "run", "1");
  for (const [word, archived] of [["archive", true], ["unarchive", false], ["archive", true]]) {
    await actsAlike(habitsApp, { do: "archive", habit: run.name, archived }, word, "run");
  }
});

test("on what another program wrote both act alike, losing none of it", needsProgram, async () => {
  const write = async ({ zone }, name, type, fields) =>
    account.write({ zone, name, type, fields: parse(fields), stamp: await account.time() });
  const now = await account.time();
  await write(timerApp, "current", "TimerState", `{
    "completedPomodoros": 9007199254740993, "theme": {"dark": 0.1234567890123456789},
    "edits": [{"deviceID": "web", "timestamp": ${now}.0, "stateType": "focus",
      "remaining": 6.00005e4, "sessionID": [1e400],
      "plan": {"break": 6e5, "longBreak": "x", "autoStart": false}}]}`);
  await actsAlike(timerApp, { do: "pause" }, "pause");
  await actsAlike(timerApp, { do: "resume" }, "resume");
  await actsAlike(timerApp, { do: "skip" }, "skip");
  await actsAlike(timerApp, { do: "snooze" }, "snooze");
  await write(timerApp, "current", "TimerState", `{
    "completedPomodoros": 9007199254740992,
    "edits": [{"deviceID": 5, "timestamp": 1000, "stateType": "focus", "remaining": 1, "x": -0}]}`);
  const ended = await actsAlike(timerApp, { do: "start" }, "start");
  assert.match(serialize(ended.fields), /"completedPomodoros":9007199254740993/);
  await write(timerApp, "current", "TimerState", '{"edits": [{"stateType": "daydream"}]}');
  await actsAlike(timerApp, { do: "stop" }, "stop");

  const day = "2026-03-02";
  await write(
    habitsApp, "tea", "Habit", '{"title": "Tea", "kind": "count", "target": 2.7, "x": 1e22}');
  await write(habitsApp, `tea/${day}`, "CheckIn", `{
    "counts": {"${account.phone}": 2.5, "web": 9007199254740993, "__proto__": 3, "y": -4},
    "undone": "never", "done": 5}`);
  await actsAlike(
    habitsApp, { do: "count", habit: "tea", day, by: 2 }, "count", "tea", "2", "--day", day);
  await actsAlike(
    habitsApp, { do: "count", habit: "tea", day, by: -1 },
    "count", "tea", "1", "--undo", "--day", day);
  await actsAlike(
    habitsApp, { do: "edit", habit: "tea", title: "Green" }, "edit", "tea", "--title", "Green");

  await write(
    memosApp, "odd", "Memo", '{"content": 5, "date": 1e3, "rating": 1.50000000000000000001}');
  await actsAlike(
    memosApp, { do: "edit", memo: "odd", was: "", content: "text" }, "edit", "odd");
});

test("an odd record that somebody wrote by hand holds nothing up", needsProgram, async () => {
  const deepest = `{"content": ${"[".repeat(63)}${"]".repeat(63)}}`;
  const number = '{"content": 5}';
  await account.writeByHand("Clipboard", "number", "ClipboardItem", number);
  await account.writeByHand("Clipboard", "deep", "ClipboardItem", deepest);
  await account.act(clipboardApp, { do: "add", content: "after all" });
  const contents = clipboardList(await account.state()).map((it) => it.content);
  assert.deepEqual(contents.slice(0, 3), ["after all", "", ""]);
  const { items } = account.agent("clipboard", "list");
  assert.deepEqual(items.map((it) => it.content), contents);
});

test("what is done on the page is listed by the agent as by the page", needsProgram, async () => {
  await account.act(clipboardApp, { do: "add", content: "from the page" });
  await account.act(memosApp, { do: "add", content: "Page\nbody" });
  const [{ name: habit }] = await account.act(
    habitsApp, { do: "add", title: "Read", kind: "count", target: 2 });
  await account.act(habitsApp, { do: "count", habit, day: "2026-02-28", by: 3 });
  const state = await account.state();
  const names = (list) => list.map((it) => it.name);

  const { items } = account.agent("clipboard", "list");
  assert.deepEqual(names(clipboardList(state)), names(items));
  assert.equal(items[0].content, "from the page");

  const { memos } = account.agent("memo", "list");
  const shelf = memoContents(state).map(({ name, title, date }) => ({ name, title, date }));
  assert.deepEqual(shelf, memos.map(({ name, title, date }) => ({ name, title, date })));

  const { habits } = account.agent("habits", "list", "--day", "2026-03-01");
  const week = habitWeek(state, "2026-03-01").map(({ streak, ...it }) => it);
  assert.deepEqual(week, habits.map(({ habit, ...it }) => it));
  const figures = account.agent("habits", "stats", "--day", "2026-03-01").habits;
  assert.ok(figures.length > 0);
  assert.deepEqual(habitFigures(state, "2026-03-01"), figures);
  assert.deepEqual(week.find((it) => it.name === habit).days[5], {
    day: "2026-02-28", done: true, total: 3,
  });

  await account.act(clipboardApp, { do: "clear" });
  assert.deepEqual(account.agent("clipboard", "list").items, []);
});
