import assert from "node:assert/strict";
import test from "node:test";
import {
  TimerRefusal, advance, afterZero, handle, possibleEvents, timerEvents,
} from "../../../Sources/WebClient/apps/timer/timerMachine.js";
import { TimerState } from "../../../Sources/WebClient/apps/timer/timerModel.js";
import { TimerSettings } from "../../../Sources/WebClient/apps/timer/timerSettings.js";
import { equal, setting } from "../../../Sources/WebClient/json/jsonValue.js";
import { act, edit, timer } from "../support/conflicts.js";

/** Returns a timer with a phase of 60 s that began, or was paused, at 0. */
const showing = (stateType, paused = false, done = 0) =>
  TimerState.of(timer(done, edit("mac", 0, stateType, {
    left: stateType === "idle" ? 0 : 60_000, paused,
  })));

/** Returns the state after an event on the phone at an instant. */
const pressed = (state, event, now = 1_000, settings = new TimerSettings()) =>
  handle(state, event, { settings, deviceID: "phone", now: BigInt(now) });

function outcome(state, name) {
  try {
    const { shown } = pressed(state, { do: name });
    return `${shown.stateType}${shown.isPaused ? " paused" : ""} ${shown.remaining}`;
  } catch (error) {
    assert.ok(error instanceof TimerRefusal && error.message.length > 15);
    return error.code;
  }
}

const unknown = "unknownState";
const nothing = "nothingIsRunning";
const table = [
  // start, pause, resume, stop, skip, snooze
  ["idle", false, ["focus 1500000", nothing, nothing, nothing, nothing, nothing]],
  ["focus", false, ["alreadyRunning", "focus paused 59000", "notPaused", "idle 0",
    "breakTime 300000", "noBreakToSnooze"]],
  ["focus", true, ["alreadyRunning", "alreadyPaused", "focus 60000", "idle 0",
    "breakTime 300000", "noBreakToSnooze"]],
  ["breakTime", false, ["focus 1500000", "breakTime paused 59000", "notPaused", "idle 0",
    "idle 0", "snooze 300000"]],
  ["breakTime", true, ["focus 1500000", "alreadyPaused", "breakTime 60000", "idle 0",
    "idle 0", "snooze 300000"]],
  ["snooze", false, ["focus 1500000", "snooze paused 59000", "notPaused", "idle 0",
    "breakTime 300000", "snooze 300000"]],
  ["snooze", true, ["focus 1500000", "alreadyPaused", "snooze 60000", "idle 0",
    "breakTime 300000", "snooze 300000"]],
  ["daydream", false, ["focus 1500000", unknown, unknown, "idle 0", unknown, unknown]],
];

test("every button does in every state what the table says", () => {
  for (const [stateType, paused, outcomes] of table) {
    const state = showing(stateType, paused);
    assert.deepEqual(timerEvents.map((name) => outcome(state, name)), outcomes, stateType);
    // A screen offers exactly the valid events.
    const taken = timerEvents.filter((_, index) => / \d+$/.test(outcomes[index]));
    assert.deepEqual(possibleEvents(state, 1_000n).sort(), taken.sort(), stateType);
  }
});

test("a timer that was never started begins with the length that was asked for", () => {
  const state = pressed(TimerState.of(undefined), { do: "start", length: 90_000 }, 5);
  assert.deepEqual(state.fields, timer(0, {
    ...edit("phone", 5, "focus", { left: 90_000 }), duration: 90_000,
    plan: { autoStart: true, break: 300_000, longBreak: 900_000, longBreakEvery: 4 },
  }));
});

test("a refused button changes nothing, and lengths have bounds", () => {
  const state = showing("focus");
  const before = structuredClone(state.fields);
  for (const name of ["start", "resume", "snooze"]) {
    assert.throws(() => pressed(state, { do: name }), TimerRefusal);
  }
  assert.deepEqual(state.fields, before);
  for (const length of [0, -1, 86_400_001, 1.5, NaN, Infinity, "60000", null]) {
    for (const [stateType, name] of [["idle", "start"], ["breakTime", "snooze"]]) {
      assert.throws(
        () => pressed(showing(stateType), { do: name, length }), { code: "badLength" });
    }
  }
  assert.equal(pressed(showing("idle"), { do: "start", length: 86_400_000 }).shown.stateType,
    "focus");
});

