import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Accounts } from "../../../Sources/WebClient/client/accounts.js";
import { limits } from "../../../Sources/WebClient/client/limits.js";
import { Replica } from "../../../Sources/WebClient/client/replica/replica.js";
import { systemEnvironment } from "../../../Sources/WebClient/client/transport/environment.js";
import { RelayProcess } from "../support/relayProcess.js";
import { needsProgram } from "../support/program.js";
import { fieldsOf, modelApp, set } from "./support/modelApp.js";
import { settled } from "./support/fakeEnvironment.js";
import { add, Browser, inState, itemsOf, shows, until } from "./support/page.js";
import { identity, TestDevice } from "./support/testDevice.js";

// Devices for a part of the account.

const device = { deviceName: "page" };
const within = { ...needsProgram, timeout: 60_000 };
let relay;

before(async () => { if (!needsProgram.skip) relay = await RelayProcess.start(); });
after(() => relay?.remove());

const elsewhere = (name, ...items) => ({ ...set(name, ...items), zone: "Elsewhere" });

async function opened(context, options) {
  const page = await new Browser().open(relay, options);
  context.after(() => page.close());
  return page;
}

/** Returns a device with the whole account, which has one record in each of two zones. */
async function owner(context) {
  const page = await opened(context);
  await page.createAccount(device);
  await page.change(() => [set("list", "milk"), elsewhere("list", "secret")]);
  await until(page, inState("inSync"));
  return page;
}

const zonesOf = (page) => [...new Set(page.records().map(({ zone }) => zone))].sort();

test("a page for one zone, read-only, sees this zone alone, and its edits are refused at once",
  within, async (context) => {
    const wide = await owner(context);
    const issued = await wide.issueCode({ zones: ["Model"], access: "read" });
    const scope = { zones: ["Model"], access: "read" };
    assert.deepEqual(issued.scope, scope);
    const narrow = await opened(context);
    await narrow.join(issued.code, device);
    await until(narrow, inState("inSync"));
    assert.deepEqual(narrow.status.scope, scope);
    assert.deepEqual([zonesOf(narrow), itemsOf(narrow, "list")], [["Model"], ["milk"]]);
    await assert.rejects(add(narrow, "list", "tea"),
      { name: "EditError", code: "outOfScope", message: /paired to read only; pair it again/ });
    await assert.rejects(narrow.change(() => [elsewhere("x", "y")]),
      { code: "outOfScope", message: /without the zone Elsewhere; pair it again/ });
    assert.deepEqual([narrow.status.waiting, itemsOf(narrow, "list")], [0, ["milk"]]);
    await add(wide, "list", "tea");
    await until(narrow, shows("list", "milk", "tea"));
    await until(narrow, inState("inSync"));
  });

test("each device's scope is listed, and a device with a scope gets itself alone", within,
  async (context) => {
    const wide = await owner(context);
    const { code } = await wide.issueCode({ zones: ["Model"] });
    const narrow = await opened(context);
    await narrow.join(code, device);
    const scope = { zones: ["Model"], access: "write" };
    const listed = await wide.devices();
    const scopes = Object.fromEntries(listed.map((it) => [it.deviceID, it.scope]));
    assert.deepEqual(scopes,
      { [wide.status.deviceID]: undefined, [narrow.status.deviceID]: scope });
    assert.deepEqual((await narrow.devices()).map((it) => [it.deviceID, it.scope]),
      [[narrow.status.deviceID, scope]]);
    assert.equal(wide.status.scope, null);
    await assert.rejects(narrow.revoke(wide.status.deviceID), { name: "RefusedError" });
    await until(wide, inState("inSync"));
  });

test("a device gives others at most what it has", within, async (context) => {
  const wide = await owner(context);
  const narrow = await opened(context);
  await narrow.join((await wide.issueCode({ zones: ["Model"], access: "read" })).code, device);
  for (const more of [{ access: "write" }, { zones: ["Elsewhere"] }]) {
    await assert.rejects(narrow.issueCode(more), { name: "RefusedError", code: "outOfScope" });
  }
  const issued = await narrow.issueCode({ expiresIn: 60 });
  assert.deepEqual(issued.scope, { zones: ["Model"], access: "read" });
  assert.ok(issued.expiresAt - narrow.now <= 60_000);
});

