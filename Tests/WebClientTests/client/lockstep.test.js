import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { choice, fieldsOf, set } from "./support/modelApp.js";
import { add, Browser, inState, itemsOf, shows, until } from "./support/page.js";
import { needsProgram } from "../support/program.js";
import { RelayProcess } from "../support/relayProcess.js";

const device = { deviceName: "page" };
const within = { ...needsProgram, timeout: 60_000 };
let relay;

before(async () => { if (!needsProgram.skip) relay = await RelayProcess.start(); });
after(() => relay?.remove());

/** Returns devices of one account, each in a separate browser. */
async function devicesOf(context, count, { hasWebSocket, ...options } = {}) {
  const browsers = Array.from({ length: count }, () => new Browser({ hasWebSocket }));
  const pages = [];
  for (const browser of browsers) {
    const page = await browser.open(relay, options);
    context.after(() => page.close());
    if (pages.length === 0) await page.createAccount(device);
    else await page.join((await pages[0].issueCode()).code, device);
    pages.push(page);
  }
  for (const page of pages) await until(page, inState("inSync"));
  return { browsers, pages };
}

const ladders = [["websocket"], ["events"], ["long-poll"], ["poll"]];
for (const transports of ladders) {
  test(`by ${transports[0]}: a page is paired by code, and what is made on one is on the other`,
    within, async (context) => {
      const { pages: [one, two] } = await devicesOf(context, 2, { transports });
      await add(one, "list", "milk");
      await one.syncNow();
      // A poll comes only after a while; a person may ask for a sync.
      if (transports[0] === "poll") await two.syncNow();
      await until(two, shows("list", "milk"));
      await add(two, "list", "tea");
      await two.syncNow();
      if (transports[0] === "poll") await one.syncNow();
      await until(one, shows("list", "milk", "tea"));
      await until(one, inState("inSync"));
      assert.equal(one.status.transport, transports[0]);
    });
}

test("a page that belongs to no account says so, and asks nothing", within, async (context) => {
  const page = await new Browser().open(relay);
  context.after(() => page.close());
  await until(page, inState("needsPairing"));
  await assert.rejects(page.devices(), { code: "notPaired" });
  await assert.rejects(page.join("WRONG-CODE", device), { name: "RefusedError" });
  assert.deepEqual(page.records(), []);
});

test("what was made offline is shown and counted, and goes up with the network", within,
  async (context) => {
    const { browsers, pages: [one, two] } = await devicesOf(context, 2);
    browsers[0].goOffline();
    await until(one, inState("offline"));
    await add(one, "list", "offline");
    assert.deepEqual(itemsOf(one, "list"), ["offline"]);
    assert.equal(one.status.waiting, 1);
    assert.equal((await one.syncNow()).state, "offline");
    await add(two, "list", "meanwhile");
    browsers[0].goOnline();
    await one.syncNow();
    for (const page of [one, two]) await until(page, shows("list", "meanwhile", "offline"));
    await until(one, ({ status }) => status.waiting === 0);
  });

test("a reload loses nothing that was shown, also what the relay has not got", within,
  async (context) => {
    const { browsers: [browser], pages: [page] } = await devicesOf(context, 1);
    await add(page, "list", "sent");
    await page.syncNow();
    browser.goOffline();
    await until(page, inState("offline"));
    await add(page, "list", "unsent");
    page.close();
    const again = await browser.open(relay);
    context.after(() => again.close());
    assert.deepEqual(itemsOf(again, "list"), ["sent", "unsent"]);
    await until(again, ({ status }) => status.waiting === 1);
    browser.goOnline();
    await again.syncNow();
    await until(again, inState("inSync"));
    assert.equal(again.status.waiting, 0);
  });

test("names of devices are kept for when there is no connection, and go when a person leaves",
  within, async (context) => {
    const { browsers: [browser], pages: [page] } = await devicesOf(context, 2);
    const ids = (devices) => devices.map(({ deviceID }) => deviceID).sort();
    const told = await page.devices();
    await page.syncNow();
    browser.goOffline();
    page.close();
    const again = await browser.open(relay);
    context.after(() => again.close());
    await assert.rejects(again.devices(), { name: "CallError" });
    const known = await again.knownDevices();
    assert.deepEqual(ids(known), ids(told));
    assert.deepEqual(known[0], { deviceID: known[0].deviceID, ...device, platform: "web" });
    await again.signOut({ offline: true });
    assert.deepEqual(await again.knownDevices(), []);
  });

test("a relay that is killed and started again is found by itself", within, async (context) => {
  const own = await RelayProcess.start();
  const page = await new Browser().open(own);
  context.after(() => own.remove());
  context.after(() => page.close());
  await page.createAccount(device);
  await add(page, "list", "before");
  await until(page, inState("inSync"));
  await own.stop("SIGKILL");
  await until(page, inState("offline"));
  await add(page, "list", "during");
  await own.start();
  await until(page, inState("inSync"));
  assert.equal(page.status.waiting, 0);
  assert.deepEqual(itemsOf(page, "list"), ["before", "during"]);
});

