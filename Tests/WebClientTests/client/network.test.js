import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../../Sources/WebClient/client/store/memoryStore.js";
import { settled } from "./support/fakeEnvironment.js";
import { TestDevice } from "./support/testDevice.js";

/** Intermediaries between a page and its relay, and their effect on the page's changes. */

const list = (...items) => ({ name: "list", fields: { items } });

/** Returns a page in a network without WebSocket, and a relay that saves everything. `between`:
 * returns an intermediary's answer, or null. */
async function overHTTP({ between = () => null, cut = null } = {}) {
  const device = await TestDevice.start();
  const { environment } = device;
  const net = { device, between, cut, saved: new Map(), waits: 0 };
  let sequence = 0;
  const page = (since) => (
    { body: { since, token: `a1.${sequence}`, more: false, changes: [] } });
  environment.answer = (path, request) => {
    const [method, wait] = [request.method ?? "GET", /wait=(\d+)/u.exec(request.url)?.[1]];
    const other = net.between({ path, method, request });
    if (other) return other;
    if (path === "/v1/time") return { body: { time: device.relayTime } };
    if (method === "POST") {
      const since = `a1.${sequence}`;
      const results = JSON.parse(request.body).records.map(({ name, fields }) => {
        sequence += 1;
        net.saved.set(name, fields);
        return { name, tag: sequence };
      });
      return { body: { since, token: `a1.${sequence}`, results } };
    }
    const since = /since=([^&]+)/u.exec(request.url)?.[1] ?? null;
    if (!wait) return page(since);
    net.waits += 1;
    const end = Number(wait) * 1_000;
    return new Promise((resolve) => {
      const isCut = net.cut && net.cut.after < end;
      environment.setTimer(() => resolve(isCut ? net.cut.answer : page(since)),
        isCut ? net.cut.after : end);
    });
  };
  for (let tries = 0; tries < 2; tries += 1) {
    device.socket.end(1006);
    await environment.advance(0);
  }
  environment.random = () => 0.5;
  return net;
}

/** Lets time pass; refuses every socket that is tried meanwhile. */
async function pass(device, milliseconds) {
  for (let spent = 0; spent < milliseconds; spent += 1_000) {
    await device.environment.advance(1_000);
    if (device.socket.readyState === 0) device.socket.end(1006);
  }
}

const portal = (status) => ({ status, text: "<html>Please log in",
  headers: { "Content-Type": "text/html" } });

const statuses = [200, 400, 401, 402, 403, 404, 405, 407, 410, 411, 413, 451, 500, 502, 511];
for (const status of statuses) {
  test(`an answer ${status} of somebody on the way to the relay is waited out`, async () => {
    const { device, saved, ...net } = await overHTTP();
    assert.deepEqual([device.status.transport, device.status.state], ["long-poll", "inSync"]);
    device.environment.answer = ((usual) => (path, request) => (
      net.isOpen || request.method !== "POST" ? usual(path, request) : portal(status)
    ))(device.environment.answer);
    await device.change(list("mine"));
    await pass(device, 60_000);
    assert.deepEqual([device.status.state, device.status.parkedCount, device.status.waiting],
      ["offline", 0, 1]);
    assert.match(device.status.reason, /something between this device and the relay/u);
    net.isOpen = true;
    device.agent.wake();
    await device.environment.advance(1_000);
    assert.deepEqual(saved.get("list"), { items: ["mine"] });
    assert.equal(device.status.state, "inSync");
  });
}

test("what is too large for the way is set aside, and the rest goes in small batches", async () => {
  let [most, refused] = [30_000, 0];
  const { device, saved } = await overHTTP({ between: ({ request }) => {
    if ((request.body?.length ?? 0) <= most) return null;
    refused += 1;
    return portal(413);
  } });
  const large = "x".repeat(100_000);
  await device.change({ name: "large", fields: { items: [large] } });
  await device.change(...Array.from({ length: 200 }, (_, at) => (
    { name: `n${at}`, fields: { items: ["y".repeat(1_000)] } })));
  await pass(device, 30_000);
  assert.equal(saved.size, 200);
  assert.ok(refused < 12, `${refused}`);
  const { state, setAsideCount, waiting, parkedCount } = device.status;
  assert.deepEqual([state, setAsideCount, waiting, parkedCount], ["needsPerson", 1, 1, 0]);
  most = Infinity;
  device.agent.syncNow();
  await pass(device, 5_000);
  assert.deepEqual(saved.get("large"), { items: [large] });
  assert.deepEqual([device.status.state, device.status.setAsideCount], ["inSync", 0]);
});

