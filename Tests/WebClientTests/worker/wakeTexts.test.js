import assert from "node:assert/strict";
import { test } from "node:test";
import { timerApp } from "../../../Sources/WebClient/apps/timer/timerApp.js";
import { TestPage } from "../support/testPage.js";
import { TestWorker } from "../support/testWorker.js";

// The texts of notifications.

const { nothing, added, told, textsIn } = new TestWorker().texts;
const now = Date.UTC(2026, 2, 15, 12);
const clock = (minutesAhead = 0) => ({ now, minutesAhead: () => minutesAhead });
const record = (zone, name, fields = {}, device = "phone") => ({ zone, name, fields, device });
const summaryOf = (...records) => added(nothing, records, "own");
const textOf = (...records) => told(summaryOf(...records), clock()).text;

test("each app has its sentence, and what another app stores is something else", () => {
  const zones = ["Vault", "Clipboard", "Habits", "Memos", "Timer"];
  assert.equal(textOf(...zones.map((zone) => record(zone, "n"))),
    "Timer changed. 1 memo changed. Habits changed. Clipboard changed. Vault changed.");
  assert.equal(textOf(record("Todos", "a"), record("Todos", "b")), "Something changed.");
  assert.equal(textOf(record("Keys", "ring"), record("Keys", "next/0")),
    "Devices or keys of the account changed.");
  assert.equal(textOf(record("Todos", "a"), record("Memos", "b")), "1 memo changed. More changed.");
  assert.equal(textOf(record("__proto__", "a")), "Something changed.");
  assert.equal(textOf(record("toString", "constructor")), "Something changed.");
  assert.equal(textOf(), "All changes are here already.");
});

test("the texts are in the language of the page, and in English if it has left none", () => {
  const zones = ["Memos", "Timer", "Todos"].map((zone) => record(zone, "n"));
  const textIn = (language) => told(summaryOf(...zones), clock(), textsIn(language)).text;
  assert.equal(textIn("ja"),
    "タイマーが変更されました。1件のメモが変更されました。ほかにも変更があります。");
  assert.equal(textIn("zh-Hans"), "计时器有更改。1 条备忘录有更改。还有其他更改。");
  for (const language of ["en", "tlh", "toString", undefined]) {
    assert.equal(textIn(language), "Timer changed. 1 memo changed. More changed.");
  }
});

test("each language has all texts, and shows each value", () => {
  const english = textsIn("en");
  const values = { phase: "<phase>", ended: "<ended>", time: "<time>" };
  const shown = (text) => (typeof text === "function" ? text(values).match(/<\w+>/gu)?.sort() : "");
  for (const texts of [textsIn("zh-Hans"), textsIn("ja")]) {
    assert.deepEqual(Object.keys(texts).sort(), Object.keys(english).sort());
    for (const part of ["phases", "zones"]) {
      assert.deepEqual(Object.keys(texts[part]), Object.keys(english[part]), part);
    }
    for (const [name, text] of Object.entries(english)) {
      assert.deepEqual(shown(texts[name]), shown(text), name);
    }
    // The words are none of English, except for the program's name.
    const all = JSON.stringify(texts) + Object.values(texts.zones).map((it) => it(2)).join("");
    assert.doesNotMatch(all.replaceAll("Lockstep", "").replace(/"\w+":/gu, ""), /[A-Za-z]/u);
  }
});

test("a notification opens the view of its first sentence; the page has none of the vault", () => {
  const viewOf = (...records) => told(summaryOf(...records), clock()).view;
  assert.equal(viewOf(record("Clipboard", "c"), record("Memos", "m")), "memos");
  assert.equal(viewOf(record("Timer", "settings")), "timer");
  assert.equal(viewOf(record("Keys", "ring")), "devices");
  assert.deepEqual([viewOf(record("Vault", "f")), viewOf(record("Todos", "t")), viewOf()],
    ["", "", ""]);
});

test("nothing that a record says is in a text, nor is a record's name", () => {
  const secret = "hunter2";
  const fields = { title: secret, content: secret, sealed: secret, key: secret, chunks: [secret] };
  const edits = [{ stateType: secret, deviceID: secret, timestamp: now, remaining: 5 }];
  for (const zone of ["Timer", "Memos", "Habits", "Clipboard", "Vault", secret]) {
    for (const name of ["current", secret]) {
      const text = textOf(record(zone, name, { ...fields, edits }));
      assert.ok(!text.includes(secret), text);
    }
  }
});

