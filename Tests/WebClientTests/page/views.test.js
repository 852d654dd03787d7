import assert from "node:assert/strict";
import test from "node:test";
import { clipboardApp } from "../../../Sources/WebClient/apps/clipboard/clipboardApp.js";
import { habitsApp } from "../../../Sources/WebClient/apps/habits/habitsApp.js";
import { memoContents } from "../../../Sources/WebClient/apps/memos/memoContents.js";
import { memosApp } from "../../../Sources/WebClient/apps/memos/memosApp.js";
import { timerApp } from "../../../Sources/WebClient/apps/timer/timerApp.js";
import { clipboardRows, imageFileName, sizeText, waitingRows }
  from "../../../Sources/WebClient/page/clipboard/clipboardModel.js";
import {
  arrivalState, arrivalText, codeLifetime, codeOptions, codeZones, deviceRows, freeName,
  lastDeviceWords, newcomers, onlyDeviceText, pairAgainText, removalQuestion,
} from "../../../Sources/WebClient/page/devices/devicesModel.js";
import { problemText } from "../../../Sources/WebClient/page/clipboard/sharedItems.js";
import { copyOfRecords } from "../../../Sources/WebClient/page/devices/lastDevice.js";
import { takeFreeName } from "../../../Sources/WebClient/page/devices/ownName.js";
import { conflictCards, habitRows, weekDays }
  from "../../../Sources/WebClient/page/habits/habitsModel.js";
import { chinese } from "../../../Sources/WebClient/page/language/chinese.js";
import { japanese } from "../../../Sources/WebClient/page/language/japanese.js";
import { setLanguage } from "../../../Sources/WebClient/page/language/language.js";
import { conflictNote, copyLabel, draftRows, memoRows, typedText }
  from "../../../Sources/WebClient/page/memos/memosModel.js";
import { changedSettings, countingIcon, timerModel }
  from "../../../Sources/WebClient/page/timer/timerModel.js";
import { copyOf, removedDevice, signOutQuestion }
  from "../../../Sources/WebClient/page/welcome/welcomeModel.js";
import { TimerSettings } from "../../../Sources/WebClient/apps/timer/timerSettings.js";
import { TestPage } from "../support/testPage.js";

const theirs = "000000000000000b";

test("a person works: the countdown, what can be done, and what follows", () => {
  const page = new TestPage(timerApp);
  const model = () => timerModel(page.state, page.now, 0);
  assert.deepEqual([model().time, model().phase, model().title, model().minutes],
    ["25:00", "Ready", "Timer", null]);
  assert.equal(model().count, "No pomodoro yet, long break after 4");
  assert.deepEqual(model().orders, [{ do: "start", words: "Start focus" }]);
  page.act({ do: "start" });
  page.now += 299_000;
  assert.deepEqual([model().time, model().part, model().title, model().minutes],
    ["20:00", 0.8, "20:00 Focus", 20]);
  assert.deepEqual(model().orders.map((it) => it.do), ["pause", "skip", "stop"]);
  page.act({ do: "pause" });
  assert.deepEqual([model().phase, model().zeroAt, model().orders[0].do],
    ["Focus, paused", null, "resume"]);
  page.act({ do: "resume" });
  page.now += 1_200_000;
  assert.deepEqual([model().phase, model().count, model().dots],
    ["Break", "1 pomodoro done, long break after 3 more", [true, false, false, false]]);
  assert.deepEqual(model().orders.map((it) => it.words),
    ["Pause", "Start focus", "Snooze", "End break", "Stop"]);
});

test("a state of a later version can be left, and no more is pretended", () => {
  const page = new TestPage(timerApp);
  page.addRemote("current", "TimerState", { completedPomodoros: 3, edits: [{
    deviceID: theirs, timestamp: page.now, stateType: "siesta", isPaused: false, remaining: 9_000,
  }] }, page.now);
  const model = timerModel(page.state, page.now, 0);
  assert.equal(model.phase, "Another version's state");
  assert.deepEqual(model.orders.map((it) => it.do), ["start", "stop"]);
  assert.match(model.by, /another device/);
});

