import assert from "node:assert/strict";
import test, { afterEach } from "node:test";
import { HabitContents } from "../../../Sources/WebClient/apps/habits/habitContents.js";
import { habitsApp } from "../../../Sources/WebClient/apps/habits/habitsApp.js";
import { timerApp } from "../../../Sources/WebClient/apps/timer/timerApp.js";
import { figureTexts, habitMonth }
  from "../../../Sources/WebClient/page/habits/habitCalendarModel.js";
import { conflictCards, habitDetail, undoOffer, weekDays }
  from "../../../Sources/WebClient/page/habits/habitsModel.js";
import { reminderText } from "../../../Sources/WebClient/page/habits/reminderTimes.js";
import { chinese } from "../../../Sources/WebClient/page/language/chinese.js";
import { japanese } from "../../../Sources/WebClient/page/language/japanese.js";
import { setLanguage } from "../../../Sources/WebClient/page/language/language.js";
import {
  ago, columnWeekday, duration, longDate, longDay, monthName, shortDay, shortMonth, shortMonthName,
  yearName,
} from "../../../Sources/WebClient/page/text/time.js";
import { endText } from "../../../Sources/WebClient/page/timer/alerts/endText.js";
import { statisticsModel } from "../../../Sources/WebClient/page/timer/statisticsModel.js";
import { timerModel } from "../../../Sources/WebClient/page/timer/timerModel.js";
import { TestPage } from "../support/testPage.js";

const today = "2026-03-15";
const noon = Date.UTC(2026, 2, 15, 12);

const inEnglish = () => setLanguage("en", Object.freeze({}));
const inChinese = () => setLanguage("zh-Hans", chinese);
const inJapanese = () => setLanguage("ja", japanese);

afterEach(inEnglish);

/** Returns the forms of a date, the longest first. */
const formsOf = (date) => [longDay(date), longDate(date), shortDay(date), columnWeekday(date),
  ...[monthName, shortMonthName, shortMonth].map((form) => form(date.slice(0, 7))),
  yearName(date.slice(0, 4))];

test("a date is written as the language has it, and short English names have three letters", () => {
  assert.deepEqual(formsOf("2026-09-15"), ["Tuesday, 15 September 2026", "15 September 2026",
    "Tue 15 Sep", "Tu", "September 2026", "Sep 2026", "Sep", "2026"]);
  inChinese();
  assert.deepEqual(formsOf("2026-09-15"), ["2026年9月15日星期二", "2026年9月15日",
    "9/15 周二", "二", "2026年9月", "2026年9月", "9月", "2026年"]);
  inJapanese();
  assert.deepEqual(formsOf("2026-09-15"), ["2026年9月15日火曜日", "2026年9月15日",
    "9/15 (火)", "火", "2026年9月", "2026年9月", "9月", "2026年"]);
});

test("text that is no date is shown as it is, in each language", () => {
  for (const use of [inEnglish, inChinese, inJapanese]) {
    use();
    for (const odd of ["", "2026-02-30", "12026-03-01", "-001-01-01", "NaN-NaN-NaN"]) {
      assert.equal(longDate(odd), odd);
    }
  }
});

test("ages and durations have their units in the language", () => {
  const ages = () => [0, 5 * 60_000, 36 * 3_600_000, 40 * 86_400_000, -1 * (2 ** 60)]
    .map((passed) => ago(passed < 0 ? passed : noon - passed, noon, 0));
  const durations = () => [45_000, 1_500_000, 5_400_000, 7_200_000].map(duration);
  inChinese();
  assert.deepEqual(ages(), ["刚刚", "5 分钟前", "昨天", "2026年2月3日", "很久以前"]);
  assert.deepEqual(durations(), ["45 秒", "25 分钟", "1 小时 30 分钟", "2 小时"]);
  inJapanese();
  assert.deepEqual(ages(), ["たった今", "5分前", "昨日", "2026年2月3日", "かなり前"]);
  assert.deepEqual(durations(), ["45秒", "25分", "1時間30分", "2時間"]);
});