test("a person's sync tries again what the relay refused", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  await device.change(list("a"));
  const refuse = async () => device.receive({ op: "error", id: device.socket.last("save").id,
    code: "recordTooLarge", detail: "too large" });
  await refuse();
  assert.deepEqual([device.status.state, device.status.parkedCount], ["needsPerson", 1]);
  const first = device.socket.last("save").id;
  const answer = async () => {
    device.agent.syncNow();
    await settled();
    const fetch = device.socket.last("fetch");
    await device.receive({ op: "changes", id: fetch.id, since: fetch.since, token: "a1.0",
      more: false, changes: [] });
  };
  await answer();
  assert.notEqual(device.socket.last("save").id, first);
  await refuse();
  assert.equal(device.status.parkedCount, 1);
  await answer();
  await device.save(1);
  assert.deepEqual([device.status.state, device.status.parkedCount], ["inSync", 0]);
});

test("what an earlier version parked for somebody else's answer goes again", async () => {
  const store = new MemoryStore();
  const before = await TestDevice.start({ store });
  await before.welcome();
  await before.change(list("a"));
  await before.receive({ op: "error", id: before.socket.last("save").id, code: "badRequest",
    detail: "answered with status 403" });
  assert.equal(before.status.parkedCount, 1);
  before.agent.stop();
  const device = await TestDevice.start({ store });
  await device.welcome();
  await device.save(1);
  assert.deepEqual([device.status.state, device.status.parkedCount], ["inSync", 0]);
});

for (const [words, answer] of [["504", portal(504)], ["reset", new TypeError("reset")],
  ["silence", undefined]]) {
  for (const after of [5_000, 10_000, 30_000]) {
    test(`long-polls cut after ${after} ms by ${words}: in sync all the while`, async () => {
      const { device } = await overHTTP({ cut: { after, answer } });
      assert.equal(device.status.state, "inSync");
      device.news.length = 0;
      await pass(device, 200_000);
      const states = device.news.filter(({ kind }) => kind === "status")
        .map(({ status }) => status.state);
      assert.deepEqual(states.filter((state) => state !== "inSync"), []);
      assert.equal(device.status.transport, after === 5_000 ? "poll" : "long-poll");
      const asked = device.environment.requests.length;
      await pass(device, 600_000);
      assert.ok(device.environment.requests.length - asked < 130);
      assert.equal(device.status.state, "inSync");
    });
  }
}

test("the network's return finds a better way at once", async () => {
  const { device } = await overHTTP();
  await pass(device, 3_600_000);
  assert.equal(device.status.transport, "long-poll");
  const sockets = device.environment.sockets.length;
  device.agent.wake();
  await device.environment.advance(0);
  assert.equal(device.environment.sockets.length, sockets + 1);
  await device.welcome();
  assert.deepEqual([device.status.transport, device.status.state], ["websocket", "inSync"]);
});

test("a browser that reports no network is offline at once, and tries again", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  const open = device.socket;
  device.agent.networkLost();
  await settled();
  assert.deepEqual([device.status.state, device.status.reason],
    ["offline", "this browser has no network"]);
  // The report may be wrong: a relay on the same machine needs no network.
  await device.environment.advance(5_000);
  assert.notEqual(device.socket, open);
  await device.welcome();
  assert.equal(device.status.state, "inSync");
});

test("a try without a network keeps the reason that helps a person", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  device.environment.hasNetwork = () => false;
  device.agent.networkLost();
  for (let count = 0; count < 5; count += 1) {
    await device.environment.advance(30_000);
    device.socket.end(1006);
    await settled();
    assert.deepEqual([device.status.state, device.status.reason],
      ["offline", "this browser has no network"]);
  }
  device.environment.hasNetwork = () => true;
  device.agent.wake();
  await device.welcome();
  assert.deepEqual([device.status.state, device.status.transport], ["inSync", "websocket"]);
});

test("a report of no network changes nothing for a device that waits to connect", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  device.agent.networkLost();
  await settled();
  const sockets = device.environment.sockets.length;
  for (let count = 0; count < 5; count += 1) device.agent.networkLost();
  await device.environment.advance(5_000);
  assert.ok(device.environment.sockets.length <= sockets + 2);
  device.agent.stop();
  device.agent.networkLost();
  await settled();
});

test("the network's return does not share the fate of a try that began before it", async () => {
  const device = await TestDevice.start();
  const doomed = device.socket;
  device.agent.wake();
  await settled();
  assert.notEqual(device.socket, doomed);
  doomed.end(1006);
  await device.welcome();
  assert.equal(device.status.state, "inSync");
});
