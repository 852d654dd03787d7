import assert from "node:assert/strict";
import test from "node:test";
import { focuses } from "../../../Sources/WebClient/apps/timer/focusDay.js";
import { timerApp } from "../../../Sources/WebClient/apps/timer/timerApp.js";
import { TimerState } from "../../../Sources/WebClient/apps/timer/timerModel.js";
import {
  clock, nextSecond, timerScreen,
} from "../../../Sources/WebClient/apps/timer/timerScreen.js";
import { act, edit, timer } from "../support/conflicts.js";
import { TestPage } from "../support/testPage.js";

const record = (fields, changes = {}) =>
  ({ zone: "Timer", name: "current", type: "TimerState", fields, ...changes });

test("a person works, rests and goes home; the records tell each step", () => {
  const page = new TestPage(timerApp);
  const me = page.state.device;
  page.act({ do: "start", length: 1_500_000 });
  assert.equal(timerScreen(page.state, page.now).remaining, 1_499_000);
  page.now += 1_500_000;
  // The break runs on every screen, although no device has written it.
  const resting = timerScreen(page.state, page.now);
  assert.deepEqual(
    [resting.stateType, resting.remaining, resting.completedPomodoros],
    ["breakTime", 299_000, 1]);
  page.act({ do: "snooze" });
  page.act({ do: "stop" });
  assert.deepEqual(page.fields("current"), timer(1, {
    ...edit(me, page.now - 1_000, "idle"),
    replaces: [{ deviceID: me, timestamp: page.now - 2_000 }],
  }));
  assert.match(page.refusal({ do: "stop" }), /nothing is running/);
});

test("the screen says what is shown, whose it is, and what can be done", () => {
  const page = new TestPage(timerApp);
  assert.deepEqual(timerScreen(page.state, 5), {
    at: 5, stateType: "idle", isPaused: false, remaining: 0, zeroAt: null, completedPomodoros: 0,
    device: "", deviceName: "", editedAt: null, duration: null, longBreakEvery: 4,
    events: ["start"],
  });
  page.state.deviceNames = { [page.state.device]: "page" };
  page.act({ do: "start" });
  const begun = page.now - 1_000;
  assert.deepEqual(timerScreen(page.state, page.now), {
    at: page.now, stateType: "focus", isPaused: false, remaining: 1_499_000,
    zeroAt: begun + 1_500_000, completedPomodoros: 0, device: page.state.device,
    deviceName: "page", editedAt: begun, duration: 1_500_000, longBreakEvery: 4,
    events: ["pause", "stop", "skip"],
  });
  // A clock that is behind does not increase the time left.
  assert.equal(timerScreen(page.state, begun - 5_000).remaining, 1_500_000);
  // The plan of a running focus was fixed when it began; otherwise the settings apply.
  page.act({ do: "set", settings: { longBreakEvery: 2 } });
  assert.equal(timerScreen(page.state, page.now).longBreakEvery, 4);
  assert.equal(timerScreen(page.state, begun + 1_500_000).longBreakEvery, 2);
  page.act({ do: "pause" });
  const paused = timerScreen(page.state, page.now);
  assert.deepEqual(timerScreen(page.state, page.now + 9_000_000), {
    ...paused, at: paused.at + 9_000_000,
  });
  assert.equal(paused.zeroAt, null);
});

test("a countdown is due when it reaches zero, by the record alone", () => {
  const fields = timer(0, edit("mac", 1_000, "focus", { left: 60_000 }));
  const rest = {
    ...edit("mac", 61_000, "breakTime", { left: 300_000 }), duration: 300_000,
    act: act(1_000, "focus", { left: 60_000 }),
  };
  assert.deepEqual(timerApp.dueEdit(record(fields)), {
    dueAt: 61_000, owner: "mac", graceMilliseconds: 2_000, fields: timer(1, rest),
    addition: {
      name: "focuses-1970-01-01", type: "FocusDay", field: "focuses", member: ["61000-mac", 60_000],
    },
  });
  for (const it of [record(timer(0, edit("mac", 1, "idle"))), record(null),
    record(fields, { type: "Settings" }), record(fields, { name: "other" })]) {
    assert.equal(timerApp.dueEdit(it), null);
  }
});

test("a break, and a focus of no known length, add nothing to the day", () => {
  const rest = timer(1, edit("mac", 1_000, "breakTime", { left: 60_000 }));
  assert.equal("addition" in timerApp.dueEdit(record(rest)), false);
  const bare = timer(0, edit("mac", 1_000, "focus", { left: 0 }));
  assert.equal("addition" in timerApp.dueEdit(record(bare)), false);
});

