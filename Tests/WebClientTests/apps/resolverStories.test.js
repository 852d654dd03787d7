import assert from "node:assert/strict";
import test from "node:test";
import { resolverFor } from "../../../Sources/WebClient/apps/appCatalog.js";
import { titleOf } from "../../../Sources/WebClient/apps/memos/memoResolver.js";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { withoutStamps } from "../../../Sources/WebClient/model/stamps.js";
import { parse } from "../../../Sources/WebClient/json/jsonParser.js";
import { act, edit, timer, version } from "../support/conflicts.js";
import { permutations } from "../support/sharedRecord.js";

/** Resolves two versions, of which `b`'s is newer, in both directions; the results must be the
 * same. */
function resolved(type, base, one, other) {
  const conflict = {
    base: base === undefined ? null : version(base),
    local: version(one, { at: 1, by: "a" }), server: version(other, { at: 2, by: "b" }),
  };
  const there = resolverFor(type).resolve(conflict);
  const back = resolverFor(type).resolve(
    { ...conflict, local: conflict.server, server: conflict.local });
  assert.deepEqual(there, back);
  return there.ask ? there : { ...there, merged: withoutStamps(there.merged) };
}

/** Returns the fields of a resolution that leaves no copy. */
function merged(type, base, one, other) {
  const { merged, copies } = resolved(type, base, one, other);
  assert.deepEqual(copies, []);
  return merged;
}

const started = timer(1, edit("mac", 0, "idle"));
const clash = (one, other, base = started) => merged("TimerState", base, one, other);

test("an act that was replaced does not come back, even if no base is known", () => {
  const focus = edit("phone", 1_000, "focus", { left: 60_000 });
  const replaces = [{ deviceID: "phone", timestamp: 1_000 }];
  const stop = { ...edit("mac", 1_500, "idle"), replaces };
  assert.deepEqual(clash(timer(0, focus), timer(0, stop), undefined), timer(0, stop));
  // An end of the focus that another device noticed is the same act.
  const ended = {
    ...edit("phone", 2_000, "breakTime", { left: 5_000 }),
    act: act(1_000, "focus", { left: 60_000 }),
  };
  assert.deepEqual(clash(timer(0, ended), timer(0, stop), undefined).edits, [stop]);
  // No act replaces a later one, whatever a program writes.
  const odd = { ...focus, replaces: [{ deviceID: "mac", timestamp: 1_500 }] };
  assert.deepEqual(clash(timer(0, odd), timer(0, stop), undefined), timer(0, stop));
  const stranger = { ...stop, replaces: [7, { deviceID: "phone" }, { timestamp: 1_000 }] };
  assert.deepEqual(
    clash(timer(0, focus), timer(0, stranger), undefined), timer(0, focus, stranger));
});

test("of two buttons pressed at once focus stands, then break, snooze and idle", () => {
  const focus = edit("a", 1_000, "focus", { left: 60_000 });
  const rest = edit("b", 3_000, "breakTime", { left: 60_000 });
  const snooze = edit("b", 3_000, "snooze", { left: 60_000 });
  const idle = edit("b", 3_000, "idle");
  const later = edit("a", 1_000, "daydream", { left: 1 });
  assert.deepEqual(clash(timer(0, focus), timer(0, rest)), timer(0, focus, rest));
  assert.deepEqual(clash(timer(0, idle), timer(0, focus)), timer(0, focus, idle));
  assert.deepEqual(clash(timer(0, snooze), timer(0, rest)), timer(0, rest, snooze));
  assert.deepEqual(clash(timer(0, later), timer(0, idle)), timer(0, idle, later));
});

test("of two focuses the one with less left stands, as of the newer, then the newer", () => {
  // At 3,000 the running one has 58 s left, the paused one still 59 s.
  const running = edit("a", 1_000, "focus", { left: 60_000 });
  const paused = edit("b", 3_000, "focus", { left: 59_000, paused: true });
  assert.deepEqual(clash(timer(0, running), timer(0, paused)), timer(0, running, paused));
  // A countdown does not go below 0, so the newer one comes first.
  const over = edit("a", 1_000, "focus", { left: 500 });
  const end = edit("b", 3_000, "focus", { left: 0 });
  assert.deepEqual(clash(timer(0, over), timer(0, end)), timer(0, end, over));
  const capital = edit("Mac", 3_000, "idle");
  const chinese = edit("电脑", 3_000, "idle");
  assert.deepEqual(clash(timer(0, capital), timer(0, chinese)), timer(0, chinese, capital));
});