test("a record counts once, a deletion counts, and what this device did is no news", () => {
  const [one, two] = [record("Memos", "1"), record("Memos", "2", null)];
  assert.equal(textOf(one, two, one), "2 memos changed.");
  assert.equal(textOf(record("Memos", "3", {}, "own")), "All changes are here already.");
  const later = added(summaryOf(one, two), [record("Memos", "1", {}, "own")], "own");
  assert.equal(told(later, clock()).text, "1 memo changed.");
});

test("a summary names a bounded number of records", () => {
  const many = Array.from({ length: 501 }, (_, index) => record("Memos", `m${index}`));
  const summary = summaryOf(...many);
  assert.deepEqual([summary.keys.length, summary.isMore], [500, true]);
  assert.equal(told(summary, clock()).text, "500 memos changed. More changed.");
  assert.equal(added(summary, [many[0]], "own").keys.length, 500);
});

/** Returns the text after a person's acts on the timer, each at a number of minutes from now, as
 * the timer's own rules write it; at `end` all countdowns that are over have been written. */
function afterActs(acts, { end = 0, minutesAhead = 0, settings = null } = {}) {
  const page = new TestPage(timerApp);
  if (settings) page.act({ do: "set", settings });
  for (const [act, minutes] of acts) {
    page.now = now + minutes * 60_000;
    page.act({ do: act });
  }
  const current = () => page.state.records.find(({ name }) => name === "current");
  for (;;) {
    const due = timerApp.dueEdit({ zone: "Timer", type: "TimerState", ...current() });
    if (!due || due.dueAt > now + end * 60_000) break;
    current().fields = due.fields;
  }
  return told(summaryOf(record("Timer", "current", current().fields)), clock(minutesAhead)).text;
}

test("the timer's sentence says what it shows, in the person's time", () => {
  assert.equal(afterActs([["start", 0]]), "Timer: focus until 12:25.");
  assert.equal(afterActs([["start", 0]], { minutesAhead: 330 }), "Timer: focus until 17:55.");
  assert.equal(afterActs([["start", -5], ["pause", -1]]), "Timer: focus paused.");
  assert.equal(afterActs([["start", -5], ["stop", -1]]), "Timer: stopped.");
  assert.equal(afterActs([["start", -5], ["skip", -1]]), "Timer: break until 12:04.");
  assert.equal(afterActs([["start", -5], ["skip", -1], ["snooze", 0]]),
    "Timer: snooze until 12:05.");
});

test("the end of a countdown is told, by the edit that another device has made", () => {
  assert.equal(afterActs([["start", -25]]), "Timer: focus is over, break until 12:05.");
  assert.equal(afterActs([["start", -30]]), "Timer: break is over.");
  assert.equal(afterActs([["start", -25]], { settings: { autoStart: false } }),
    "Timer: focus is over, break waits for you.");
  assert.equal(afterActs([["start", -9], ["skip", -6], ["snooze", -5]]),
    "Timer: snooze is over, break until 12:05.");
});

test("a countdown that is over, and that no device has ended yet, is over", () => {
  assert.equal(afterActs([["start", -26]], { end: -26 }), "Timer: focus is over.");
  assert.equal(afterActs([["start", -40], ["skip", -20]], { end: -20 }), "Timer: break is over.");
});

test("a timer that cannot be read has changed", () => {
  const edit = { stateType: "focus", timestamp: now, remaining: 60_000 };
  const wrong = [null, {}, { edits: [] }, { edits: "x" }, { edits: [null] }, { sealed: "x" },
    ...[{ stateType: "siesta" }, { stateType: "toString" }, { stateType: 7 }, { timestamp: "1" },
      { remaining: 2 ** 60 }, { timestamp: Number.NaN }].map((it) =>
      ({ edits: [{ ...edit, ...it }] }))];
  for (const fields of wrong) {
    assert.equal(textOf(record("Timer", "current", fields)), "Timer changed.");
  }
  const far = { edits: [{ ...edit, timestamp: Number.MAX_SAFE_INTEGER - 60_000 }] };
  assert.equal(textOf(record("Timer", "current", far)), "Timer: focus until later.");
  assert.equal(textOf(record("Timer", "current", { edits: [{ ...edit, act: 7 }] })),
    "Timer: focus until 12:01.");
});