test("a person's edit replaces all candidates that a conflict left", () => {
  const state = TimerState.of(
    timer(2, edit("mac", 0, "focus", { left: 60_000 }), edit("watch", 9, "idle")));
  assert.deepEqual(pressed(state, { do: "stop" }).fields, timer(2, {
    ...edit("phone", 1_000, "idle"),
    replaces: [{ deviceID: "watch", timestamp: 9 }, { deviceID: "mac", timestamp: 0 }],
  }));
  // Beyond 5 s an older edit never stands beside a newer one.
  assert.deepEqual(
    pressed(state, { do: "stop" }, 5_001).fields.edits[0].replaces,
    [{ deviceID: "watch", timestamp: 9 }]);
  assert.equal(pressed(state, { do: "stop" }, 6_000).fields.edits[0].replaces, undefined);
});

test("an edit names the acts before the one that it replaces, too, and so does its end", () => {
  const first = pressed(TimerState.of(null), { do: "start", length: 60_000 }, 0);
  const second = pressed(first, { do: "pause" }, 1_000);
  const third = pressed(second, { do: "resume" }, 2_000);
  const names = [1_000, 0].map((timestamp) => ({ deviceID: "phone", timestamp }));
  assert.deepEqual(third.shown.object.replaces, names);
  assert.deepEqual(afterZero(third).shown.object.replaces, names);
  // A later act of another hour names none of them.
  assert.equal(pressed(third, { do: "stop" }, 50_000).shown.object.replaces, undefined);
});

test("who pauses and resumes another's focus keeps its plan, whatever his own settings", () => {
  const settings = new TimerSettings({ shortBreakMinutes: 1 });
  const started = pressed(TimerState.of(null), { do: "start", length: 60_000 }, 0, settings);
  const paused = pressed(started, { do: "pause" }, 20_000);
  const { shown } = pressed(paused, { do: "resume" }, 50_000);
  assert.deepEqual(shown.object, {
    ...started.shown.object, deviceID: "phone", timestamp: 50_000, remaining: 40_000,
  });
  assert.equal(afterZero(paused.with({ edits: [shown] })).shown.remaining, 60_000n);
});

test("a snooze puts the same break off, and a second one begins anew", () => {
  const settings = new TimerSettings({ longBreakEvery: 1 });
  let state = pressed(TimerState.of(null), { do: "start", length: 60_000 }, 0, settings);
  state = pressed(state, { do: "snooze", length: 5_000 }, 70_000, settings);
  assert.deepEqual(state.shown.object.plan, { autoStart: true, break: 900_000 });
  state = pressed(state, { do: "snooze" }, 72_000, settings);
  assert.equal(state.shown.remaining, 300_000n);
  assert.deepEqual(state.shown.object.plan, { autoStart: true, break: 900_000 });
  const after = afterZero(state);
  assert.equal(after.shown.stateType, "breakTime");
  assert.equal(after.shown.remaining, 900_000n);
  assert.equal(after.completedPomodoros, 1n);
});

test("a skipped focus does not count, one that ran out unwritten does", () => {
  const skipped = pressed(showing("focus", false, 3), { do: "skip" });
  assert.equal(skipped.completedPomodoros, 3n);
  assert.equal(skipped.shown.remaining, 300_000n);
  const late = pressed(showing("focus"), { do: "snooze" }, 60_500);
  assert.equal(late.completedPomodoros, 1n);
  assert.equal(late.shown.stateType, "snooze");
});

test("a countdown that reaches zero is the same edit on every device", () => {
  const ended = (fields) => afterZero(TimerState.of(fields))?.fields;
  const focus = edit("mac", 100, "focus", { left: 60_000 });
  const rest = {
    ...edit("mac", 60_100, "breakTime", { left: 300_000 }), duration: 300_000,
    act: act(100, "focus", { left: 60_000 }),
  };
  assert.deepEqual(ended(timer(0, focus)), timer(1, rest));
  const long = { ...rest, remaining: 900_000, duration: 900_000 };
  assert.deepEqual(ended(timer(3, focus)), timer(4, long));
  const resting = edit("mac", 100, "breakTime", { left: 9 });
  const end = { ...edit("mac", 109, "idle"), act: act(100, "breakTime", { left: 9 }) };
  assert.deepEqual(ended(timer(4, resting)), timer(4, end));
  const snoozed = ended(timer(3, edit("mac", 100, "snooze", { left: 9 })));
  assert.equal(snoozed.edits[0].stateType, "breakTime");
  assert.equal(snoozed.completedPomodoros, 3);
  // Fields that this version does not know stay.
  assert.equal(ended({ ...timer(0, focus), theme: "dark" }).theme, "dark");
});

