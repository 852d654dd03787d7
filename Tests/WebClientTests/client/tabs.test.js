import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { View } from "../../../Sources/WebClient/client/tabs/view.js";
import { MemoryStore } from "../../../Sources/WebClient/client/store/memoryStore.js";
import { set } from "./support/modelApp.js";
import { add, Browser, inState, itemsOf, shows, until } from "./support/page.js";
import { needsProgram } from "../support/program.js";
import { RelayProcess } from "../support/relayProcess.js";

const device = { deviceName: "page" };
const within = { ...needsProgram, timeout: 60_000 };
let relay;

before(async () => { if (!needsProgram.skip) relay = await RelayProcess.start(); });
after(() => relay?.remove());

async function tabsOf(context, count, options) {
  const browser = new Browser(options);
  const tabs = [];
  for (let number = 0; number < count; number += 1) {
    const tab = await browser.open(relay);
    context.after(() => tab.close());
    tabs.push(tab);
    if (number === 0) {
      await until(tab, inState("needsPairing"));
      await tab.createAccount(device);
    }
    await until(tab, inState("inSync"));
  }
  return { browser, tabs };
}

for (const hasLocks of [true, false]) {
  const how = hasLocks ? "with Web Locks" : "without Web Locks";

  test(`${how}: two tabs are one device, and show the same`, within, async (context) => {
    const { tabs: [one, two] } = await tabsOf(context, 2, { hasLocks });
    assert.equal(one.status.deviceID, two.status.deviceID);
    await add(two, "list", "two's");
    await until(one, shows("list", "two's"));
    await add(one, "list", "one's");
    await until(two, shows("list", "one's", "two's"));
    assert.equal((await two.syncNow()).state, "inSync");
    for (const tab of [one, two]) {
      const senseless = tab.change(() => { throw new Error("the timer does not run"); });
      await assert.rejects(senseless, { code: "refused", message: "the timer does not run" });
    }
    assert.equal((await two.devices()).length, 1);
  });

  test(`${how}: edits in both tabs at once are all kept`, within, async (context) => {
    const { tabs } = await tabsOf(context, 3, { hasLocks });
    const words = Array.from({ length: 12 }, (_, number) => `w${number + 10}`);
    await Promise.all(words.map((word, at) => add(tabs[at % 3], "list", word)));
    for (const tab of tabs) await until(tab, shows("list", ...words));
  });

  test(`${how}: when the tab that leads is closed, another goes on where it stood`, within,
    async (context) => {
      const { browser, tabs: [one, two] } = await tabsOf(context, 2, { hasLocks });
      browser.goOffline();
      await until(two, inState("offline"));
      await add(two, "list", "unsent");
      one.close();
      browser.goOnline();
      await add(two, "list", "later");
      await until(two, ({ status }) => status.state === "inSync" && status.waiting === 0);
      assert.deepEqual(itemsOf(two, "list"), ["later", "unsent"]);
    });
}

test("a tab that leads and has fallen asleep is not waited for, and does no harm", within,
  async (context) => {
    const { browser, tabs: [one, two] } = await tabsOf(context, 2, { hurry: 10 });
    browser.putToSleep(one);
    await add(two, "list", "two's");
    assert.deepEqual(itemsOf(two, "list"), ["two's"]);
    browser.wakeUp(one);
    await add(one, "list", "one's");
    for (const tab of [one, two]) await until(tab, shows("list", "one's", "two's"));
  });

test("signing out in one tab is signing out in all", within, async (context) => {
  const { tabs: [one, two] } = await tabsOf(context, 2);
  await add(one, "list", "x");
  await one.syncNow();
  await until(two, shows("list", "x"));
  await until(two, ({ status }) => status.waiting === 0);
  await two.signOut();
  for (const tab of [one, two]) {
    await until(tab, inState("needsPairing"));
    await until(tab, () => tab.records().length === 0);
  }
});

test("a page whose newer version is open says so, and claims nothing any more", within,
  async (context) => {
    const { browser, tabs: [page] } = await tabsOf(context, 1);
    const request = browser.indexedDB.open("lockstep", 2);
    request.onupgradeneeded = () => {};
    request.onsuccess = () => {};
    await until(page, inState("closed"));
    assert.match(page.status.reason, /newer version/u);
    await assert.rejects(add(page, "list", "x"), { code: "closed" });
  });

test("where nothing can be stored each tab is a device of its own, and says so", within,
  async (context) => {
    const browser = new Browser();
    browser.indexedDB = null;
    const tabs = [await browser.open(relay), await browser.open(relay)];
    for (const tab of tabs) context.after(() => tab.close());
    await until(tabs[0], inState("needsPairing"));
    await tabs[0].createAccount(device);
    await until(tabs[0], inState("inSync"));
    assert.equal(tabs[0].status.isDurable, false);
    assert.match(tabs[0].status.storeReason, /no store/u);
    assert.equal(tabs[1].status.state, "needsPairing");
  });

test("a tab that missed what was told reads the store", async () => {
  const store = new MemoryStore();
  const { term } = await store.claim({ holder: "tab", now: 0, milliseconds: 10 });
  const step = (number) => ({ term, number });
  const record = (name, tag) => ({ ...set(name, "x"), tag, modifiedAt: tag, device: "d",
    deleted: false });
  const view = new View(store);
  await view.read();
  const told = { previous: { term: 0, number: 0 }, step: step(1), records: [record("a", 1)] };
  assert.deepEqual(view.apply(told), told.records);
  assert.deepEqual(view.apply(told), [], "twice is once");
  const later = { previous: step(2), step: step(3), records: [record("c", 3)] };
  assert.equal(view.apply(later), null);
  await store.write(term, [
    ...["b", "c"].map((name, at) => ({ store: "records", key: `Model\n${name}`,
      value: { record: record(name, at + 2), snapshot: 0, isLost: false } })),
    { store: "values", key: "step", value: step(3) },
  ]);
  const changed = await view.read();
  assert.deepEqual(changed.map(({ name, deleted }) => [name, deleted]),
    [["b", false], ["c", false], ["a", true]]);
  assert.deepEqual(view.apply(later), []);
});