test("what time made on a device that was away gives way to what a person did elsewhere", () => {
  // Two devices know a focus. On one of them it ends, and its break too; on the other a person has
  // begun the next focus long before that break ended.
  const focus = act(0, "focus", { left: 60_000 });
  const first = timer(0, { ...focus, deviceID: "mac" });
  const away = timer(1, { ...edit("mac", 360_000, "idle"), act: focus });
  const begun = timer(1, edit("phone", 70_000, "focus", { left: 1_500_000 }));
  assert.deepEqual(clash(away, begun, first), begun);
  const stopped = timer(1, edit("phone", 61_000, "idle"));
  assert.deepEqual(clash(away, stopped, first), stopped);
});

test("of two versions of one act the one further along stands, and its age is the act's", () => {
  const focus = act(0, "focus", { left: 60_000 });
  const first = timer(0, { ...focus, deviceID: "mac" });
  const rest = { ...edit("mac", 60_000, "breakTime", { left: 300_000 }), act: focus };
  const idle = timer(1, { ...edit("mac", 360_000, "idle"), act: focus });
  assert.deepEqual(clash(timer(1, rest), idle, first), idle);
  assert.deepEqual(clash(timer(1, rest), idle, timer(0)), idle);
  // An edit of a program that does not know acts is not kept together with an edit that it
  // replaced.
  const plain = timer(1, edit("mac", 60_000, "breakTime", { left: 300_000 }));
  assert.deepEqual(clash(timer(1, rest), plain, first), plain);
  const pause = edit("phone", 5_000, "focus", { left: 55_000, paused: true });
  assert.deepEqual(clash(timer(0, rest), timer(0, pause)), timer(0, pause, rest));
  const later = edit("phone", 5_001, "focus", { left: 54_999, paused: true });
  assert.deepEqual(clash(timer(0, rest), timer(0, later)), timer(0, later));
});

test("beyond five seconds the newer button simply wins", () => {
  const focus = edit("a", 1_000, "focus", { left: 60_000 });
  const [inside, beyond] = [edit("b", 6_000, "idle"), edit("b", 6_001, "idle")];
  assert.deepEqual(clash(timer(0, focus), timer(0, inside)), timer(0, focus, inside));
  assert.deepEqual(clash(timer(0, focus), timer(0, beyond)), timer(0, beyond));
});

test("what was overwritten does not come back, and a count never goes back", () => {
  const first = edit("a", 1_000, "focus", { left: 60_000 });
  const second = edit("b", 1_500, "breakTime", { left: 60_000 });
  const third = edit("c", 2_000, "idle");
  assert.deepEqual(
    clash(timer(7, third), timer(2, first, second), timer(0, first)), timer(7, second, third));
  // If none would be left, all stay.
  assert.deepEqual(
    clash(timer(0, first), timer(0, second), timer(0, second, first)), timer(0, first, second));
  // The end of a countdown that both sides recorded is kept once.
  assert.deepEqual(clash(timer(2, third), timer(2, third)), timer(2, third));
});

test("fields that no rule names travel with the newer version", () => {
  const focus = { ...edit("a", 1_000, "focus", { left: 60_000 }), sessionID: "x" };
  const idle = edit("b", 2_000, "idle");
  assert.deepEqual(
    clash({ ...timer(0, focus), theme: "dark" }, { ...timer(0, idle), theme: "light" }),
    { ...timer(0, focus, idle), theme: "light" });
  const other = { ...focus, sessionID: "y" };
  assert.deepEqual(clash(timer(0, focus), timer(0, other)), timer(0, other));
});

test("counts beyond 2⁵³ keep every digit", () => {
  const [one, other] = ["9007199254740992", "9007199254740993"].map((count) =>
    parse(`{"completedPomodoros":${count},"edits":[]}`));
  assert.equal(
    serialize(clash(other, one)), '{"completedPomodoros":9007199254740993,"edits":[]}');
  const counts = ["9007199254740993", "9007199254740992"].map((count) =>
    parse(`{"counts":{"mac":${count}}}`));
  assert.equal(
    serialize(merged("CheckIn", undefined, ...counts)), '{"counts":{"mac":9007199254740993}}');
});

test("settings merge one by one; a change outlives a delete", () => {
  const base = { focusMinutes: 25, longBreakEvery: 4, snoozeMinutes: 5 };
  assert.deepEqual(
    merged("Settings", base,
      { focusMinutes: 30, autoStart: false, snoozeMinutes: 5 },
      { focusMinutes: 50, longBreakEvery: 4, snoozeMinutes: null }),
    { focusMinutes: 50, autoStart: false, snoozeMinutes: null });
  assert.deepEqual(merged("Settings", base, base, null), base);
  assert.equal(merged("Settings", base, null, null), null);
  // The same letter in two encodings is two names.
  assert.deepEqual(
    Object.keys(merged("Settings", undefined, { "é": 1 }, { "e\u0301": 2 })).length, 2);
});

