import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../../../Sources/WebClient/client/limits.js";
import { MemoryStore, StoreError } from "../../../Sources/WebClient/client/store/memoryStore.js";
import { settled } from "./support/fakeEnvironment.js";
import { set } from "./support/modelApp.js";
import { TestDevice } from "./support/testDevice.js";

const list = (...items) => ({ name: "list", fields: { items } });

test("the token is in the socket's first message, and in no URL", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  assert.equal(device.socket.last("hello").token, "secret");
  assert.equal(device.status.state, "inSync");
  device.socket.end(1006);
  await device.environment.advance(1_000);
  const urls = [...device.environment.sockets, ...device.environment.requests];
  for (const { url } of urls) assert.ok(!url.includes("secret"), url);
  assert.equal(device.socket.url, "ws://relay.example/v1/socket");
});

test("the status is in sync only when all is here and there", async () => {
  const device = await TestDevice.start();
  assert.equal(device.status.state, "syncing");
  await device.welcome();
  await device.change(list("a"));
  assert.deepEqual([device.status.state, device.status.waiting], ["syncing", 1]);
  await device.save(1);
  assert.deepEqual([device.status.state, device.status.waiting], ["inSync", 0]);
  await device.receive({ op: "changed", token: "a1.9" });
  assert.equal(device.status.state, "syncing");
  device.socket.end(1006);
  await settled();
  assert.equal(device.status.state, "offline");
  await device.change(list("a", "b"));
  assert.deepEqual([device.status.state, device.status.waiting], ["offline", 1]);
});

test("a message that does not follow the cursor is not applied, and what lies between is fetched",
  async () => {
    const device = await TestDevice.start();
    await device.welcome({ token: "a1.4" });
    const record = (tag) => ({ zone: "Model", name: `n${tag}`, type: "Set", tag, modifiedAt: tag,
      fields: { items: [] }, device: "other", deleted: false });
    await device.receive({ op: "changes", since: "a1.5", token: "a1.6", more: false,
      changes: [record(6)] });
    const fetch = device.socket.last("fetch");
    assert.equal(fetch.since, "a1.4");
    assert.equal(device.status.state, "syncing");
    await device.receive({ op: "changes", id: fetch.id, since: "a1.4", token: "a1.6", more: false,
      changes: [record(5), record(6)] });
    assert.equal(device.status.state, "inSync");
    const told = device.news.filter(({ kind }) => kind === "changed");
    assert.deepEqual(told.flatMap(({ records }) => records.map(({ name }) => name)), ["n5", "n6"]);
  });

for (const isEarlier of [false, true]) {
  const who = isEarlier ? "an earlier relay does not say where it stands"
    : "the relay says where it stands";
  test(`a cursor of no history: ${who}, and what it went back since is told by that`, async () => {
    const device = await TestDevice.start();
    await device.welcome({ token: "a1.4" });
    await device.receive({ op: "changed", token: "a1.5" });
    const fetched = () => device.socket.last("fetch");
    await device.receive({ op: "error", id: fetched().id, code: "badChangeToken", detail: "of none",
      ...(isEarlier ? {} : { token: "b2.1" }) });
    assert.equal(fetched().since, undefined, "a snapshot");
    await device.receive({ op: "changes", id: fetched().id, since: null, token: "c3.1", more: false,
      changes: [] });
    if (isEarlier) assert.equal(device.status.state, "inSync");
    else assert.equal(fetched().since, "a1.4", "it went back once more, and is asked how far");
  });
}

test("a socket that says nothing is asked for the time, and left when it does not answer",
  async () => {
    const device = await TestDevice.start();
    await device.welcome({ keepAlive: 10_000 });
    const asked = device.socket.sent.length;
    await device.environment.advance(9_999);
    assert.equal(device.socket.sent.length, asked);
    await device.environment.advance(1);
    assert.equal(device.socket.sent.length, asked + 1);
    assert.equal(device.socket.sent.at(-1).op, "time");
    device.answerTimeRequests();
    await device.environment.advance(10_000);
    await device.environment.advance(9_999);
    assert.equal(device.status.state, "inSync");
    await device.environment.advance(1);
    assert.match(device.status.reason ?? "", /sent no data/u);
  });

