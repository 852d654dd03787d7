import assert from "node:assert/strict";
import { test } from "node:test";
import { Accounts } from "../../../Sources/WebClient/client/accounts.js";
import { limits } from "../../../Sources/WebClient/client/limits.js";
import { movedTo } from "../../../Sources/WebClient/client/relayAddress.js";
import { FakeEnvironment, settled } from "./support/fakeEnvironment.js";
import { TestDevice } from "./support/testDevice.js";

const list = (...items) => ({ name: "list", fields: { items } });

const moved = (relay) => ({ op: "error", code: "accountMoved", detail: "elsewhere", relay });

/** The relay sends the device to another one, and closes the socket. */
async function sendAway(device, relay) {
  await device.receive(moved(relay));
  device.socket.end(4421);
  await settled();
}

test("a device follows its account, and its unsent change arrives there", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  await device.change(list("a"));
  const { id } = device.socket.last("save");
  await sendAway(device, "http://b.example");
  assert.equal(device.socket.url, "ws://b.example/v1/socket");
  assert.equal(device.status.relay, "http://b.example");
  await device.welcome();
  assert.equal(device.socket.last("save").id, id);
  await device.save(1);
  const fetch = device.socket.last("fetch");
  await device.receive({ op: "changes", id: fetch.id, since: fetch.since, token: "a1.1",
    more: false, changes: [] });
  assert.equal(device.status.state, "inSync");
});

test("after a reload, the device asks the new relay first", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  await sendAway(device, "http://b.example");
  device.agent.stop();
  const { identity } = Object.fromEntries((await device.store.load()).values);
  assert.equal(identity.relay, "http://b.example");
});

test("a refused hello is followed, too", async () => {
  const device = await TestDevice.start();
  device.socket.open();
  await settled();
  await device.receive(moved("http://b.example"));
  assert.equal(device.socket.url, "ws://b.example/v1/socket");
});

test("relays that point at each other are asked ever more rarely, and both are named", async () => {
  const device = await TestDevice.start();
  const places = ["http://b.example", "http://relay.example"];
  for (let follows = 0; follows < limits.relayFollows; follows += 1) {
    device.socket.open();
    await settled();
    await device.receive(moved(places[follows % 2]));
  }
  const { length } = device.environment.sockets;
  assert.equal(length, 1 + limits.relayFollows);
  device.socket.open();
  await settled();
  await device.receive(moved(places[limits.relayFollows % 2]));
  assert.equal(device.environment.sockets.length, length);
  assert.equal(device.status.state, "offline");
  assert.equal(device.status.reasonCode, "movedInCircle");
  for (const place of places) assert.ok(device.status.reason.includes(place));
  await device.environment.advance(limits.backoffMilliseconds);
  assert.ok(device.environment.sockets.length > length);
  await device.welcome();
  assert.equal(device.status.state, "inSync");
});

test("an address that is none is not followed", async () => {
  for (const relay of [undefined, "", "javascript:alert(1)", "http://relay.example",
    "http://b.example/path", "http://user@b.example"]) {
    const device = await TestDevice.start();
    await device.welcome();
    await sendAway(device, relay);
    assert.equal(device.status.reasonCode, "movedNowhere", relay);
    assert.equal(device.environment.sockets.length, 1);
    await device.environment.advance(limits.backoffMilliseconds);
    assert.equal(device.socket.url, "ws://relay.example/v1/socket");
    device.agent.stop();
  }
});

test("a relay with TLS leads to none without", () => {
  const refusal = { code: "accountMoved", detail: "", relay: "http://b.example" };
  assert.equal(movedTo("https://a.example", refusal), null);
  assert.equal(movedTo("http://a.example", refusal), "http://b.example");
});

test("a page that may not use the new relay names it, and asks the former one again", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  device.environment.answer = () => { throw new TypeError("blocked"); };
  await sendAway(device, "http://b.example");
  device.socket.end(1006);
  await settled();
  assert.equal(device.status.state, "offline");
  assert.equal(device.status.reasonCode, "accountMoved");
  assert.equal(device.status.relay, "http://b.example");
  const { length } = device.environment.sockets;
  await device.environment.advance(limits.backoffMilliseconds);
  assert.equal(device.environment.sockets[length].url, "ws://relay.example/v1/socket");
});

test("a page goes on asking both relays, and the former one cannot sign it out", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  device.environment.answer = () => { throw new TypeError("blocked"); };
  await sendAway(device, "http://b.example");
  /** Ends the socket, and waits for the next one. */
  const next = async (end) => {
    const { sockets } = device.environment;
    const { length } = sockets;
    await end();
    await settled();
    for (let second = 0; sockets.length === length; second += 1) {
      assert.ok(second * 1_000 <= limits.backoffMilliseconds);
      await device.environment.advance(1_000);
    }
    return device.socket.url;
  };
  const fail = () => device.socket.end(1006);
  assert.equal(await next(fail), "ws://relay.example/v1/socket");
  // The former relay has forgotten the account.
  const refuse = async () => {
    device.socket.open();
    await settled();
    await device.receive({ op: "error", code: "badToken", detail: "unknown" });
    device.socket.end(4501);
  };
  assert.equal(await next(refuse), "ws://b.example/v1/socket");
  assert.deepEqual([device.status.state, device.status.reasonCode], ["offline", "accountMoved"]);
  assert.equal(await next(fail), "ws://relay.example/v1/socket");
  assert.equal(await next(fail), "ws://b.example/v1/socket");
  await device.welcome();
  assert.equal(device.status.state, "inSync");
});

test("while the account is moved, the socket stays and the save is repeated", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  await device.change(list("a"));
  const { id } = device.socket.last("save");
  await device.receive({ op: "error", id, code: "accountMoving", detail: "in a moment",
    retryAfter: 1 });
  const sent = device.socket.sent?.length;
  await device.environment.advance(3_000);
  device.answerTimeRequests();
  assert.equal(device.environment.sockets.length, 1);
  assert.equal(device.socket.last("save").id, id);
  assert.notEqual(device.socket.sent?.length ?? 1, sent);
  await device.save(1);
  assert.equal(device.status.state, "inSync");
});

test("pairing goes to the new relay with the same code, and keeps its address", async () => {
  const environment = new FakeEnvironment();
  const asked = [];
  environment.fetch = async (url) => {
    asked.push(url);
    if (url.startsWith("http://relay.example")) {
      return new Response(JSON.stringify({ code: "accountMoved", detail: "elsewhere",
        relay: "http://b.example" }),
      { status: 421, headers: { "Content-Type": "application/problem+json" } });
    }
    return new Response(JSON.stringify({ accountID: "a", deviceID: "d", token: "t" }));
  };
  const accounts = new Accounts(environment, "http://relay.example");
  const { identity } = await accounts.pair("code", { deviceName: "page" }, null);
  assert.deepEqual(asked, ["http://relay.example/v1/devices", "http://b.example/v1/devices"]);
  assert.equal(identity.relay, "http://b.example");
});
