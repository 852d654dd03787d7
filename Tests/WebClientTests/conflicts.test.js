import assert from "node:assert/strict";
import test from "node:test";
import { apps } from "../../Sources/WebClient/apps/appCatalog.js";
import { clipboardApp } from "../../Sources/WebClient/apps/clipboard/clipboardApp.js";
import { habitConflicts, habitWeek } from "../../Sources/WebClient/apps/habits/habitWeek.js";
import { habitsApp } from "../../Sources/WebClient/apps/habits/habitsApp.js";
import { memoContents } from "../../Sources/WebClient/apps/memos/memoContents.js";
import { memosApp } from "../../Sources/WebClient/apps/memos/memosApp.js";
import { timerApp } from "../../Sources/WebClient/apps/timer/timerApp.js";
import { timerScreen } from "../../Sources/WebClient/apps/timer/timerScreen.js";
import { worldOf } from "./client/support/device.js";
import { Browser, inState, until } from "./client/support/page.js";
import { decisionOf, editsOf, stateOf } from "./support/person.js";
import { needsProgram } from "./support/program.js";
import { RelayProcess } from "./support/relayProcess.js";

// The apps together with the client: two pages that were offline return, and end in the same state.

const noon = 1_772_366_400_000;
const day = "2026-03-01";

/** A person with the apps on a device; each act takes a second. */
class Person {
  constructor(device) {
    this.device = device;
    device.now = noon;
  }

  act(app, action, at = this.device.now + 1_000) {
    this.device.now = at;
    const random = (count) => this.device.random.bytes(count);
    this.change(editsOf(app, action, random));
  }

  change(make) {
    const { error } = this.device.step({ task: "change", make });
    if (error) throw error;
  }

  decide(action) {
    const decision = decisionOf(habitsApp, this.state, action);
    const { error } = this.device.step({ task: "decide", decision });
    if (error) throw error;
  }

  get state() { return stateOf(this.device.live, this.device.summary.asking, this.device.id); }

  name(type, title) {
    return this.device.live.find((it) =>
      it.type === type && [it.fields.title, it.fields.content].includes(title))?.name;
  }
}

/** Returns two persons with the same content. */
function persons() {
  const [relay, phone, laptop] = worldOf(apps, "phone", "laptop");
  const [ann, bob] = [new Person(phone), new Person(laptop)];
  ann.act(memosApp, { do: "add", content: "Milk" });
  ann.act(clipboardApp, { do: "add", content: "copied" });
  ann.act(clipboardApp, { do: "add", content: "secret" });
  ann.act(habitsApp, { do: "add", title: "Run", kind: "checkbox", target: 1 });
  ann.act(habitsApp, { do: "add", title: "Water", kind: "count", target: 4 });
  phone.sync(relay);
  laptop.sync(relay);
  return { relay, ann, bob };
}

/** Makes the changes of both; neither person has seen the other's. */
function actOffline({ ann, bob }) {
  const at = noon + 60_000;
  ann.act(timerApp, { do: "start" }, at);
  bob.act(timerApp, { do: "start", length: 600_000 }, at + 4_000);

  const memo = ann.name("Memo", "Milk");
  ann.act(memosApp, { do: "edit", memo, was: "Milk", content: "Milk\nEggs" }, at + 10_000);
  bob.act(memosApp, { do: "edit", memo, was: "Milk", content: "Milk\nTea" }, at + 11_000);

  // A later version of the page may let a person edit a clipboard item.
  const corrected = (content, text) => ({ records }) => records("Clipboard")
    .filter(({ fields }) => fields.content === content)
    .map(({ zone, name, type }) => ({ zone, name, type, fields: { content: text } }));
  const [copied, secret] = ["copied", "secret"].map((it) => ann.name("ClipboardItem", it));
  ann.act(clipboardApp, { do: "remove", item: copied }, at + 20_000);
  bob.device.now = at + 21_000;
  bob.change(corrected("copied", "corrected"));
  bob.change(corrected("secret", "no secret"));
  ann.act(clipboardApp, { do: "remove", item: secret }, at + 22_000);

  const [run, water] = ["Run", "Water"].map((it) => ann.name("Habit", it));
  ann.act(habitsApp, { do: "edit", habit: run, title: "Walk" }, at + 30_000);
  bob.act(habitsApp, { do: "edit", habit: run, title: "Swim" }, at + 31_000);
  ann.act(habitsApp, { do: "count", habit: water, day, by: 3 }, at + 32_000);
  bob.act(habitsApp, { do: "count", habit: water, day, by: 2 }, at + 33_000);
  bob.act(habitsApp, { do: "count", habit: water, day, by: -1 }, at + 34_000);
  return { memo, run };
}

const shown = (records) => records.map(({ zone, name, type, fields, modifiedAt, device }) =>
  ({ zone, name, type, fields, modifiedAt, device }))
  .sort((one, other) => (one.zone + one.name < other.zone + other.name ? -1 : 1));