test("a save without an answer goes again on the next socket, under the same id", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  await device.change(list("a"));
  const first = device.socket.last("save");
  await device.environment.advance(limits.answerMilliseconds);
  assert.equal(device.environment.sockets.length, 2, "it has connected anew");
  device.socket.open();
  await settled();
  assert.equal(device.socket.last("hello").since, undefined,
    "nothing is to come before the answer");
  await device.receive({ op: "welcome", accountID: "account", deviceID: "page", token: "a1.1",
    keepAlive: 25_000, time: device.relayTime });
  const again = device.socket.last("save");
  assert.deepEqual(again, first);
  assert.equal(device.socket.last("fetch"), undefined);
  await device.save(1);
  assert.equal(device.socket.last("fetch").since, "a1.1");
});

test("what the relay asks to be waited is waited", async () => {
  const device = await TestDevice.start();
  device.socket.open();
  await settled();
  await device.receive({ op: "error", code: "overloaded", detail: "busy", retryAfter: 7 });
  assert.deepEqual([device.status.state, device.status.reason], ["offline", "busy"]);
  await device.environment.advance(6_999);
  assert.equal(device.environment.sockets.length, 1);
  await device.environment.advance(1);
  assert.equal(device.environment.sockets.length, 2);
});

test("a page comes back within the span that the relay told it", async () => {
  const device = await TestDevice.start();
  device.environment.random = () => 0.5;
  await device.welcome();
  await device.receive({ op: "reconnect", within: 15_000 });
  device.socket.end(1006, "");
  await device.environment.advance(7_499);
  assert.equal(device.environment.sockets.length, 1);
  await device.environment.advance(1);
  assert.equal(device.environment.sockets.length, 2);
});

test("a token that is not known any more needs a person, and is not tried again", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  device.socket.end(4501, "revoked");
  await device.environment.advance(10 * limits.backoffMilliseconds);
  assert.equal(device.environment.sockets.length, 1);
  assert.deepEqual([device.status.state, device.status.reason], ["needsPairing", "revoked"]);
  await device.change(list("kept"));
  assert.equal(device.status.waiting, 1);
});

test("a plan with nothing in it is its own state, and a person's sync tries again", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  device.socket.end(4502, "no plan");
  await device.environment.advance(10 * limits.backoffMilliseconds);
  assert.deepEqual([device.status.state, device.environment.sockets.length], ["plan", 1]);
  device.agent.syncNow();
  await device.welcome();
  assert.equal(device.status.state, "inSync");
});

test("a person's sync does not share the fate of a try that began before it", async () => {
  const device = await TestDevice.start();
  const doomed = device.socket;
  const synced = device.agent.syncNow();
  doomed.end(1006);
  await device.welcome();
  assert.notEqual(device.socket, doomed);
  assert.equal((await synced).state, "inSync");
});

test("a zone that the plan does not include waits, the others go on; tried again in an hour",
  async () => {
    const device = await TestDevice.start();
    await device.welcome();
    await device.change({ ...list("a"), zone: "Paid" });
    const refused = device.socket.last("save");
    await device.receive({ op: "error", id: refused.id, code: "planRequired",
      detail: "not included" });
    assert.deepEqual([device.status.state, device.status.blockedZones, device.status.waiting],
      ["needsPerson", ["Paid"], 1]);
    await device.change(list("b"));
    assert.equal(device.socket.last("save").zone, "Model");
    await device.save(1);
    for (let waited = 0; waited < limits.planRetryMilliseconds; waited += 10_000) {
      await device.environment.advance(10_000);
      device.answerTimeRequests();
    }
    assert.equal(device.socket.last("save").zone, "Paid");
    assert.notEqual(device.socket.last("save").id, refused.id);
  });

test("a stamp in the relay's future is made anew, once its time was asked", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  await device.change(list("a"));
  const { id, records } = device.socket.last("save");
  assert.equal(records[0].modifiedAt, device.relayTime);
  device.environment.wallOffset -= 60_000;
  await device.receive({ op: "saved", id, since: "a1.0", token: "a1.0", results: [{ name: "list",
    error: { code: "clockAhead", detail: "ahead", status: 422, time: device.relayTime } }] });
  assert.equal(device.socket.last("save").id, id, "not before the relay's time is known");
  device.answerTimeRequests();
  await settled();
  const again = device.socket.last("save");
  assert.notEqual(again.id, id);
  assert.equal(again.records[0].modifiedAt, device.relayTime);
});