test("what time makes is its act, further along; what a person does is an act again", () => {
  const begun = TimerState.of(timer(0, edit("mac", 100, "focus", { left: 60_000 })));
  const rest = afterZero(begun);
  const { shown } = afterZero(rest);
  assert.deepEqual(shown.act, act(100, "focus", { left: 60_000 }));
  assert.equal(shown.identity, begun.shown.identity);
  assert.deepEqual([shown.actTimestamp, shown.timestamp], [100n, 360_100n]);
  const paused = pressed(rest, { do: "pause" }, 70_000).shown;
  assert.equal(paused.isMadeByTime, false);
  assert.equal(paused.actTimestamp, 70_000n);
});

test("other candidates stay while they can be concurrent", () => {
  const beside = edit("phone", 500, "focus", { left: 60_000 });
  const ended = (left) =>
    afterZero(TimerState.of(timer(0, edit("mac", 1_000, "focus", { left }), beside))).edits;
  assert.deepEqual(ended(4_000).map((it) => it.stateType), ["breakTime", "focus"]);
  assert.deepEqual(ended(4_000)[1].object, beside);
  // 5,001 ms after the other act.
  assert.deepEqual(ended(4_501).map((it) => it.stateType), ["breakTime"]);
});

test("without autoStart the break waits for the person", () => {
  const focus = { ...edit("mac", 100, "focus", { left: 60_000 }), plan: { autoStart: false } };
  const after = afterZero(TimerState.of(timer(0, focus)));
  assert.ok(after.shown.isPaused);
  assert.equal(after.shown.remaining, 300_000n);
  assert.equal(afterZero(after), undefined);
});

test("what does not count down waits for nothing", () => {
  for (const it of [edit("mac", 1, "idle"), edit("mac", 1, "daydream", { left: 5 }),
    edit("mac", 1, "focus", { left: 5, paused: true }), { stateType: "focus", timestamp: 1 },
    { stateType: "focus", timestamp: -5_000, remaining: 1 },
    { stateType: "focus", timestamp: 2 ** 43, remaining: 1 }, {}]) {
    assert.equal(afterZero(TimerState.of(timer(0, it))), undefined);
  }
  assert.equal(afterZero(TimerState.of(timer(0))), undefined);
});

test("a long absence ends in idle, with every step done and counted", () => {
  const begun = TimerState.of(timer(0, edit("mac", 0, "focus", { left: 60_000 })));
  const resting = advance(begun, 359_999n);
  assert.equal(resting.shown.stateType, "breakTime");
  assert.equal(resting.completedPomodoros, 1n);
  const end = { ...edit("mac", 360_000, "idle"), act: act(0, "focus", { left: 60_000 }) };
  const idle = timer(1, end);
  assert.deepEqual(advance(resting, 360_000n).fields, idle);
  assert.deepEqual(advance(begun, 9_000_000n).fields, idle);
});

test("a timer that another program wrote is read as far as it goes", () => {
  for (const fields of [{}, { edits: 7 }, { edits: [1, "x", null, []] }, [], null, undefined]) {
    assert.deepEqual(TimerState.of(fields).fields, timer(0));
  }
  const rich = {
    completedPomodoros: 3, theme: { dark: true },
    edits: [{ ...edit("mac", 7, "focus", { left: 5, paused: true }), mood: ["calm"] }],
  };
  assert.ok(equal(TimerState.of(rich).fields, rich));
  const [poor] = TimerState.of({ edits: [{ isPaused: "no", remaining: -5 }] }).edits;
  assert.deepEqual(
    [poor.deviceID, poor.timestamp, poor.remaining, poor.isPaused, poor.phase],
    ["", 0n, 0n, false, undefined]);
});

test("settings that make no sense read as the usual ones", () => {
  assert.deepEqual(new TimerSettings({
    focusMinutes: 0, shortBreakMinutes: -1, longBreakMinutes: 1e300, snoozeMinutes: "5",
    longBreakEvery: -4, autoStart: 3,
  }), new TimerSettings());
  assert.deepEqual(new TimerSettings({
    focusMinutes: 50, shortBreakMinutes: 0.5, longBreakMinutes: 1_440, longBreakEvery: 0,
    autoStart: false,
  }).words, {
    focusMinutes: 50, shortBreakMinutes: 0.5, longBreakMinutes: 1_440, longBreakEvery: 0,
    snoozeMinutes: 5, autoStart: false,
  });
});

test("a plan that makes no sense reads as the usual one", () => {
  const usual = afterZero(TimerState.of(timer(3, edit("mac", 0, "focus", { left: 9 }))));
  for (const plan of [null, [], { break: 0, longBreak: -1, longBreakEvery: "4", autoStart: 1 }]) {
    const focus = setting(edit("mac", 0, "focus", { left: 9 }), { plan });
    assert.deepEqual(afterZero(TimerState.of(timer(3, focus))).fields, usual.fields);
  }
});
