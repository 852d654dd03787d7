import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../../../Sources/WebClient/client/limits.js";
import { MemoryStore } from "../../../Sources/WebClient/client/store/memoryStore.js";
import { StoreError } from "../../../Sources/WebClient/client/store/storeError.js";
import { settled } from "./support/fakeEnvironment.js";
import { set } from "./support/modelApp.js";
import { Stand } from "./support/stand.js";

const list = (...items) => ({ name: "list", fields: { items } });

test("the token is in the socket's first message, and in no URL", async () => {
  const stand = await Stand.start();
  await stand.welcome();
  assert.equal(stand.socket.last("hello").token, "secret");
  assert.equal(stand.status.state, "inSync");
  stand.socket.end(1006);
  await stand.environment.advance(1_000);
  const urls = [...stand.environment.sockets, ...stand.environment.requests];
  for (const { url } of urls) assert.ok(!url.includes("secret"), url);
  assert.equal(stand.socket.url, "ws://relay.example/v1/socket");
});

test("the status is in sync only when all is here and there", async () => {
  const stand = await Stand.start();
  assert.equal(stand.status.state, "syncing");
  await stand.welcome();
  await stand.change(list("a"));
  assert.deepEqual([stand.status.state, stand.status.waiting], ["syncing", 1]);
  await stand.save(1);
  assert.deepEqual([stand.status.state, stand.status.waiting], ["inSync", 0]);
  await stand.say({ op: "changed", token: "a1.9" });
  assert.equal(stand.status.state, "syncing");
  stand.socket.end(1006);
  await settled();
  assert.equal(stand.status.state, "offline");
  await stand.change(list("a", "b"));
  assert.deepEqual([stand.status.state, stand.status.waiting], ["offline", 1]);
});

test("a message that does not follow the cursor is not applied, and what lies between is fetched",
  async () => {
    const stand = await Stand.start();
    await stand.welcome({ token: "a1.4" });
    const record = (tag) => ({ zone: "Model", name: `n${tag}`, type: "Set", tag, modifiedAt: tag,
      fields: { items: [] }, device: "other", deleted: false });
    await stand.say({ op: "changes", since: "a1.5", token: "a1.6", more: false,
      changes: [record(6)] });
    const fetch = stand.socket.last("fetch");
    assert.equal(fetch.since, "a1.4");
    assert.equal(stand.status.state, "syncing");
    await stand.say({ op: "changes", id: fetch.id, since: "a1.4", token: "a1.6", more: false,
      changes: [record(5), record(6)] });
    assert.equal(stand.status.state, "inSync");
    const told = stand.news.filter(({ kind }) => kind === "changed");
    assert.deepEqual(told.flatMap(({ records }) => records.map(({ name }) => name)), ["n5", "n6"]);
  });

for (const isEarlier of [false, true]) {
  const who = isEarlier ? "an earlier relay does not say where it stands"
    : "the relay says where it stands";
  test(`a cursor of no history: ${who}, and what it went back since is told by that`, async () => {
    const stand = await Stand.start();
    await stand.welcome({ token: "a1.4" });
    await stand.say({ op: "changed", token: "a1.5" });
    const fetched = () => stand.socket.last("fetch");
    await stand.say({ op: "error", id: fetched().id, code: "badChangeToken", detail: "of none",
      ...(isEarlier ? {} : { token: "b2.1" }) });
    assert.equal(fetched().since, undefined, "a snapshot");
    await stand.say({ op: "changes", id: fetched().id, since: null, token: "c3.1", more: false,
      changes: [] });
    if (isEarlier) assert.equal(stand.status.state, "inSync");
    else assert.equal(fetched().since, "a1.4", "it went back once more, and is asked how far");
  });
}

test("a socket that says nothing is asked for the time, and left when it does not answer",
  async () => {
    const stand = await Stand.start();
    await stand.welcome({ keepAlive: 10_000 });
    const asked = stand.socket.sent.length;
    await stand.environment.advance(9_999);
    assert.equal(stand.socket.sent.length, asked);
    await stand.environment.advance(1);
    assert.equal(stand.socket.sent.length, asked + 1);
    assert.equal(stand.socket.sent.at(-1).op, "time");
    stand.sayTime();
    await stand.environment.advance(10_000);
    await stand.environment.advance(9_999);
    assert.equal(stand.status.state, "inSync");
    await stand.environment.advance(1);
    assert.match(stand.status.reason ?? "", /nothing was heard/u);
  });