test("options of a code that are unknown or wrong are refused before anything is sent", () => {
  const accounts = new Accounts({ fetch: () => assert.fail("a request") }, "http://relay");
  const wrong = [
    { zone: ["Model"] }, { zones: [] }, { zones: "Model" }, { zones: [7] }, { readOnly: true },
    { zones: Array.from({ length: 17 }, (_, at) => `z${at}`) }, { access: "none" },
    { expiresIn: 9 }, { expiresIn: 601 }, { expiresIn: "60" }, { zones: new Array(2) }, null,
  ];
  return Promise.all(wrong.map((options) => assert.rejects(accounts.issueCode("token", options),
    { name: "EditError", code: "badScope" }, JSON.stringify(options))));
});

test("an answer whose scope is in another form is not taken for the whole account", async () => {
  const answered = (scope) => new Accounts({
    ...systemEnvironment(), fetch: async () => new Response(
      JSON.stringify({ accountID: "a", deviceID: "d", token: "t", scope }), { status: 201 }),
  }, "http://relay").pair("code", device, null);
  for (const scope of [null, [], { access: "look" }, { zones: [] }, { zones: [""] }]) {
    await assert.rejects(answered(scope), { name: "WireError" }, JSON.stringify(scope));
  }
  assert.deepEqual((await answered({ zones: ["Model"] })).identity.scope,
    { zones: ["Model"], access: "write" });
  assert.equal("scope" in (await answered(undefined)).identity, false);
});

test("a list of devices with a scope in another form is refused, and not shown", async () => {
  const listed = (scope) => new Accounts({
    ...systemEnvironment(), fetch: async () => new Response(
      JSON.stringify({ devices: [{ deviceID: "d", deviceName: "n", platform: "p", scope }] })),
  }, "http://relay").devices("token");
  for (const scope of [null, 7, "all", { zones: 7 }, { zones: [] }, { access: "look" }]) {
    await assert.rejects(listed(scope), { name: "WireError" }, JSON.stringify(scope));
  }
  const scope = { zones: ["Model"], access: "read" };
  assert.deepEqual((await listed(scope))[0].scope, scope);
  assert.equal("scope" in (await listed(undefined))[0], false);
});

test("an edit of before the join that is out of scope stays here, and holds nothing up", within,
  async (context) => {
    const wide = await owner(context);
    const narrow = await opened(context);
    await narrow.change(() => [elsewhere("mine", "x"), set("other", "y")]);
    await narrow.join((await wide.issueCode({ zones: ["Model"] })).code, device);
    await until(wide, shows("other", "y"));
    await until(narrow, inState("needsPerson"));
    const { waiting, zonesOutOfScope } = narrow.status;
    assert.deepEqual([waiting, zonesOutOfScope], [1, ["Elsewhere"]]);
    assert.deepEqual(narrow.record("Elsewhere", "mine").fields, { items: ["x"] });
    assert.equal(wide.record("Elsewhere", "mine"), null);
  });

test("paired again for other zones, a page reads these, and no longer has the former ones", within,
  async (context) => {
    const wide = await owner(context);
    const narrow = await opened(context);
    await narrow.join((await wide.issueCode({ zones: ["Model"] })).code, device);
    await until(narrow, shows("list", "milk"));
    await wide.revoke(narrow.status.deviceID);
    await until(narrow, inState("needsPairing"));
    await narrow.join((await wide.issueCode({ zones: ["Elsewhere"] })).code, device);
    await until(narrow, (it) => inState("inSync")(it) && zonesOf(it).includes("Elsewhere"));
    assert.deepEqual(zonesOf(narrow), ["Elsewhere"]);
    await wide.revoke(narrow.status.deviceID);
    await until(narrow, inState("needsPairing"));
    await narrow.join((await wide.issueCode()).code, device);
    await until(narrow, (it) => inState("inSync")(it) && zonesOf(it).length === 2);
    assert.equal(narrow.status.scope, null);
  });