test("the timer speaks the language that is used when it is shown", () => {
  const page = new TestPage(timerApp);
  const model = () => timerModel(page.state, page.now, 0);
  inJapanese();
  assert.deepEqual([model().phase, model().title, model().spoken],
    ["準備完了", "タイマー", "タイマーの準備ができました。集中は25分です。"]);
  page.act({ do: "start" });
  assert.equal(model().spoken, "集中が進行中です。");
  page.now += 299_000;
  page.act({ do: "pause" });
  assert.deepEqual([model().phase, model().title], ["集中（一時停止中）", "20:00 集中（一時停止中）"]);
  assert.deepEqual(model().orders.map(({ words }) => words), ["再開", "スキップ", "停止"]);
  page.act({ do: "resume" });
  page.now += 1_200_000;
  assert.deepEqual([model().phase, model().count], ["休憩", "1ポモドーロ完了、あと3回で長い休憩"]);
  inChinese();
  assert.deepEqual([model().phase, model().count],
    ["休息", "已完成 1 个番茄钟，再完成 3 个后长休息"]);
  assert.equal(endText({ phase: "focus", next: "breakTime", isPaused: false }), "专注结束。该休息了。");
  assert.deepEqual(["day", "week", "month", "year"].map((unit) =>
    statisticsModel(page.state, page.now, unit).head), ["日", "周", "月", "年"]);
  assert.match(statisticsModel(page.state, page.now, "week").rows[0].label, /^第 \d+ 周$/);
});

test("a habit is told in whole sentences, with the person's own words as they are", () => {
  const page = new TestPage(habitsApp);
  const title = "{date} 走る";
  const { name } = page.act({ do: "add", title, kind: "count", target: 2 }).changes[0];
  page.act({ do: "count", habit: name, day: "2026-03-14", by: 2 });
  const contents = new HabitContents(page.state);
  const entry = contents.habits[0];
  const habit = { title, target: 2, total: 0, place: 1, fields: null };
  const offered = (day) => undoOffer({ do: "count", habit: name, day, by: 1 }, habit, today).words;
  const labels = () => habitMonth(contents, entry, "2026-03", today, today).weeks.flat()
    .filter(Boolean).slice(13, 16).map(({ label }) => label);
  inJapanese();
  assert.deepEqual([offered(today), offered("2026-03-01")],
    ["「{date} 走る」：今日は1 / 2です。", "「{date} 走る」：2026年3月1日は1 / 2です。"]);
  assert.deepEqual(labels(), ["2026年3月14日土曜日：2 / 2、完了", "2026年3月15日日曜日：0 / 2",
    "2026年3月16日月曜日：これから"]);
  inChinese();
  assert.deepEqual(labels(), ["2026年3月14日星期六：2 / 2，已完成", "2026年3月15日星期日：0 / 2",
    "2026年3月16日星期一：未到"]);
  assert.deepEqual(weekDays(today, today).map((day) => day.name).join(""), "一二三四五六日");
  assert.deepEqual(figureTexts(habitDetail(contents, name, today).figures)[1],
    ["最长连续天数", "1 天", "自2026年3月14日起"]);
  const reminded = ["{second}", "b", "c", "d"].map((it) => ({ title: it }));
  assert.equal(reminderText(reminded), "今天尚未完成：“{second}”、“b”、“c”，以及另外 1 个。");
});

test("both versions of a conflict are named in the language, also with their buttons", () => {
  const page = new TestPage(habitsApp);
  const { name } = page.act({ do: "add", title: "Jog", kind: "checkbox", target: 1 }).changes[0];
  page.state.deviceNames = { d: "phone" };
  page.state.asking = [{ zone: "Habits", name, type: "Habit", modifiedAt: page.now, device: "d",
    fields: { title: "Swim", kind: "count", target: 2 } }];
  const [english] = conflictCards(page.state, page.now, 0);
  assert.deepEqual([english.local.keep, english.cloud.keep],
    ["Keep “Jog”, on this browser", "Keep “Swim”, on the other devices"]);
  inJapanese();
  const [{ local, cloud }] = conflictCards(page.state, page.now, 0);
  assert.deepEqual([local.place, local.keep, cloud.aim, cloud.from],
    ["このブラウザ", "このブラウザの「Jog」を残す", "1日2回", "phone、たった今"]);
});