test("a save without an answer goes again on the next socket, under the same id", async () => {
  const stand = await Stand.start();
  await stand.welcome();
  await stand.change(list("a"));
  const first = stand.socket.last("save");
  await stand.environment.advance(limits.answerMilliseconds);
  assert.equal(stand.environment.sockets.length, 2, "it has connected anew");
  stand.socket.open();
  await settled();
  assert.equal(stand.socket.last("hello").since, undefined, "nothing is to come before the answer");
  await stand.say({ op: "welcome", accountID: "account", deviceID: "page", token: "a1.1",
    keepAlive: 25_000, time: stand.relayTime });
  const again = stand.socket.last("save");
  assert.deepEqual(again, first);
  assert.equal(stand.socket.last("fetch"), undefined);
  await stand.save(1);
  assert.equal(stand.socket.last("fetch").since, "a1.1");
});

test("what the relay asks to be waited is waited", async () => {
  const stand = await Stand.start();
  stand.socket.open();
  await settled();
  await stand.say({ op: "error", code: "overloaded", detail: "busy", retryAfter: 7 });
  assert.deepEqual([stand.status.state, stand.status.reason], ["offline", "busy"]);
  await stand.environment.advance(6_999);
  assert.equal(stand.environment.sockets.length, 1);
  await stand.environment.advance(1);
  assert.equal(stand.environment.sockets.length, 2);
});

test("a page comes back within the span that the relay told it", async () => {
  const stand = await Stand.start();
  stand.environment.random = () => 0.5;
  await stand.welcome();
  await stand.say({ op: "reconnect", within: 15_000 });
  stand.socket.end(1006, "");
  await stand.environment.advance(7_499);
  assert.equal(stand.environment.sockets.length, 1);
  await stand.environment.advance(1);
  assert.equal(stand.environment.sockets.length, 2);
});

test("a token that is not known any more needs a person, and is not tried again", async () => {
  const stand = await Stand.start();
  await stand.welcome();
  stand.socket.end(4501, "revoked");
  await stand.environment.advance(10 * limits.backoffMilliseconds);
  assert.equal(stand.environment.sockets.length, 1);
  assert.deepEqual([stand.status.state, stand.status.reason], ["needsPairing", "revoked"]);
  await stand.change(list("kept"));
  assert.equal(stand.status.waiting, 1);
});

test("a plan with nothing in it is its own state, and a person's sync tries again", async () => {
  const stand = await Stand.start();
  await stand.welcome();
  stand.socket.end(4502, "no plan");
  await stand.environment.advance(10 * limits.backoffMilliseconds);
  assert.deepEqual([stand.status.state, stand.environment.sockets.length], ["plan", 1]);
  stand.agent.syncNow();
  await stand.welcome();
  assert.equal(stand.status.state, "inSync");
});

test("a person's sync does not share the fate of a try that began before it", async () => {
  const stand = await Stand.start();
  const doomed = stand.socket;
  const synced = stand.agent.syncNow();
  doomed.end(1006);
  await stand.welcome();
  assert.notEqual(stand.socket, doomed);
  assert.equal((await synced).state, "inSync");
});

test("a zone that the plan does not include waits, the others go on; tried again in an hour",
  async () => {
    const stand = await Stand.start();
    await stand.welcome();
    await stand.change({ ...list("a"), zone: "Paid" });
    const refused = stand.socket.last("save");
    await stand.say({ op: "error", id: refused.id, code: "planRequired", detail: "not included" });
    assert.deepEqual([stand.status.state, stand.status.blockedZones, stand.status.waiting],
      ["needsPerson", ["Paid"], 1]);
    await stand.change(list("b"));
    assert.equal(stand.socket.last("save").zone, "Model");
    await stand.save(1);
    for (let waited = 0; waited < limits.planRetryMilliseconds; waited += 10_000) {
      await stand.environment.advance(10_000);
      stand.sayTime();
    }
    assert.equal(stand.socket.last("save").zone, "Paid");
    assert.notEqual(stand.socket.last("save").id, refused.id);
  });