test("of the settings what was changed is saved, and nonsense is left to the rules", () => {
  const { words } = new TimerSettings();
  const typed = { autoStart: true, focusMinutes: "50", shortBreakMinutes: "5",
    longBreakMinutes: "15", snoozeMinutes: "5", longBreakEvery: "4" };
  assert.deepEqual(changedSettings(typed, words), { focusMinutes: 50 });
  assert.deepEqual(changedSettings({ ...typed, focusMinutes: " " }, words),
    { focusMinutes: Number.NaN });
  const page = new TestPage(timerApp);
  const settings = changedSettings({ ...typed, focusMinutes: "-1" }, words);
  assert.match(page.refusal({ do: "set", settings }), /focusMinutes/);
});

test("the sign counts minutes, and holds nothing but a drawing", () => {
  const sign = countingIcon(7, { isPaused: false, isFocus: true });
  assert.match(decodeURIComponent(sign), /^data:image\/svg\+xml,<svg .*>7<\/text><\/svg>$/);
});

test("the clipboard is searched in any case, and a long item's row is short", () => {
  const page = new TestPage(clipboardApp);
  page.act({ do: "add", content: "Git log" });
  page.addRemote("far", "ClipboardItem", { content: "x".repeat(5_000) }, page.now + 5);
  const rows = (words) => clipboardRows(page.state, words, page.now, 0);
  assert.deepEqual(rows("").map(({ isCut, text }) => [isCut, text.length]),
    [[true, 1_000], [false, 7]]);
  assert.deepEqual(rows(" GIT ").map((it) => it.text), ["Git log"]);
  assert.match(rows("")[0].from, /^another device, /);
  assert.deepEqual(rows("nothing"), []);
});

test("a row of the clipboard says that it is pinned, and the kind and size of an image", () => {
  const page = new TestPage(clipboardApp);
  const image = { name: "a", bytes: 245_000, chunks: ["ab".repeat(32)] };
  page.act({ do: "addImage", content: "lake.png", image, imageType: "image/png", name: "lake" });
  page.act({ do: "add", content: "text" });
  page.act({ do: "pin", item: "lake" });
  const rows = (words) => clipboardRows(page.state, words, page.now, 0);
  assert.deepEqual(rows("").map(({ text, isPinned, isImage, about }) =>
    [text, isPinned, isImage, about]),
  [["lake.png", true, true, "PNG image, 245 KB"], ["text", false, false, ""]]);
  assert.deepEqual(rows("png image").map(({ key }) => key), ["lake"]);
  page.addRemote("odd", "ClipboardItem", { image, imageType: "text/html" }, page.now);
  assert.equal(rows("").find(({ key }) => key === "odd").about, "Image, 245 KB");
  const waiting = [{ id: "w", content: "sea.gif", imageType: "image/gif",
    bytes: new ArrayBuffer(5) }];
  assert.deepEqual(waitingRows(waiting, "SEA").map(({ about, problem }) => [about, problem]),
    [["GIF image, 5 bytes", ""]]);
  assert.deepEqual(waitingRows(waiting, "lake"), []);
});

test("the file of an image has a name of an image", () => {
  const cases = [["lake.png", "image/png", "lake.png"], ["LAKE.JPEG", "image/jpeg", "LAKE.JPEG"],
    ["bill.exe", "image/png", "bill.exe.png"], [" ", "image/gif", "image.gif"],
    ["page.html", "", "page.html.bin"], ["lake.png", "image/jpeg", "lake.png.jpg"]];
  for (const [content, type, name] of cases) assert.equal(imageFileName(content, type), name);
});

test("a size is told in three digits at most", () => {
  const sizes = [0, 1, 999, 1_000, 245_760, 999_499, 999_500, 4_700_000, 16_000_000];
  assert.deepEqual(sizes.map(sizeText), ["0 bytes", "1 byte", "999 bytes", "1 KB", "246 KB",
    "999 KB", "1 MB", "4.7 MB", "16 MB"]);
});

const textOf = (parts) => parts.map(({ text, isMarked }) => (isMarked ? `[${text}]` : text))
  .join("");