test("a clipboard's item is its newer version; at one instant a delete wins", () => {
  const item = { content: "a" };
  assert.deepEqual(merged("ClipboardItem", undefined, null, item), item);
  assert.equal(merged("ClipboardItem", undefined, item, null), null);
  const tie = (local, server) => withoutStamps(resolverFor("ClipboardItem").resolve({
    base: null, local: version(local, { by: "z" }), server: version(server, { by: "a" }),
  }).merged);
  assert.equal(tie(item, null), null);
  assert.deepEqual(tie(item, { content: "b" }), item);
  assert.ok(resolverFor("ClipboardItem").takesNewestStamp);
});

const memo = (content, date) => ({ title: titleOf(content), content, date });

test("of two texts of a memo the newer stays, and the other is kept whole beside it", () => {
  assert.deepEqual(
    resolved("Memo", memo("milk", 1), memo("milk\neggs", 9), memo("bread", 8)),
    {
      merged: memo("bread", 9),
      copies: [{ name: "current~a-1", fields: memo("milk\neggs", 9) }],
    });
  // A text changed on one side only takes that side's value, and the same text on both sides leaves
  // no copy.
  const untouched = { ...memo("milk", 1), colour: "red" };
  assert.deepEqual(
    merged("Memo", memo("milk", 1), memo("eggs", 2), untouched),
    { ...memo("eggs", 2), colour: "red" });
  assert.deepEqual(
    merged("Memo", memo("milk", 1), untouched, memo("eggs", 2)),
    { ...memo("eggs", 2), colour: "red" });
  assert.deepEqual(
    merged("Memo", memo("milk", 1), memo("eggs", 3), memo("eggs", 2)), memo("eggs", 3));
  assert.deepEqual(merged("Memo", memo("milk", 1), memo("eggs", 3), null), memo("eggs", 3));
});

test("a memo's title is the beginning of its first line", () => {
  const titles = [
    ["", ""], ["\nbody", ""], ["Plan\n- one", "Plan"], ["Plan\r\n- one", "Plan\r"],
    ["😀".repeat(120), "😀".repeat(100)], ["e\u0301".repeat(80), "e\u0301".repeat(50)],
  ];
  for (const [content, title] of titles) assert.equal(titleOf(content), title);
});

test("a copy's name has room in a record's name, and is cut between characters", () => {
  for (let length = 70; length <= 90; length += 1) {
    const name = `${"电".repeat(length)}é`;
    const conflict = {
      base: null, local: { ...version({ content: "a" }, { at: 1, by: "a" }), name },
      server: { ...version({ content: "b" }, { at: 2, by: "b" }), name },
    };
    const [copy] = resolverFor("Memo").resolve(conflict).copies;
    const bytes = Buffer.byteLength(copy.name);
    assert.ok(copy.name.endsWith("~a-1") && !copy.name.includes("\ufffd"));
    assert.ok(bytes <= 255 && (bytes > 251 || copy.name === `${name}~a-1`), copy.name);
  }
});

test("a habit's own words are for the person to choose", () => {
  const run = { title: "Run", kind: "checkbox", target: 1 };
  assert.deepEqual(merged("Habit", undefined, run, { target: 1, kind: "checkbox", title: "Run" }),
    run);
  assert.equal(merged("Habit", run, null, null), null);
  for (const other of [{ ...run, target: 2 }, null]) {
    assert.deepEqual(resolved("Habit", run, run, other), { ask: true });
  }
});

test("whatever the order in which devices' counts meet, the sums are the same", () => {
  const days = [
    { counts: { a: 1 } }, { counts: { a: 2 }, undone: { a: 1 } }, { counts: { b: 5 } },
    { counts: { b: 4, c: 1 } },
  ];
  for (const [first, ...rest] of permutations(days)) {
    const met = rest.reduce((counts, day) => merged("CheckIn", undefined, counts, day), first);
    assert.deepEqual(met, { counts: { a: 2, b: 5, c: 1 }, undone: { a: 1 } });
  }
  assert.deepEqual(
    merged("CheckIn", undefined, { done: true, counts: "x" }, { done: false, counts: { a: 1 } }),
    { done: false, counts: { a: 1 } });
  assert.deepEqual(merged("CheckIn", undefined, { done: true }, null), { done: true });
});
