import assert from "node:assert/strict";
import { test } from "node:test";
import { Lockstep, memoryStore } from "../../../Sources/WebClient/lockstep.js";
import { FakeEnvironment, settled } from "./support/fakeEnvironment.js";
import { TestDevice } from "./support/testDevice.js";

// Registrations for wakes, and what a page that is left tells the relay.

const keys = { p256dh: "B".repeat(87), auth: "a".repeat(22) };
const subscription = { endpoint: "https://push.example/1", keys, expirationTime: null };

/** A window whose events the test sends. */
function fakeWindow() {
  return Object.assign(new EventTarget(), {
    document: Object.assign(new EventTarget(), { visibilityState: "visible" }),
  });
}

/** Returns a client whose relay answers as `answers` says, by method and path. */
async function opened(context, answers = {}) {
  const environment = new FakeEnvironment();
  const identity = { accountID: "account", deviceID: "page", token: "secret" };
  const all = { "POST /v1/accounts": { status: 201, body: identity }, ...answers };
  environment.answer = (path, { method = "GET" }) => all[`${method} ${path}`]
    ?? new TypeError("the network is gone");
  const target = fakeWindow();
  const lockstep = await Lockstep.open({
    relay: "https://relay.example", store: memoryStore(), browser: { environment, target },
  });
  context.after(() => lockstep.close());
  const sent = () => environment.requests.filter(({ url }) => /wakes|limits/u.test(url))
    .map(({ url, method, body = null, headers }) =>
      [method, new URL(url).pathname, body, headers.Authorization ?? null]);
  return { lockstep, environment, target, sent };
}

const problem = (status, code) => ({ status, body: { code, detail: `It is ${code}` },
  headers: { "Content-Type": "application/problem+json" } });
const device = { deviceName: "page" };

test("the key of the relay is in its limits, or it wakes no devices", async (context) => {
  const { lockstep, sent } = await opened(context, {
    "GET /v1/limits": { body: { batchRecords: 400, wakeKey: "BKey" } },
  });
  assert.equal(await lockstep.wakeKey(), "BKey");
  assert.deepEqual(sent(), [["GET", "/v1/limits", null, null]], "no token is sent for it");
  const other = await opened(context, { "GET /v1/limits": { body: { batchRecords: 400 } } });
  assert.equal(await other.lockstep.wakeKey(), null);
  const wrong = await opened(context, { "GET /v1/limits": { body: { wakeKey: 7 } } });
  await assert.rejects(wrong.lockstep.wakeKey(), { name: "WireError" });
});

test("a relay says if anyone may create an account; one that says nothing may", async (context) => {
  const answers = [[{ isOpen: true }, true], [{ isOpen: false }, false], [{}, true]];
  for (const [limits, accepts] of answers) {
    const { lockstep, sent } = await opened(context, { "GET /v1/limits": { body: limits } });
    assert.equal(await lockstep.acceptsAccounts(), accepts);
    assert.deepEqual(sent(), [["GET", "/v1/limits", null, null]], "no token is sent for it");
  }
  const wrong = await opened(context, { "GET /v1/limits": { body: { isOpen: "yes" } } });
  await assert.rejects(wrong.lockstep.acceptsAccounts(), { name: "WireError" });
});

test("a subscription is registered as the browser gives it, and proved by its code",
  async (context) => {
    const done = { status: 204, text: null };
    const { lockstep, sent } = await opened(context, {
      "PUT /v1/wakes/page": { status: 201, text: "" }, "PUT /v1/wakes/a%2Fb": done,
      "POST /v1/wakes/page/verification": done, "DELETE /v1/wakes/page": done,
    });
    await lockstep.createAccount(device);
    await lockstep.registerWake({ toJSON: () => subscription });
    await lockstep.registerWake({ ...subscription, expirationTime: 1_800_000_000_000.5 }, "a/b");
    const applicationServerKey = Uint8Array.from([251, 255, 254]).buffer;
    await lockstep.registerWake(
      { toJSON: () => subscription, options: { applicationServerKey } });
    const notification = { title: "Notes", navigate: "https://notes.example/" };
    await lockstep.registerWake(subscription, "page", { notification });
    await lockstep.verifyWake("page", "the code");
    await lockstep.removeWake();
    const body = { kind: "webpush", endpoint: subscription.endpoint, ...keys };
    const asked = sent().map(([method, path, text, token]) => {
      assert.equal(token, "Bearer secret");
      return [method, path, text && JSON.parse(text)];
    });
    assert.deepEqual(asked, [
      ["PUT", "/v1/wakes/page", body],
      ["PUT", "/v1/wakes/a%2Fb", { ...body, expiresAt: 1_800_000_000_000 }],
      ["PUT", "/v1/wakes/page", { ...body, wakeKey: "-__-" }],
      ["PUT", "/v1/wakes/page", { ...body, notification }],
      ["POST", "/v1/wakes/page/verification", { code: "the code" }],
      ["DELETE", "/v1/wakes/page", null],
    ]);
  });