test("a network without WebSocket: down to long-poll, and back up when a socket opens",
  async () => {
    const device = await TestDevice.start();
    const { environment } = device;
    const page = (since) => ({ body: { since, token: "a1.0", more: false, changes: [] } });
    const waits = [];
    environment.answer = (path) => {
      if (path === "/v1/time") return { body: { time: device.relayTime } };
      const isWait = environment.requests.at(-1).url.includes("wait=");
      return isWait ? new Promise((resolve) => { waits.push(resolve); }) : page(null);
    };
    device.socket.end(1006);
    await environment.advance(0);
    device.socket.end(1006);
    await environment.advance(0);
    assert.deepEqual([device.status.transport, device.status.state], ["long-poll", "inSync"]);
    const { url, headers } = environment.requests.at(-1);
    assert.match(url, /since=a1.0&wait=50$/u);
    assert.equal(headers.Authorization, "Bearer secret");
    assert.equal(environment.sockets.length, 2);
    await environment.advance(limits.probeFirstMilliseconds / 2);
    waits.pop()(page("a1.0"));
    await environment.advance(limits.probeFirstMilliseconds / 2);
    assert.equal(environment.sockets.length, 3);
    await device.welcome();
    assert.deepEqual([device.status.transport, device.status.state], ["websocket", "inSync"]);
  });

test("what is no relay's word ends the connection, and changes nothing", async () => {
  const page = JSON.stringify({ op: "changes", since: "a1.0", token: "a1.1", more: false,
    changes: [{ zone: "Model", name: "n", type: "Set", fields: "text", tag: 1 }] });
  for (const words of [page, "null", "5", "[]", "1e400", "{", "", '{"op":"\\ud800"}']) {
    const device = await TestDevice.start();
    await device.welcome();
    device.socket.receiveText(words);
    await settled();
    assert.match(device.status.reason, /malformed/u, words);
    assert.deepEqual((await device.store.load()).records, []);
  }
});

test("an edit that cannot be stored is told and not shown, and the sync goes on by itself",
  async () => {
    const store = new MemoryStore();
    const device = await TestDevice.start({ store });
    await device.welcome();
    await device.change(list("kept"));
    await device.save(1);
    const { write } = store;
    store.write = async () => { throw new StoreError("full", "no room"); };
    await assert.rejects(device.change(list("kept", "lost")), { code: "full" });
    assert.deepEqual([device.status.state, device.status.reason], ["failed", "no room"]);
    store.write = write;
    await device.environment.advance(limits.storeRetryMilliseconds);
    await device.welcome({ token: "a1.1" });
    assert.equal(device.status.state, "inSync");
    const [{ record }] = (await store.load()).records;
    assert.deepEqual(record.fields, { items: ["kept"] });
  });

test("a change whose maker fails changes nothing, and nothing else fails with it", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  const fault = new Error("the timer does not run");
  await assert.rejects(device.agent.change(() => { throw fault; }),
    { code: "refused", message: fault.message, cause: fault });
  assert.equal(device.status.state, "inSync");
});

test("a rule that gives no JSON is told, and nothing is lost by it", async () => {
  const careless = { zone: "Model", resolvers: { Set: { resolve: ({ local }) =>
    ({ merged: { ...local.fields, owner: local.fields.owner }, copies: [] }) } } };
  const device = await TestDevice.start({ apps: [careless] });
  await device.welcome();
  await device.change(list("mine"));
  const { id } = device.socket.last("save");
  await device.receive({ op: "saved", id, since: "a1.0", token: "a1.1", results: [{ name: "list",
    conflict: { ...set("list", "other's"), modifiedAt: 1, device: "other", tag: 1,
      deleted: false } }] });
  assert.equal(device.status.state, "failed");
  assert.match(device.status.reason, /the rule of Set gives no record: .* undefined/u);
  const { records, outbox } = await device.store.load();
  assert.deepEqual(records.map(({ record }) => record.fields), [{ items: ["mine"] }]);
  assert.equal(outbox.length, 1);
});

