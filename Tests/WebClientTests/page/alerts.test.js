import assert from "node:assert/strict";
import test from "node:test";
import { soundOf, timerApp } from "../../../Sources/WebClient/apps/timer/timerApp.js";
import { timerEnd } from "../../../Sources/WebClient/apps/timer/timerEnd.js";
import { timerSounds } from "../../../Sources/WebClient/apps/timer/timerSound.js";
import { DeviceChoices } from "../../../Sources/WebClient/page/deviceChoices.js";
import { endText } from "../../../Sources/WebClient/page/timer/alerts/endText.js";
import { EndWatch } from "../../../Sources/WebClient/page/timer/alerts/endWatch.js";
import { SoundPlayer } from "../../../Sources/WebClient/page/timer/alerts/soundPlayer.js";
import { notesOf, soundNames } from "../../../Sources/WebClient/page/timer/alerts/sounds.js";
import { TestPage } from "../support/testPage.js";

const minute = 60_000;

/** Returns the page of a person whose focus of 25 minutes has begun, and what it has announced. */
function watching() {
  const page = new TestPage(timerApp);
  const watch = new EndWatch();
  page.announced = [];
  page.look = ({ isCurrent = true } = {}) => {
    const end = timerEnd(page.state, page.now);
    const { zeroAt } = screen(page);
    const due = watch.next(end, zeroAt, page.now, isCurrent);
    if (due) page.announced.push(endText(due));
  };
  page.act({ do: "start" });
  page.zeroAt = page.now - 1_000 + 25 * minute;
  return page;
}

function screen(page) {
  const [edit] = page.fields("current").edits;
  const zeroAt = edit.isPaused || edit.stateType === "idle" ? null
    : edit.timestamp + edit.remaining;
  return { zeroAt: zeroAt !== null && zeroAt > page.now ? zeroAt : null };
}

test("a page that waits for zero announces it once", () => {
  const page = watching();
  page.look();
  page.now = page.zeroAt;
  page.look();
  page.now += 400;
  page.look();
  assert.deepEqual(page.announced, ["Focus is over. Time for a break."]);
});

test("a hidden page, which looks once a minute, announces late; one that slept does not", () => {
  for (const [late, count] of [[59_000, 1], [91_000, 0], [8 * 60 * minute, 0]]) {
    const page = watching();
    page.look();
    page.now = page.zeroAt + late;
    page.look();
    assert.equal(page.announced.length, count, `${late}`);
  }
});

test("a page that wakes up first reads what it has missed", () => {
  const page = watching();
  page.look();
  page.now = page.zeroAt + 20_000;
  page.look({ isCurrent: false });
  assert.deepEqual(page.announced, []);
  page.look();
  assert.equal(page.announced.length, 1);
  const paused = watching();
  paused.look();
  const [edit] = paused.fields("current").edits;
  paused.now = paused.zeroAt + 20_000;
  paused.look({ isCurrent: false });
  paused.addRemote("current", "TimerState", { completedPomodoros: 0, edits: [{ ...edit,
    deviceID: "000000000000000b", timestamp: paused.zeroAt - 500, isPaused: true, remaining: 500,
  }] }, paused.zeroAt - 500);
  paused.look();
  paused.now += 60_000;
  paused.look();
  assert.deepEqual(paused.announced, [], "it was paused elsewhere in time");
});

test("a page opened after zero announces only what has just ended", () => {
  for (const [late, count] of [[1_000, 1], [5_000, 1], [6_000, 0]]) {
    const page = watching();
    page.now = page.zeroAt + late;
    page.look();
    assert.equal(page.announced.length, count, `${late}`);
  }
});

test("paused, stopped and skipped by a person, nothing ends", () => {
  for (const order of ["pause", "stop", "skip"]) {
    const page = watching();
    page.look();
    page.now = page.zeroAt - 400;
    page.act({ do: order });
    page.look();
    page.now += minute;
    page.look();
    assert.deepEqual(page.announced, [], order);
  }
});

test("each phase has its sentence", () => {
  const page = watching();
  page.look();
  page.now = page.zeroAt;
  page.look();
  page.act({ do: "snooze" });
  page.look();
  page.now += 5 * minute;
  page.look();
  page.now += 5 * minute;
  page.look();
  assert.deepEqual(page.announced, ["Focus is over. Time for a break.",
    "Snooze is over. Time for a break.", "Break is over."]);
  assert.equal(endText({ phase: "focus", next: "breakTime", isPaused: true }),
    "Focus is over. The break waits for you.");
  assert.equal(endText({ phase: null, next: "siesta", isPaused: false }), "The time is up.");
});