for (const [first, second] of [["ann", "bob"], ["bob", "ann"]]) {
  test(`${first} comes back before ${second}: both end alike, as the rules demand`, () => {
    const all = persons();
    const { relay } = all;
    const { memo, run } = actOffline(all);
    const [before, after] = [all[first], all[second]];
    before.device.now = after.device.now = noon + 120_000;
    before.device.sync(relay);
    after.device.sync(relay);

    // Everything except the habit is saved; of the habit both versions are shown, and none is
    // chosen.
    assert.equal(after.device.summary.unsent, 0);
    const [conflict] = habitConflicts(after.state);
    const titles = { ann: "Walk", bob: "Swim" };
    assert.deepEqual([conflict.name, conflict.local.title, conflict.cloud.title],
      [run, titles[second], titles[first]]);
    assert.equal(habitConflicts(before.state).length, 0);

    after.decide({ do: "keep", habit: run, version: second === "bob" ? "local" : "cloud" });
    for (const person of [after, before, after]) person.device.sync(relay);
    assert.deepEqual(after.device.summary.asking, []);
    for (const { device } of [before, after]) {
      assert.deepEqual(shown(device.live), shown(relay.live));
    }

    const { state } = before;
    const timer = timerScreen(state, noon + 65_000);
    assert.deepEqual([timer.stateType, timer.device, timer.remaining],
      ["focus", "laptop", 599_000], "of two that run, the one with the least time left");
    const current = state.records.find(({ name }) => name === "current");
    assert.equal(current.fields.edits.length, 2, "the other is concurrent, and kept");

    const memos = memoContents(state).map(({ name, content, copyOf }) => [name, content, copyOf]);
    assert.deepEqual(memos, [
      [memo, "Milk\nTea", null],
      [`${memo}~phone-${noon + 70_000}`, "Milk\nEggs", memo],
    ]);

    const items = state.records.filter(({ zone }) => zone === "Clipboard");
    assert.deepEqual(items.map(({ fields }) => fields.content), ["corrected"], "the newer stands");

    const week = habitWeek(state, day);
    assert.deepEqual(week.map(({ title, days }) => [title, days[6].total, days[6].done]),
      [["Swim", 0, false], ["Water", 4, true]], "each counts its own");
  });
}

test("what is copied on both is cut to the newest hundred, once both are there", () => {
  const [relay, phone, laptop] = worldOf(apps, "phone", "laptop");
  const [ann, bob] = [new Person(phone), new Person(laptop)];
  const copied = Array.from({ length: 120 }, (_, at) => ({ content: String(at), at: noon + at }));
  for (const { content, at } of copied) {
    (at % 2 === 0 ? ann : bob).act(clipboardApp, { do: "add", content }, at);
  }
  phone.now = laptop.now = noon + 1_000;
  for (const device of [phone, laptop, phone]) device.sync(relay);
  for (const device of [phone, laptop]) {
    assert.deepEqual(device.live.map(({ fields }) => Number(fields.content)).sort((a, b) => a - b),
      copied.slice(20).map(({ content }) => Number(content)));
  }
});

test("on a live relay: what two pages did offline meets, and a person decides for both",
  { ...needsProgram, timeout: 60_000 }, async (context) => {
    const relay = await RelayProcess.start();
    context.after(() => relay.remove());
    const browsers = [new Browser(), new Browser()];
    const pages = [];
    for (const browser of browsers) {
      const page = await browser.open(relay, { apps });
      context.after(() => page.close());
      if (pages.length === 0) await page.createAccount({ deviceName: "page" });
      else await page.join((await pages[0].issueCode()).code, { deviceName: "page" });
      await until(page, inState("inSync"));
      pages.push(page);
    }
    const [one, two] = pages;
    const titles = (page) => page.records("Habits").map(({ fields }) => fields.title);
    const isAt = (title) => (page) => titles(page).includes(title);
    await one.change(editsOf(habitsApp, { do: "add", title: "Run", kind: "checkbox", target: 1 }));
    await one.change(editsOf(memosApp, { do: "add", content: "Milk" }));
    await one.syncNow();
    await until(two, ({ status }) => status.state === "inSync" && two.records().length === 2);

    for (const browser of browsers) browser.goOffline();
    const [{ name: habit }] = one.records("Habits");
    const [{ name: memo }] = one.records("Memos");
    for (const [page, word] of [[one, "Walk"], [two, "Swim"]]) {
      await until(page, inState("offline"));
      await page.change(editsOf(habitsApp, { do: "edit", habit, title: word }));
      await page.change(editsOf(memosApp, { do: "edit", memo, was: "Milk", content: word }));
      await page.change(editsOf(timerApp, { do: "start" }));
      await page.change(editsOf(clipboardApp, { do: "add", content: word }));
    }
    // One after the other: the second one meets the changes of the first.
    browsers[0].goOnline();
    one.syncNow();
    await until(one, inState("inSync"));
    browsers[1].goOnline();
    two.syncNow();
    await until(two, inState("needsPerson"));
    const state = stateOf(two.records(), two.status.asking, two.status.deviceID);
    assert.deepEqual(habitConflicts(state).map(({ local, cloud }) => [local.title, cloud.title]),
      [["Swim", "Walk"]]);
    await two.decide(decisionOf(habitsApp, state, { do: "keep", habit, version: "local" }));
    for (const page of pages) {
      await until(page, isAt("Swim"));
      await until(page, inState("inSync"));
    }
    await until(one, () => one.records().length === two.records().length);
    assert.deepEqual(shown(one.records()), shown(two.records()));
    const contents = (zone) => one.records(zone).map(({ fields }) => fields.content).sort();
    assert.deepEqual(contents("Clipboard"), ["Swim", "Walk"]);
    assert.deepEqual(contents("Memos"), ["Swim", "Walk"], "the older is kept as a memo of its own");
    assert.equal(one.records("Timer").length, 1);
  });