/** A countdown that ends at `zeroAt`, in the same way on every device. */
const countdown = {
  zone: "Model",
  resolvers: { Countdown: { resolve: ({ server }) => ({ merged: server.fields, copies: [] }) } },
  timedTypes: ["Countdown"],
  dueEdit: ({ fields }) => (fields.zeroAt === null ? null : { dueAt: fields.zeroAt,
    owner: fields.owner, graceMilliseconds: 2_000, fields: { ...fields, zeroAt: null } }),
};

for (const [owner, grace] of [["page", 0], ["other", 2_000]]) {
  test(`a countdown of ${owner} ends by itself, ${grace} ms after its time`, async () => {
    const device = await TestDevice.start({ apps: [countdown] });
    await device.welcome();
    const zeroAt = device.relayTime + 19_000;
    await device.change({ name: "c", type: "Countdown", fields: { owner, zeroAt } });
    await device.save(1);
    const shown = async () => (await device.store.load()).records[0].record.fields.zeroAt;
    await device.environment.advance(18_999 + grace);
    assert.equal(await shown(), zeroAt);
    await device.environment.advance(2);
    assert.equal(await shown(), null);
    assert.equal(device.socket.last("save").records[0].fields.zeroAt, null);
  });
}

/** Returns a page that knows another device's countdown, which ends in 19 s. */
async function withCountdown() {
  const device = await TestDevice.start({ apps: [countdown] });
  await device.welcome();
  const fields = { owner: "other", zeroAt: device.relayTime + 19_000 };
  await device.receive({ op: "changes", since: "a1.0", token: "a1.1", more: false, changes: [{
    zone: "Model", name: "c", type: "Countdown", fields, modifiedAt: device.relayTime,
    device: "other", tag: 1, deleted: false,
  }] });
  device.shown = async () => (await device.store.load()).records[0].record.fields.zeroAt;
  assert.equal(await device.shown(), fields.zeroAt);
  return device;
}

/** The change that the countdown's owner made meanwhile. */
const begun = (device) => ({
  zone: "Model", name: "c", type: "Countdown", modifiedAt: device.relayTime, device: "other",
  tag: 2, deleted: false, fields: { owner: "other", zeroAt: device.relayTime + 600_000 },
});

test("a page that was suspended reads what others did before it lets a countdown end", async () => {
  const device = await withCountdown();
  device.environment.suspend(120_000);
  await device.environment.advance(1);
  const { id, since } = device.socket.last("fetch");
  assert.equal(since, "a1.1");
  const change = begun(device);
  await device.receive({ op: "changes", id, since, token: "a1.2", more: false, changes: [change] });
  await device.environment.advance(limits.catchUpMilliseconds);
  assert.equal(await device.shown(), change.fields.zeroAt);
  assert.equal(device.socket.last("save"), undefined);
});

test("where the relay does not answer a page that wakes up, the countdown ends a bit later",
  async () => {
    const device = await withCountdown();
    device.environment.suspend(120_000);
    await device.environment.advance(limits.catchUpMilliseconds - 100);
    assert.notEqual(await device.shown(), null);
    await device.environment.advance(200);
    assert.equal(await device.shown(), null);
  });

test("a page whose connection was lost while it was suspended connects and reads first",
  async () => {
    const device = await withCountdown();
    device.environment.suspend(120_000);
    device.socket.end(1006);
    await settled();
    await device.environment.advance(1);
    assert.notEqual(await device.shown(), null);
    const { socket } = device;
    socket.open();
    await settled();
    socket.receive({ op: "welcome", accountID: "account", deviceID: "page", token: "a1.2",
      keepAlive: 25_000, time: device.relayTime });
    await settled();
    device.answerTimeRequests();
    const change = begun(device);
    await device.receive({ op: "changes", since: "a1.1", token: "a1.2", more: false,
      changes: [change] });
    await device.environment.advance(limits.catchUpMilliseconds);
    assert.equal(await device.shown(), change.fields.zeroAt);
    assert.equal(socket.last("save"), undefined);
  });

test("a page without a connection lets a countdown end in its time", async () => {
  const device = await withCountdown();
  device.socket.end(1006);
  await device.environment.advance(19_100);
  assert.equal(await device.shown(), null);
});