test("the registrations are listed, and one that is gone can be removed", async (context) => {
  const wake = { id: "page", kind: "webpush", state: "verified", verifiedAt: 7 };
  const { lockstep } = await opened(context, {
    "GET /v1/wakes": { body: { wakes: [wake] } },
    "DELETE /v1/wakes/page": problem(404, "notFound"),
    "DELETE /v1/wakes/other": problem(503, "overloaded"),
    "PUT /v1/wakes/page": problem(403, "wakeNotAllowed"),
    "POST /v1/wakes/page/verification": problem(403, "badWakeCode"),
  });
  await assert.rejects(lockstep.wakes(), { code: "notPaired" });
  await lockstep.createAccount(device);
  assert.deepEqual(await lockstep.wakes(), [wake]);
  await lockstep.removeWake();
  await assert.rejects(lockstep.removeWake("other"), { code: "overloaded" });
  const refused = { name: "RefusedError", message: /wakeNotAllowed/u };
  await assert.rejects(lockstep.registerWake(subscription), refused);
  await assert.rejects(lockstep.verifyWake("page", "x"), { code: "badWakeCode" });
});

test("what is no subscription, id or code is refused before anything is sent", async (context) => {
  const { lockstep, sent } = await opened(context);
  await lockstep.createAccount(device);
  const wrong = [null, undefined, "text", {}, { ...subscription, keys: null },
    { ...subscription, endpoint: "" }, { ...subscription, keys: { auth: "x" } }];
  for (const it of wrong) {
    await assert.rejects(lockstep.registerWake(it), { name: "EditError", code: "badSubscription" });
  }
  for (const id of [null, "", 7, "a\nb", "x".repeat(256)]) {
    await assert.rejects(lockstep.registerWake(subscription, id), { code: "badSubscription" });
    await assert.rejects(lockstep.removeWake(id), { code: "badSubscription" });
  }
  for (const notification of ["text", {}, { title: "t" }, { title: "", navigate: "https://x" },
    { title: "t", navigate: "http://x" }]) {
    await assert.rejects(lockstep.registerWake(subscription, "page", { notification }),
      { code: "badNotification" });
  }
  await assert.rejects(lockstep.verifyWake("page", 7), { code: "badCode" });
  assert.deepEqual(sent(), []);
});

test("a device that closes its socket tells the relay up to where it has the changes", async () => {
  const device = await TestDevice.start();
  device.agent.leave();
  assert.deepEqual(device.socket.closed, { code: 1000, reason: undefined }, "it has none yet");
  device.agent.wake();
  await device.welcome({ token: "a1.4" });
  device.agent.leave();
  assert.deepEqual(device.socket.closed, { code: 1000, reason: "a1.4" });
  device.agent.wake();
  await device.welcome({ token: "a1.5" });
  assert.equal(device.status.state, "inSync");
  device.agent.stop();
  assert.deepEqual(device.socket.closed, { code: 1000, reason: "a1.5" });
});

/** Requests that outlive the page. */
const lastRequests = ({ environment }) => environment.requests.filter(({ keepalive }) => keepalive);

test("a socket that the browser closes before it tells the page is replaced by a request",
  async () => {
    const device = await TestDevice.start();
    await device.welcome({ token: "a1.4" });
    device.agent.leave();
    assert.deepEqual(lastRequests(device), [], "the socket's close frame says it");
    device.agent.wake();
    await device.welcome({ token: "a1.5" });
    device.socket.end(1001);
    device.agent.leave();
    const [{ url, method, headers }, ...others] = lastRequests(device);
    assert.deepEqual(others, []);
    assert.equal(url, "http://relay.example/v1/changes?since=a1.5&limit=1");
    assert.deepEqual([method, headers], ["HEAD", { Authorization: "Bearer secret" }]);
    // The request fails, and nobody hears of it.
    await settled();
  });

test("a socket that the browser is closing is replaced by a request, too", async () => {
  const device = await TestDevice.start();
  await device.welcome({ token: "a1.4" });
  // The page hears of it when the relay's close frame has come.
  device.socket.readyState = 2;
  device.agent.leave();
  assert.deepEqual(lastRequests(device).map(({ url }) => url),
    ["http://relay.example/v1/changes?since=a1.4&limit=1"]);
  await settled();
});

test("a device that has nothing, or may not call the relay, sends no request when it is left",
  async () => {
    const device = await TestDevice.start();
    device.socket.end(1006);
    device.agent.leave();
    assert.deepEqual(lastRequests(device), [], "it has no position");
    device.agent.wake();
    await device.welcome({ token: "a1.4" });
    device.socket.end(4501);
    device.agent.leave();
    assert.deepEqual(lastRequests(device), [], "the relay has refused its token");
  });