test("a refusal of the relay holds back the zone, and is no failure of the sync", async () => {
  const page = await TestDevice.start();
  await page.welcome();
  await page.change({ name: "list", fields: { items: ["a"] }, zone: "Elsewhere" });
  const { id } = page.socket.last("save");
  await page.receive({ op: "error", id, code: "outOfScope", detail: "not paired for it" });
  assert.deepEqual([page.status.state, page.status.zonesOutOfScope, page.status.waiting],
    ["needsPerson", ["Elsewhere"], 1]);
  await page.change({ name: "list", fields: { items: ["b"] } });
  assert.equal(page.socket.last("save").zone, "Model");
});

test("edits that are due by time are left to devices that may make them", () => {
  const app = { ...modelApp, timedTypes: ["Fields"], dueEdit: () => ({
    dueAt: 0, owner: identity.deviceID, graceMilliseconds: 0, fields: { done: true } }) };
  const held = { ...fieldsOf("task", { done: false }), tag: 1, modifiedAt: 1, device: "other",
    deleted: false };
  const clock = { offset: 0, relayTime: 5, wall: 5, isTrusted: true, isMeasured: true,
    wallSteps: 0 };
  const made = (scope) => new Replica({ records: [{ record: held, snapshot: 0, isLost: false }],
    outbox: [], values: [["identity", { ...identity, scope }], ["cursor", "a1.1"]] }, [app])
    .perform({ task: "makeDueEdits", isConnected: true, clock });
  assert.equal(made(undefined).outbox.unsent, 1, "without a scope it is made");
  const outcome = made({ access: "read" });
  assert.deepEqual([outcome.outbox.unsent, outcome.due.whileConnected], [0, null]);
});

/** The relay ends the device, which joins its account again. */
async function joinsAgain(page, changes) {
  page.socket.end(4501, "revoked");
  await settled();
  assert.equal(page.status.state, "needsPairing");
  await page.agent.join({ ...identity, ...changes });
  await settled();
}

test("a change refused for the scope is sent once the page is paired for its zone again",
  async () => {
    const page = await TestDevice.start();
    await page.welcome();
    await page.change({ name: "list", fields: { items: ["a"] }, zone: "Elsewhere" });
    // The relay revokes the device before it answers the batch.
    await joinsAgain(page, { token: "second",
      scope: { zones: ["Model"], access: "write" } });
    await page.welcome();
    const { id } = page.socket.last("save");
    await page.receive({ op: "error", id, code: "outOfScope", detail: "not paired for it" });
    assert.deepEqual([page.status.zonesOutOfScope, page.status.waiting], [["Elsewhere"], 1]);
    await joinsAgain(page, { token: "third" });
    await page.welcome();
    assert.deepEqual(page.status.zonesOutOfScope, []);
    assert.equal(page.socket.last("save")?.zone, "Elsewhere");
  });

test("a zone that the relay has refused is tried again within the hour", async () => {
  const page = await TestDevice.start();
  await page.welcome();
  await page.change({ name: "list", fields: { items: ["a"] }, zone: "Elsewhere" });
  const { id } = page.socket.last("save");
  await page.receive({ op: "error", id, code: "outOfScope", detail: "not paired for it" });
  for (let waited = 0; waited < limits.planRetryMilliseconds; waited += 10_000) {
    await page.environment.advance(10_000);
    page.answerTimeRequests();
  }
  assert.notEqual(page.socket.last("save").id, id);
});

test("a page that may only read settles a conflict by taking the relay's version", async () => {
  const page = await TestDevice.start();
  await page.welcome();
  const mine = { zone: "Model", name: "poll", type: "Poll" };
  await page.change({ ...mine, fields: { title: "mine" } });
  const { id } = page.socket.last("save");
  const server = { ...mine, fields: { title: "theirs" }, tag: 1, device: "other",
    modifiedAt: page.relayTime, deleted: false };
  await page.receive({ op: "saved", id, since: "a1.1", token: "a1.1",
    results: [{ name: "poll", conflict: server }] });
  assert.equal(page.status.askingCount, 1);
  await joinsAgain(page, { token: "second", scope: { access: "read" } });
  const decided = (keepLocal) => page.agent.decide({ zone: "Model", name: "poll", keepLocal });
  await assert.rejects(decided(true), { name: "EditError", code: "outOfScope" });
  assert.deepEqual((await decided(false)).fields, { title: "theirs" });
  assert.deepEqual([page.status.askingCount, page.status.waiting], [0, 0]);
});