test("a copy that a conflict left says whose text it is", () => {
  const page = new TestPage(memosApp);
  const content = "# Shopping\n- [ ] milk\n- and eggs";
  const { name } = page.act({ do: "add", content }).changes[0];
  const copy = `${name}~${theirs}-1772366400000`;
  page.addRemote(copy, "Memo", { title: "", content: "\nonly", date: 4 }, 4);
  const rows = (words = "") =>
    memoRows(memoContents(page.state), { words, now: page.now, minutesAhead: 0 });
  const [memo, other] = rows();
  assert.deepEqual([textOf(memo.title), textOf(memo.beginning), memo.badge],
    ["Shopping", "milk and eggs", null]);
  assert.deepEqual([textOf(other.title), other.badge],
    ["Untitled", "Other version, by another device"]);
  page.state.deviceNames = { [theirs]: "phone" };
  const [original, left] = memoContents(page.state);
  assert.equal(copyLabel(left), "Other version, by phone");
  assert.equal(conflictNote(original, null, []), null);
  assert.deepEqual(conflictNote(original, null, [left]).copy, left);
  assert.deepEqual(conflictNote(left, original, []).memo, original);
  assert.equal(conflictNote(left, null, []).action, "Keep as a memo");
  assert.equal(textOf(rows("EGGS sho")[0].beginning), "milk and [eggs]");
  assert.equal(textOf(rows("EGGS sho")[0].title), "[Sho]pping");
});

test("a copy, an image and a share are told of in the person's language", () => {
  const page = new TestPage(clipboardApp);
  const image = { name: "a", bytes: 245_000, chunks: ["ab".repeat(32)] };
  page.act({ do: "addImage", content: "湖.png", image, imageType: "image/png", name: "lake" });
  const memo = (name) => ({ name, copyOf: null, copyFrom: null });
  const copies = ["b", "c"].map((name) => ({ name, copyOf: "a", copyFrom: "phone" }));
  const texts = () => [copyLabel(copies[0]), conflictNote(memo("a"), null, copies).words,
    clipboardRows(page.state, "", page.now, 0)[0].about, problemText("tooMany")];
  try {
    setLanguage("zh-Hans", chinese);
    assert.deepEqual(texts(), ["另一个版本（phone）", "在多处被更改：还有 2 个其他版本。",
      "PNG 图片，245 KB", "共享的内容未能全部添加。请重新共享其余部分。"]);
    setLanguage("ja", japanese);
    assert.deepEqual(texts(), ["別のバージョン（phone）",
      "複数の場所で変更されたため、別のバージョンが2件あります。", "PNG 画像、245 KB",
      "共有された内容の一部が追加されませんでした。残りをもう一度共有してください。"]);
  } finally {
    setLanguage("en", Object.freeze({}));
  }
  assert.equal(problemText("tooMany"),
    "Not everything that was shared was added. Share the rest again.");
});

test("a draft of a memo that is not saved has a row", () => {
  const [row] = draftRows([{ memo: "a", content: "\nPlan\nfor spring" }]);
  assert.deepEqual([row.key, textOf(row.title), textOf(row.beginning), row.badge],
    ["a", "Plan", "for spring", "Draft"]);
});

test("a habit's row tells the chosen day, and the week beside it", () => {
  const page = new TestPage(habitsApp);
  const { name } = page.act({ do: "add", title: "Water", kind: "count", target: 2 }).changes[0];
  page.act({ do: "count", habit: name, day: "2026-03-14", by: 2 });
  page.act({ do: "count", habit: name, day: "2026-03-15", by: 1 });
  const row = (chosen) => habitRows(page.state, "2026-03-15", chosen)[0];
  assert.deepEqual([row("2026-03-15").total, row("2026-03-15").done], [1, false]);
  assert.deepEqual([row("2026-03-14").total, row("2026-03-14").done], [2, true]);
  assert.equal(row("2026-03-15").week, "1 of 7 days");
  assert.deepEqual(row("2026-03-15").marks.slice(-2), [
    { isDone: true, isBegun: true, isChosen: false },
    { isDone: false, isBegun: true, isChosen: true },
  ]);
  const days = weekDays("2026-03-02", "2026-02-28");
  assert.deepEqual(days.map((it) => it.number), ["24", "25", "26", "27", "28", "1", "2"]);
  assert.deepEqual(days.filter((it) => it.isChosen).map((it) => it.label),
    ["Saturday, 28 February 2026"]);
});