test("changes that are not stored yet do not count as those that the device has", async () => {
  const device = await TestDevice.start();
  await device.welcome({ token: "a1.4" });
  const fields = { items: ["x"] };
  const change = { zone: "Model", name: "n", type: "Set", tag: 5, modifiedAt: 5, fields,
    device: "other", deleted: false };
  device.socket.receive({ op: "changes", since: "a1.4", token: "a1.5", more: false,
    changes: [change] });
  device.agent.leave();
  assert.equal(device.socket.closed.reason, "a1.4");
});

test("a page that is left closes its socket, does nothing, and continues if it is shown again",
  async (context) => {
    const { lockstep, environment, target } = await opened(context);
    await lockstep.createAccount(device);
    await settled();
    const { length } = environment.sockets;
    assert.equal(length, 1);
    environment.sockets[0].open();
    target.dispatchEvent(new Event("pagehide"));
    assert.equal(environment.sockets[0].closed.code, 1000);
    await environment.advance(120_000);
    assert.equal(environment.sockets.length, length, "no new connection");
    target.dispatchEvent(new Event("pageshow"));
    assert.equal(environment.sockets.length, length, "the page was not kept");
    target.dispatchEvent(Object.assign(new Event("pageshow"), { persisted: true }));
    assert.equal(environment.sockets.length, length + 1);
    await lockstep.close();
    target.dispatchEvent(Object.assign(new Event("pageshow"), { persisted: true }));
    assert.equal(environment.sockets.length, length + 1, "a closed client hears nothing");
  });

test("a page hears that the browser has lost its network", async (context) => {
  const { lockstep, environment, target } = await opened(context);
  await lockstep.createAccount(device);
  await settled();
  environment.sockets[0].open();
  target.dispatchEvent(new Event("offline"));
  assert.ok(environment.sockets[0].closed);
  assert.equal(lockstep.status.state, "offline");
  assert.equal(lockstep.status.reason, "this browser has no network");
  await lockstep.close();
  target.dispatchEvent(new Event("offline"));
});

/** Returns an answer of the relay with one record. */
const readPage = (since, tag, items = ["milk"]) => JSON.stringify({
  since: `a1.${since}`, token: `a1.${tag}`, more: false,
  changes: [{ zone: "Model", name: "list", type: "Set", fields: { items }, tag, device: "phone",
    modifiedAt: 5, deleted: false }],
});

/** Returns a device of a page that is opened again, without a connection yet. */
async function reopened(read, edit = null) {
  const first = await TestDevice.start();
  await first.welcome({ token: "a1.4" });
  first.socket.end(1006);
  if (edit) await first.change(edit);
  first.agent.stop();
  const asked = [];
  const readAhead = async (deviceID) => {
    asked.push(deviceID);
    if (read instanceof Error) throw read;
    return read;
  };
  const device = await TestDevice.start({ store: first.store, readAhead });
  assert.deepEqual(asked, ["page"]);
  const { records } = await first.store.load();
  const list = records.map(({ record }) => record).find(({ name }) => name === "list");
  return { device, items: list?.fields.items };
}

test("what a service worker has read is there when the page is opened without a relay",
  async () => {
    const { device, items } = await reopened(
      [readPage(4, 5), readPage(5, 7, ["bread", "milk"])]);
    assert.deepEqual(items, ["bread", "milk"]);
    assert.notEqual(device.status.state, "inSync", "the relay may have more");
    const { socket } = device;
    socket.open();
    await settled();
    assert.equal(socket.last("hello").since, "a1.7", "it is not read twice");
  });

test("what was read for another position, is broken, or could conflict is left to the relay",
  async () => {
    for (const read of [[], [readPage(3, 5)], ["{"], [readPage(4, 5), "{}"], new Error("no")]) {
      const { device, items } = await reopened(read);
      assert.equal(items, undefined);
      device.socket.open();
      await settled();
      assert.equal(device.socket.last("hello").since, "a1.4");
    }
    const own = await reopened([readPage(4, 5)], { name: "list", fields: { items: ["salt"] } });
    assert.deepEqual(own.items, ["salt"]);
  });

test("an edit that is being written when the answers arrive meets them once relay time is known",
  async () => {
    const first = await TestDevice.start();
    await first.welcome({ token: "a1.4" });
    first.socket.end(1006);
    first.agent.stop();
    let give;
    const readAhead = () => new Promise((resolve) => { give = resolve; });
    const { agent } = await TestDevice.start({ store: first.store, readAhead });
    give([readPage(4, 5)]);
    const edit = { zone: "Model", type: "Set", name: "list", fields: { items: ["salt"] } };
    await agent.change(() => [edit]);
    await settled();
    const { outbox, values } = await first.store.load();
    assert.deepEqual(outbox.map(({ fields, isStampTrusted }) => [fields.items, isStampTrusted]),
      [[["salt"], false]]);
    assert.equal(Object.fromEntries(values).cursor, "a1.4");
  });