test("the focuses of all days count once, the one that has just ended too", () => {
  const day = (name, focuses) => ({ zone: "Timer", name, type: "FocusDay", fields: { focuses } });
  const records = [
    day("focuses-1970-01-01", { "61000-mac": 60_000, "90000-phone": 30_000, "later": 5,
      "100-mac": -1, "99999999-mac": 60_000 }),
    day("focuses-1970-01-02", null),
  ];
  const state = TimerState.of(timer(1, edit("mac", 1_000, "focus", { left: 60_000 })));
  const known = [{ endedAt: 61_000, length: 60_000 }, { endedAt: 90_000, length: 30_000 }];
  assert.deepEqual(focuses(records, state, 95_000), known);
  const next = TimerState.of(timer(2, edit("mac", 91_000, "focus", { left: 4_000 })));
  assert.deepEqual(focuses(records, next, 95_000), [...known, { endedAt: 95_000, length: 4_000 }]);
  assert.deepEqual(focuses(records, next, 94_999), known);
});

test("a wrong clock is corrected in what the change brought, and in nothing else", () => {
  const base = timer(0, edit("mac", 1_000, "focus", { left: 60_000 }));
  const moved = (fields, base, type = "TimerState") =>
    timerApp.restamped(fields, { type, base, from: 90_000, to: 70_000 });
  const mine = (stamp) => timer(2, edit("phone", stamp, "focus", { left: 5, paused: true }));
  assert.deepEqual(moved(mine(90_000), base), mine(70_000));
  assert.deepEqual(moved(mine(90_000), null), mine(70_000));
  assert.deepEqual(moved(mine(90_000), null, "Settings"), mine(90_000));
  // Edits of the base, and edits that follow from them, keep their instants.
  let due = { fields: base };
  for (let count = 0; count < 3; count += 1) {
    assert.deepEqual(moved(due.fields, base), due.fields);
    // As an earlier version of the app wrote it.
    const old = timer(due.fields.completedPomodoros, ...due.fields.edits.map(plain));
    assert.deepEqual(moved(old, base), old);
    due = timerApp.dueEdit(record(due.fields));
  }
  assert.equal(due, null);
  // An edit that follows from this change's own edit moves with it, and so does its act.
  const run = (stamp) => timer(1, {
    ...edit("phone", stamp, "idle"), act: act(stamp - 1_000, "focus", { left: 1_000 }),
  });
  assert.deepEqual(moved(run(90_000), base), run(70_000));
});

const plain = ({ act: _, ...it }) => it;

test("an edit is newer than all that was seen, however wrong the clock", () => {
  const page = new TestPage(timerApp);
  page.addRemote("current", "TimerState", timer(0, edit("mac", 0, "idle")), page.now + 4_000);
  page.act({ do: "start" });
  const { fields, modifiedAt } = page.record("current");
  assert.equal(modifiedAt, page.now - 1_000 + 4_001);
  assert.equal(fields.edits[0].timestamp, modifiedAt);
});

test("settings are changed one by one, and others' stay", () => {
  const page = new TestPage(timerApp);
  page.addRemote("settings", "Settings", { focusMinutes: 50, theme: "dark" }, 1);
  page.act({ do: "set", settings: { shortBreakMinutes: 7.5, autoStart: false } });
  assert.deepEqual(page.fields("settings"), {
    focusMinutes: 50, theme: "dark", shortBreakMinutes: 7.5, autoStart: false,
  });
  page.act({ do: "start" });
  const [shown] = page.fields("current").edits;
  assert.equal(shown.remaining, 3_000_000);
  assert.deepEqual(shown.plan, {
    autoStart: false, break: 450_000, longBreak: 900_000, longBreakEvery: 4,
  });
});

test("what makes no sense is refused in a sentence", () => {
  const page = new TestPage(timerApp);
  for (const settings of [{ focusMinutes: 0 }, { focusMinutes: "25" }, { focusMinutes: 1441 },
    { focusMinutes: NaN }, { focusMinutes: Infinity }, { autoStart: 1 }, { longBreakEvery: -1 },
    { longBreakEvery: 2.5 }, { longBreakEvery: 1_001 }, { theme: "dark" }, { toString: 1 }, {}, [],
    null, undefined]) {
    assert.ok(page.refusal({ do: "set", settings }));
  }
  const actions = [{ do: "dance" }, { do: "toString" }, {}, null, { do: "start", length: 0 }];
  for (const action of actions) {
    assert.ok(page.refusal(action));
  }
  assert.equal(
    page.refusal({ do: "set", settings: { snoozeMinutes: "5" } }),
    "“5” is no snoozeMinutes (how long a break waits when it is put off)");
});

test("a countdown shows its full length at first, and 00:00 only when it is over", () => {
  const texts = [
    [1_500_000, "25:00"], [1_499_999, "25:00"], [1_499_000, "24:59"], [1, "00:01"], [0, "00:00"],
    [3_599_001, "01:00:00"], [3_661_000, "01:01:01"], [86_400_000, "24:00:00"],
  ];
  for (const [left, text] of texts) assert.equal(clock(left), text);
  // The seconds change on all screens at one instant of relay time.
  for (const [now, next] of [[0, 500], [499, 500], [500, 1_500], [2_499, 2_500], [2_500, 2_501]]) {
    assert.equal(nextSecond(2_500, now), next);
    if (now < 2_500) assert.notEqual(clock(2_500 - next), clock(2_500 - now));
  }
});