test("a habit changed in two places is asked about, with both versions", () => {
  const page = new TestPage(habitsApp);
  const { name } = page.act({ do: "add", title: "Jog", kind: "checkbox", target: 1 }).changes[0];
  const cloud = { zone: "Habits", name, type: "Habit", modifiedAt: page.now, device: theirs };
  page.state.deviceNames = { [theirs]: "phone", [page.state.device]: "this browser" };
  page.state.asking = [{ ...cloud, fields: { title: "Swim", kind: "count", target: 2 } }];
  const [card] = conflictCards(page.state, page.now, 0);
  assert.equal(card.title, "Jog");
  assert.deepEqual([card.local.title, card.local.aim], ["Jog", "Once a day"]);
  assert.deepEqual([card.cloud.title, card.cloud.aim, card.cloud.from],
    ["Swim", "2 times a day", "by phone, just now"]);
  page.state.asking = [{ ...cloud, fields: null, deleted: true }];
  assert.equal(conflictCards(page.state, page.now, 0)[0].cloud.title, "Deleted");
  assert.deepEqual([card.local.canStay, card.cloud.canStay], [true, true]);
});

test("a browser that may only read can end a conflict with the others' version alone", () => {
  const page = new TestPage(habitsApp);
  const { name } = page.act({ do: "add", title: "Jog", kind: "checkbox", target: 1 }).changes[0];
  page.state.asking = [{ zone: "Habits", name, type: "Habit", modifiedAt: page.now,
    device: theirs, fields: { title: "Swim", kind: "count", target: 2 } }];
  const [card] = conflictCards(page.state, page.now, 0, { access: "read" });
  assert.deepEqual([card.local.canStay, card.cloud.canStay], [false, true]);
  assert.match(card.words, /may only read/);
});

test("a memo's text is compared with a text field's as that field has it", () => {
  assert.equal(typedText("one\r\ntwo\rthree\n\nfour"), "one\ntwo\nthree\n\nfour");
});

test("of the devices this one stands first, then who is connected", () => {
  const now = 1_772_366_400_000;
  const device = (deviceID, connected, lastSeen) =>
    ({ deviceID, deviceName: deviceID, platform: "linux", connected, lastSeen });
  const rows = deviceRows([
    device("old", false, now - 300_000), device("here", false, now), device("new", false, now),
    device("there", true, now - 9_000_000),
  ], "here", now, 0);
  assert.deepEqual(rows.map((it) => it.key), ["here", "there", "new", "old"]);
  assert.deepEqual(rows.map((it) => it.about), ["Seen just now · linux · joined 2nd",
    "Connected now · linux · joined last", "Seen just now · linux · joined 3rd",
    "Seen 5 min ago · linux · joined first"]);
  const named = { deviceID: "named", deviceName: "laptop", platform: "linux" };
  assert.deepEqual(deviceRows([named], "here", now, 0).map((it) => [it.name, it.about]),
    [["laptop", "linux"]]);
  assert.deepEqual([601_000, 60_000, 0].map((left) => codeLifetime(now + left, now)), [
    "For one device, within 11 minutes.", "For one device, within a minute.",
    "This code is too old. Show a new one.",
  ]);
});

test("a device for a part of the account has its part in its row, and others have none", () => {
  const device = { deviceID: "a", deviceName: "tablet", platform: "web" };
  const scope = { zones: ["Memos"], access: "read" };
  const rows = deviceRows([device, { ...device, deviceID: "b", scope }], "a", 0, 0);
  assert.deepEqual(rows.map((it) => it.scope), ["", "Only Memos, read-only"]);
});

test("a code may be for the apps, the vault and other zones, or for what this browser has", () => {
  const apps = ["Timer", "Clipboard", "Memos", "Habits", "Vault"];
  assert.deepEqual(codeZones(null, []), apps);
  assert.deepEqual(codeZones({ access: "read" }, ["Todos", "Memos", "Books", "Keys", "Todos"]),
    [...apps, "Books", "Todos"]);
  assert.deepEqual(codeZones({ zones: ["Memos"], access: "write" }, ["Memos"]), ["Memos"]);
  assert.equal(codeZones(null, Array.from({ length: 40 }, (_, at) => `z${at}`)).length, 16);
});