test("a stamp in the relay's future is made anew, once its time was asked", async () => {
  const stand = await Stand.start();
  await stand.welcome();
  await stand.change(list("a"));
  const { id, records } = stand.socket.last("save");
  assert.equal(records[0].modifiedAt, stand.relayTime);
  stand.environment.wallOffset -= 60_000;
  await stand.say({ op: "saved", id, since: "a1.0", token: "a1.0", results: [{ name: "list",
    error: { code: "clockAhead", detail: "ahead", status: 422, time: stand.relayTime } }] });
  assert.equal(stand.socket.last("save").id, id, "not before the relay's time is known");
  stand.sayTime();
  await settled();
  const again = stand.socket.last("save");
  assert.notEqual(again.id, id);
  assert.equal(again.records[0].modifiedAt, stand.relayTime);
});

test("a network without WebSocket: down to long-poll, and back up when a socket opens",
  async () => {
    const stand = await Stand.start();
    const { environment } = stand;
    const page = (since) => ({ body: { since, token: "a1.0", more: false, changes: [] } });
    const waits = [];
    environment.answer = (path) => {
      if (path === "/v1/time") return { body: { time: stand.relayTime } };
      const isWait = environment.requests.at(-1).url.includes("wait=");
      return isWait ? new Promise((resolve) => { waits.push(resolve); }) : page(null);
    };
    stand.socket.end(1006);
    await environment.advance(0);
    stand.socket.end(1006);
    await environment.advance(0);
    assert.deepEqual([stand.status.transport, stand.status.state], ["long-poll", "inSync"]);
    const { url, headers } = environment.requests.at(-1);
    assert.match(url, /since=a1.0&wait=50$/u);
    assert.equal(headers.Authorization, "Bearer secret");
    assert.equal(environment.sockets.length, 2);
    await environment.advance(limits.probeFirstMilliseconds / 2);
    waits.pop()(page("a1.0"));
    await environment.advance(limits.probeFirstMilliseconds / 2);
    assert.equal(environment.sockets.length, 3);
    await stand.welcome();
    assert.deepEqual([stand.status.transport, stand.status.state], ["websocket", "inSync"]);
  });

test("what is no relay's word ends the connection, and changes nothing", async () => {
  const page = JSON.stringify({ op: "changes", since: "a1.0", token: "a1.1", more: false,
    changes: [{ zone: "Model", name: "n", type: "Set", fields: "text", tag: 1 }] });
  for (const words of [page, "null", "5", "[]", "1e400", "{", "", '{"op":"\\ud800"}']) {
    const stand = await Stand.start();
    await stand.welcome();
    stand.socket.sayText(words);
    await settled();
    assert.match(stand.status.reason, /malformed/u, words);
    assert.deepEqual((await stand.store.load()).records, []);
  }
});

test("an edit that cannot be stored is told and not shown, and the sync goes on by itself",
  async () => {
    const store = new MemoryStore();
    const stand = await Stand.start({ store });
    await stand.welcome();
    await stand.change(list("kept"));
    await stand.save(1);
    const { write } = store;
    store.write = async () => { throw new StoreError("full", "no room"); };
    await assert.rejects(stand.change(list("kept", "lost")), { code: "full" });
    assert.deepEqual([stand.status.state, stand.status.reason], ["failed", "no room"]);
    store.write = write;
    await stand.environment.advance(limits.storeRetryMilliseconds);
    await stand.welcome({ token: "a1.1" });
    assert.equal(stand.status.state, "inSync");
    const [{ record }] = (await store.load()).records;
    assert.deepEqual(record.fields, { items: ["kept"] });
  });

test("a change whose maker fails changes nothing, and nothing else fails with it", async () => {
  const stand = await Stand.start();
  await stand.welcome();
  const fault = new Error("the timer does not run");
  await assert.rejects(stand.agent.change(() => { throw fault; }),
    { code: "refused", message: fault.message, cause: fault });
  assert.equal(stand.status.state, "inSync");
});