test("what is nested as deep as fields may be goes up and comes down", within,
  async (context) => {
    const { pages: [one, two] } = await devicesOf(context, 2);
    const nested = (depth) => (depth === 1 ? {} : { inner: nested(depth - 1) });
    await one.change(() => [fieldsOf("deep", nested(64))]);
    assert.equal((await one.syncNow()).state, "inSync");
    await until(two, () => two.record("Model", "deep") !== null);
    assert.deepEqual(two.record("Model", "deep").fields, nested(64));
    await assert.rejects(one.change(() => [fieldsOf("deeper", nested(65))]), { code: "badEdit" });
  });

test("where WebSocket does not get through, the ladder leads down and the sync goes on", within,
  async (context) => {
    const { pages: [page] } = await devicesOf(context, 1, { hasWebSocket: false });
    await add(page, "list", "x");
    assert.equal((await page.syncNow()).state, "inSync");
    assert.equal(page.status.transport, "long-poll");
  });

test("where the rule asks, status says it, and the person's word goes to all", within,
  async (context) => {
    const { browsers, pages: [one, two] } = await devicesOf(context, 2);
    const choose = (title) => () => [choice("c", title)];
    browsers[1].goOffline();
    await until(two, inState("offline"));
    await two.change(choose("two's"));
    await one.change(choose("one's"));
    await one.syncNow();
    browsers[1].goOnline();
    assert.equal((await two.syncNow()).state, "needsPerson");
    assert.deepEqual(two.status.asking.map(({ local, server }) => [local.fields, server.fields]),
      [[{ title: "two's" }, { title: "one's" }]]);
    await two.decide({ zone: "Model", name: "c", keepLocal: true });
    await until(one, () => one.record("Model", "c").fields.title === "two's");
    await until(two, inState("inSync"));
  });

test("devices are listed and renamed; a revoked one needs pairing, and keeps what is unsent",
  within, async (context) => {
    const { pages: [one, two] } = await devicesOf(context, 2);
    const { deviceID } = two.status;
    // A text field may cut a surrogate pair in half.
    await one.rename(deviceID, "kitchen \ud83d");
    const listed = await one.devices();
    assert.deepEqual(listed.map((it) => it.deviceName).sort(), ["kitchen \ufffd", "page"]);
    assert.ok(listed.every((it) => it.connected));
    await one.revoke(deviceID);
    await until(two, inState("needsPairing"));
    await add(two, "list", "unsent");
    assert.equal(two.status.waiting, 1);
    await two.join((await one.issueCode()).code, device);
    await until(two, inState("inSync"));
    await until(one, shows("list", "unsent"));
  });

test("a device of one account cannot be paired with another", within, async (context) => {
  const { pages: [one, two] } = await devicesOf(context, 2);
  const { pages: [stranger] } = await devicesOf(context, 1);
  await assert.rejects(async () => two.join((await stranger.issueCode()).code, device),
    { code: "alreadyPaired" });
  await one.revoke(two.status.deviceID);
  await until(two, inState("needsPairing"));
  await add(two, "list", "ours");
  const { code } = await stranger.issueCode();
  await assert.rejects(async () => two.join(code, device), { code: "otherAccount" });
  assert.equal((await stranger.devices()).length, 1, "the relay made nothing for it");
  // The code is still valid for another device.
  const { pages: [fresh] } = await devicesOf(context, 1);
  await fresh.signOut();
  await fresh.join(code, device);
  assert.equal((await stranger.devices()).length, 2);
  assert.deepEqual(stranger.records(), []);
});

test("signing out leaves nothing behind, and asks first where something would be lost", within,
  async (context) => {
    const { browsers, pages: [one, two] } = await devicesOf(context, 2);
    await add(two, "list", "x");
    await two.syncNow();
    browsers[1].goOffline();
    await until(two, inState("offline"));
    await add(two, "list", "unsent");
    await assert.rejects(two.signOut(), { code: "unsent" });
    await assert.rejects(two.signOut({ discardUnsent: true }), { name: "CallError" });
    assert.deepEqual(itemsOf(two, "list"), ["unsent", "x"]);
    browsers[1].goOnline();
    await two.signOut({ discardUnsent: true });
    await until(two, inState("needsPairing"));
    assert.deepEqual(two.records(), []);
    assert.equal((await one.devices()).length, 1);
    await two.createAccount(device);
    await until(two, inState("inSync"));
    assert.deepEqual(two.records(), []);
  });

test("a relay whose store was put back from a backup gets back what it forgot", within,
  async (context) => {
    const own = await RelayProcess.start();
    const page = await new Browser().open(own);
    context.after(() => own.remove());
    context.after(() => page.close());
    await page.createAccount(device);
    await add(page, "list", "old");
    await page.syncNow();
    own.backUp();
    await add(page, "list", "new");
    await page.change(() => [set("other", "y")]);
    await page.syncNow();
    await own.putBack();
    await until(page, inState("inSync"));
    await until(page, ({ status }) => status.waiting === 0);
    const fresh = await new Browser().open(own);
    context.after(() => fresh.close());
    await fresh.join((await page.issueCode()).code, device);
    await until(fresh, inState("inSync"));
    assert.deepEqual(itemsOf(fresh, "list"), ["new", "old"]);
    assert.deepEqual(itemsOf(fresh, "other"), ["y"]);
  });