test("a person is asked about the new keys, and told who cannot get them", () => {
  const row = { label: "phone (2 of 2)", about: "Seen 5 min ago · web · joined last" };
  assert.doesNotMatch(removalQuestion(row, false).words, /keys/);
  assert.match(removalQuestion(row, true).words, /new keys first; a recovery phrase/);
  assert.equal(removalQuestion(row, true).title, "Remove “phone (2 of 2)”?");
  assert.match(removalQuestion(row, true).words,
    /^It is not this browser: seen 5 min ago · web · joined last\. /);
  assert.equal(pairAgainText([]), null);
  assert.match(pairAgainText([{ deviceName: "phone" }, { deviceName: "desk" }]),
    /^“phone”, “desk” could not get the account's new keys.* pair again with a code/);
});

test("devices of one name are told apart, and each says in which place it joined", () => {
  const device = (deviceID, deviceName) =>
    ({ deviceID, deviceName, platform: "web", connected: true });
  const rows = deviceRows(
    [device("a", "Chrome"), device("b", "Chrome"), device("c", "laptop")], "b", 0, 0);
  assert.deepEqual(rows.map(({ label, about }) => [label, about]), [
    ["Chrome (2 of 2)", "Connected now · web · joined 2nd"],
    ["Chrome (1 of 2)", "Connected now · web · joined first"],
    ["laptop", "Connected now · web · joined last"],
  ]);
  const many = Array.from({ length: 24 }, (_, at) => device(`d${at}`, `n${at}`));
  assert.deepEqual(deviceRows(many, "", 0, 0).map(({ about }) => about.split(" ").at(-1)), [
    "first", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th", "10th", "11th", "12th", "13th",
    "14th", "15th", "16th", "17th", "18th", "19th", "20th", "21st", "22nd", "23rd", "last",
  ]);
});

test("a default name is the first that no other device has", () => {
  assert.equal(freeName("Chrome on Linux", ["laptop"]), "Chrome on Linux");
  assert.equal(freeName("Chrome on Linux", ["Chrome on Linux"]), "Chrome on Linux 2");
  assert.equal(freeName("Chrome on Linux",
    ["Chrome on Linux 2", "Chrome on Linux", "Chrome on Linux 4"]), "Chrome on Linux 3");
});

/** A relay's list of devices, in the order in which they joined. */
class TestDevices {
  constructor(own, ...names) {
    this.list = names.map((deviceName, at) => ({ deviceID: String(at), deviceName }));
    this.status = { deviceID: String(own) };
    this.renames = [];
  }

  async devices() { return structuredClone(this.list); }

  async rename(deviceID, deviceName) {
    this.renames.push(deviceName);
    this.list.find((it) => it.deviceID === deviceID).deviceName = deviceName;
  }
}

test("who joins later gives way, also if two join at once", async () => {
  const names = (devices) => devices.list.map(({ deviceName }) => deviceName);
  const third = new TestDevices(2, "Chrome", "Chrome 2", "Chrome");
  await takeFreeName(third, "Chrome");
  assert.deepEqual(names(third), ["Chrome", "Chrome 2", "Chrome 3"]);
  const first = new TestDevices(0, "Chrome", "Chrome");
  await takeFreeName(first, "Chrome");
  assert.deepEqual(first.renames, []);
  // The one before has taken the same name meanwhile.
  const late = new TestDevices(2, "Chrome", "Chrome", "Chrome");
  const { rename } = late;
  late.rename = async (...change) => {
    late.rename = rename;
    late.list[1].deviceName = "Chrome 2";
    await late.rename(...change);
  };
  await takeFreeName(late, "Chrome");
  assert.deepEqual(names(late), ["Chrome", "Chrome 2", "Chrome 3"]);
  // A device for a part of the account sees itself alone, or not even that.
  for (const devices of [new TestDevices(0, "Chrome"), new TestDevices(5, "Chrome")]) {
    await takeFreeName(devices, "Chrome");
    assert.deepEqual(devices.renames, []);
  }
});

test("who has joined with a shown code is named", () => {
  const devices = ["a", "b", "c"].map((it) => ({ deviceID: it, deviceName: `phone ${it}` }));
  assert.deepEqual(newcomers(devices, ["a", "b", "c", "gone"]), []);
  assert.equal(arrivalText(newcomers(devices, ["a", "b"]), "joined", false),
    "“phone c” joined. The code is used.");
  assert.match(arrivalText(newcomers(devices, ["a"]), "joined", true),
    /^“phone b” and “phone c” joined\. The code is used\. Compare the check words below/);
});

test("a device has joined once it has opened the account", () => {
  const whole = { deviceID: "a", deviceName: "phone" };
  const limited = { ...whole, deviceID: "b", scope: { zones: ["Memos"], access: "write" } };
  const state = (devices, { carriesKeys = true, keys = [] } = {}) =>
    arrivalState(devices, { carriesKeys, hasKey: (device) => keys.includes(device) });
  assert.equal(state([whole]), "opening");
  assert.equal(state([{ ...whole, scope: null }]), "opening");
  assert.equal(state([whole], { keys: ["a"] }), "joined");
  assert.equal(state([whole], { carriesKeys: false }), "joined");
  assert.equal(state([limited]), "limited");
  assert.equal(state([limited, whole]), "opening");
  assert.equal(state([]), "gone");
  assert.equal(arrivalText([whole], "opening", true),
    "The code was used by “phone”. The account is being opened there.");
  assert.equal(arrivalText([whole], "gone", true),
    "The account was not opened by “phone”. Show a new code, and try again.");
  // A device for a part of the account has no check words.
  assert.equal(arrivalText([limited], "limited", true), "The code was used by “phone”.");
});

test("who signs out of the last device is told what brings the account back", () => {
  const state = { unsent: 0, isOffline: false };
  const sealed = lastDeviceWords(true, state).join(" ");
  assert.match(sealed, /a pairing code of the relay's owner, and the recovery phrase/);
  assert.match(onlyDeviceText(true), /a code of the relay's owner and the recovery phrase bring/);
  assert.match(onlyDeviceText(false), /a code of the relay's owner brings the account back\.$/);
  const plain = lastDeviceWords(false, { unsent: 2, isOffline: true }).join(" ");
  assert.doesNotMatch(plain, /phrase/);
  assert.match(plain, /2 changes that the relay does not have would be lost/);
  assert.match(plain, /stays in the account's list/);
  const records = [{ zone: "Keys", name: "ring", type: "Ring", fields: {} },
    { zone: "Memos", name: "m", type: "Memo", fields: { content: "x" }, modifiedAt: 5 }];
  assert.deepEqual(JSON.parse(copyOfRecords(records)),
    { records: [{ zone: "Memos", name: "m", type: "Memo", fields: { content: "x" } }] });
});

test("what a person does not limit is not sent, and no app at all is no choice", () => {
  const free = { zones: null, isReadOnly: false, seconds: 0 };
  assert.deepEqual(codeOptions(free), {});
  assert.deepEqual(codeOptions({ zones: ["Memos"], isReadOnly: true, seconds: 60 }),
    { zones: ["Memos"], access: "read", expiresIn: 60 });
  assert.equal(codeOptions({ ...free, zones: [] }), null);
});

test("a browser that was removed shows what it still holds, and can be signed out", () => {
  const removed = { state: "needsPairing", accountID: "a", reason: "revoked.", waiting: 2,
    parkedCount: 1, askingCount: 0 };
  assert.equal(removedDevice({ ...removed, accountID: null }, []), null, "it never was a device");
  const unsent = [
    { zone: "Memos", name: "m", type: "Memo", fields: { title: "Milk", content: "two litres" } },
    { zone: "Clipboard", name: "c", type: "Item", fields: { content: "from the page" } },
    { zone: "Habits", name: "h", type: "Habit", fields: null },
    { zone: "Memos", name: "n", type: "Memo", fields: { title: "# Plan", content: "# Plan" } },
  ];
  const left = removedDevice(removed, unsent);
  assert.match(left.why, /not a device of its account any more/);
  assert.equal(left.title, "4 changes that no other device has");
  assert.deepEqual(left.rows, ["Memos: Milk", "Clipboard: from the page",
    "Habits: something was deleted", "Memos: Plan"]);
  assert.match(left.hint, /sign out first/);
  const many = removedDevice(removed, Array.from({ length: 50 }, () => unsent[0]));
  assert.deepEqual([many.rows.length, many.rest], [20, 30]);
  assert.deepEqual(JSON.parse(copyOf(unsent)), { changes: unsent });
  const question = signOutQuestion(removed, 0);
  assert.deepEqual([question.yes, question.hasUnsent], ["Sign out and lose them", true]);
  assert.match(question.words, /3 changes that no other device has would be lost/);
  const clean = signOutQuestion({ ...removed, waiting: 0, parkedCount: 0 }, 0);
  assert.deepEqual([clean.yes, clean.hasUnsent], ["Sign out", false]);
});