test("a rule that gives no JSON is told, and nothing is lost by it", async () => {
  const careless = { zone: "Model", resolvers: { Set: { resolve: ({ local }) =>
    ({ merged: { ...local.fields, owner: local.fields.owner }, copies: [] }) } } };
  const stand = await Stand.start({ apps: [careless] });
  await stand.welcome();
  await stand.change(list("mine"));
  const { id } = stand.socket.last("save");
  await stand.say({ op: "saved", id, since: "a1.0", token: "a1.1", results: [{ name: "list",
    conflict: { ...set("list", "other's"), modifiedAt: 1, device: "other", tag: 1,
      deleted: false } }] });
  assert.equal(stand.status.state, "failed");
  assert.match(stand.status.reason, /the rule of Set gives no record: .* undefined/u);
  const { records, outbox } = await stand.store.load();
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
    const stand = await Stand.start({ apps: [countdown] });
    await stand.welcome();
    const zeroAt = stand.relayTime + 19_000;
    await stand.change({ name: "c", type: "Countdown", fields: { owner, zeroAt } });
    await stand.save(1);
    const shown = async () => (await stand.store.load()).records[0].record.fields.zeroAt;
    await stand.environment.advance(18_999 + grace);
    assert.equal(await shown(), zeroAt);
    await stand.environment.advance(2);
    assert.equal(await shown(), null);
    assert.equal(stand.socket.last("save").records[0].fields.zeroAt, null);
  });
}

/** Returns a page that knows another device's countdown, which ends in 19 s. */
async function withCountdown() {
  const stand = await Stand.start({ apps: [countdown] });
  await stand.welcome();
  const fields = { owner: "other", zeroAt: stand.relayTime + 19_000 };
  await stand.say({ op: "changes", since: "a1.0", token: "a1.1", more: false, changes: [{
    zone: "Model", name: "c", type: "Countdown", fields, modifiedAt: stand.relayTime,
    device: "other", tag: 1, deleted: false,
  }] });
  stand.shown = async () => (await stand.store.load()).records[0].record.fields.zeroAt;
  assert.equal(await stand.shown(), fields.zeroAt);
  return stand;
}

/** The change that the countdown's owner made meanwhile. */
const begun = (stand) => ({
  zone: "Model", name: "c", type: "Countdown", modifiedAt: stand.relayTime, device: "other",
  tag: 2, deleted: false, fields: { owner: "other", zeroAt: stand.relayTime + 600_000 },
});

test("a page that was suspended reads what others did before it lets a countdown end", async () => {
  const stand = await withCountdown();
  stand.environment.suspend(120_000);
  await stand.environment.advance(1);
  const { id, since } = stand.socket.last("fetch");
  assert.equal(since, "a1.1");
  const change = begun(stand);
  await stand.say({ op: "changes", id, since, token: "a1.2", more: false, changes: [change] });
  await stand.environment.advance(limits.catchUpMilliseconds);
  assert.equal(await stand.shown(), change.fields.zeroAt);
  assert.equal(stand.socket.last("save"), undefined);
});

test("where the relay does not answer a page that wakes up, the countdown ends a bit later",
  async () => {
    const stand = await withCountdown();
    stand.environment.suspend(120_000);
    await stand.environment.advance(limits.catchUpMilliseconds - 100);
    assert.notEqual(await stand.shown(), null);
    await stand.environment.advance(200);
    assert.equal(await stand.shown(), null);
  });

test("a page whose connection was lost while it was suspended connects and reads first",
  async () => {
    const stand = await withCountdown();
    stand.environment.suspend(120_000);
    stand.socket.end(1006);
    await settled();
    await stand.environment.advance(1);
    assert.notEqual(await stand.shown(), null);
    const { socket } = stand;
    socket.open();
    await settled();
    socket.say({ op: "welcome", accountID: "account", deviceID: "page", token: "a1.2",
      keepAlive: 25_000, time: stand.relayTime });
    await settled();
    stand.sayTime();
    const change = begun(stand);
    await stand.say({ op: "changes", since: "a1.1", token: "a1.2", more: false,
      changes: [change] });
    await stand.environment.advance(limits.catchUpMilliseconds);
    assert.equal(await stand.shown(), change.fields.zeroAt);
    assert.equal(socket.last("save"), undefined);
  });

test("a page without a connection lets a countdown end in its time", async () => {
  const stand = await withCountdown();
  stand.socket.end(1006);
  await stand.environment.advance(19_100);
  assert.equal(await stand.shown(), null);
});