test("an end far in the future, by a program without a clock, is not announced", () => {
  const page = watching();
  const act = { timestamp: 1, stateType: "focus", remaining: 5, isPaused: false };
  page.addRemote("current", "TimerState", { completedPomodoros: 0, edits: [{ act,
    deviceID: "000000000000000b", timestamp: 2 ** 43 - 1, stateType: "idle", isPaused: false,
    remaining: 0 }] }, page.now);
  page.look();
  assert.deepEqual(page.announced, []);
});

test("the sound syncs as two settings, and nonsense is the default", () => {
  const page = new TestPage(timerApp);
  page.act({ do: "set", settings: { focusMinutes: 50 } });
  page.act({ do: "setSound", sound: "marimba" });
  page.act({ do: "setSound", volume: 35 });
  assert.deepEqual(page.fields("settings"), { focusMinutes: 50, sound: "marimba", volume: 35 });
  assert.deepEqual({ ...soundOf(page.state) }, { sound: "marimba", volume: 35 });
  for (const volume of [101, -1, Number.NaN, "loud", null]) {
    assert.match(page.refusal({ do: "setSound", volume }), /from 0 to 100/);
  }
  assert.match(page.refusal({ do: "setSound", sound: "gong" }), /bell, chime, marimba, none/);
  assert.match(page.refusal({ do: "setSound" }), /say what/);
  page.addRemote("settings", "Settings", { sound: "gong", volume: 1e9 }, page.now);
  assert.deepEqual({ ...soundOf(page.state) }, { sound: "bell", volume: 60 });
});

test("a sound is soft: short, and never louder than the speaker can play", () => {
  assert.deepEqual(Object.keys(soundNames), timerSounds);
  for (const sound of timerSounds) {
    const notes = notesOf(sound, 100);
    assert.equal(notes.length > 0, sound !== "none");
    for (const { at } of notes) {
      const loud = notes.filter((it) => it.at <= at && at < it.at + it.seconds)
        .reduce((sum, { gain }) => sum + gain, 0);
      assert.ok(loud <= 1, sound);
    }
    assert.ok(notes.every(({ at, seconds }) => at + seconds < 3));
    assert.deepEqual(notesOf(sound, 0), []);
  }
  assert.ok(notesOf("bell", 50)[0].gain < notesOf("bell", 100)[0].gain / 2);
  assert.deepEqual(notesOf("toString", 100), []);
});

/** Browser with Web Audio that runs, or that waits for a press for ever. */
function audio({ runs }) {
  const context = { state: "suspended", currentTime: 0, destination: {},
    suspend: async () => { context.state = "suspended"; },
    resume: () => (runs ? Promise.resolve(context.state = "running") : new Promise(() => {})) };
  return { openAudio: () => context, setTimer: (act) => queueMicrotask(act), context };
}

test("where the browser does not let the page sound, the page knows and goes on", async () => {
  const notes = notesOf("bell", 60);
  const player = new SoundPlayer({ ...audio({ runs: false }), openAudio: () => null });
  await player.unlock();
  assert.deepEqual([player.isUnlocked, await player.play(notes)], [false, false]);
  const waiting = audio({ runs: false });
  waiting.context.createGain = () => ({ gain: { setTargetAtTime: () => {} } });
  const silent = new SoundPlayer(waiting);
  await silent.unlock();
  assert.deepEqual([silent.isUnlocked, await silent.play(notes)], [false, false]);
  const good = audio({ runs: true });
  const player2 = new SoundPlayer(good);
  await player2.unlock();
  assert.deepEqual([player2.isUnlocked, good.context.state], [true, "suspended"]);
});

test("choices of this browser stay, and where they cannot, the usual holds", () => {
  const kept = new Map();
  const memory = { read: (name) => kept.get(name) ?? null,
    write: (name, text) => kept.set(name, text) };
  const choices = new DeviceChoices(memory);
  assert.deepEqual(["ring", "notify", "awake"].map((it) => choices.get(it)), [true, false, false]);
  choices.set("ring", false);
  assert.equal(new DeviceChoices(memory).get("ring"), false);
  const refused = new DeviceChoices({ read: () => null, write: () => {} });
  refused.set("ring", false);
  assert.equal(refused.get("ring"), true);
});
