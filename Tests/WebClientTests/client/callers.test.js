import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { apps } from "../../../Sources/WebClient/apps/appCatalog.js";
import { parseMessage } from "../../../Sources/WebClient/json/jsonParser.js";
import { fileStore, Lockstep } from "../../../Sources/WebClient/node.js";
import { World } from "../../../Sources/WebClient/testing.js";

// Mistakes of a caller: each is refused with a sentence, and the client goes on.

const rules = { zone: "Todos", types: { Todo: {}, Choice: { conflict: "ask" } } };

/** A client without a relay. */
async function opened(context, options = {}) {
  const lockstep = await Lockstep.open({ relay: "http://127.0.0.1:1", rules, ...options });
  context.after(() => lockstep.close());
  return lockstep;
}

/** An edit after the mistake is stored, and the client has not failed. */
async function assertGoesOn(lockstep) {
  const id = await lockstep.save("Todos", "Todo", { title: "after" });
  assert.equal(lockstep.record("Todos", id).fields.title, "after");
  assert.equal(lockstep.status.state, "needsPairing");
}

test("an array with a hole is refused, and the file of the store stays readable",
  async (context) => {
    const folder = await mkdtemp(join(tmpdir(), "lockstep-callers-"));
    context.after(() => rm(folder, { recursive: true, force: true }));
    const path = join(folder, "home.json");
    const lockstep = await opened(context, { store: fileStore(path) });
    const list = ["a", "b", "c"];
    delete list[1];
    for (const item of [{ list }, { deep: [{ list }] }, { list: new Array(3) }]) {
      await assert.rejects(lockstep.save("Todos", "Todo", item),
        { name: "EditError", code: "badEdit", message: /hole/ });
    }
    await assertGoesOn(lockstep);
    const { records } = parseMessage(await readFile(path, "utf8"));
    assert.equal(records.length, 1);
  });

test("a field that JSON cannot have is refused by its name, also if it holds itself",
  async (context) => {
    const lockstep = await opened(context);
    const device = new World({ rules }).device("phone");
    const id = await lockstep.save("Todos", "Todo", { title: "milk" });
    device.save("Todos", "Todo", { title: "milk" }, { id });
    const cycle = { parts: [] };
    cycle.parts.push({ whole: cycle }, { whole: cycle });
    let deep = [];
    for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
    for (const [note, message] of [[() => 1, /function/], [Symbol("x"), /symbol/],
      [[{ a: () => 1 }], /function/], [1n, /bigint/], [NaN, /finite/], [new Date(0), /plain/],
      [cycle, /deeply/], [deep, /deeply/]]) {
      const fields = { title: "tea", note };
      const edits = [{ zone: "Todos", name: id, type: "Todo", fields }];
      const refused = { name: "EditError", code: "badEdit" };
      const named = (error) => error.message.includes('"note"') && message.test(error.message);
      for (const act of [() => lockstep.save("Todos", "Todo", fields),
        () => lockstep.update("Todos", id, (todo) => ({ ...todo, note })),
        () => lockstep.change(() => edits)]) {
        const error = await act().then(() => null, (it) => it);
        assert.deepEqual({ name: error?.name, code: error?.code }, refused, error?.message);
        assert.ok(named(error), error.message);
      }
      for (const act of [() => device.save("Todos", "Todo", fields),
        () => device.update("Todos", id, () => fields), () => device.change(() => edits)]) {
        assert.throws(act, refused);
        assert.throws(act, named);
      }
    }
    const fields = new Proxy({ title: "tea" }, {});
    const edits = [{ zone: "Todos", name: id, type: "Todo", fields }];
    await assert.rejects(lockstep.change(() => edits),
      { code: "badEdit", message: /plain objects/ });
    assert.deepEqual(lockstep.record("Todos", id).fields, { title: "milk" });
    await assertGoesOn(lockstep);
  });

test("a listener that throws an error stops neither the others nor the client",
  async (context) => {
    const lockstep = await opened(context);
    const faults = [];
    const heard = [];
    lockstep.subscribe(() => { throw new Error("of a listener"); });
    lockstep.subscribe(({ kind }) => heard.push(kind));
    const catching = (fault) => faults.push(fault.message);
    // The runner's own handler would count the error as a failure of this test.
    const others = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", catching);
    context.after(() => {
      process.off("uncaughtException", catching);
      for (const other of others) process.on("uncaughtException", other);
    });
    await assertGoesOn(lockstep);
    await assertGoesOn(lockstep);
    await new Promise((resolve) => { setImmediate(resolve); });
    assert.ok(heard.filter((kind) => kind === "changed").length >= 2, heard.join());
    assert.ok(faults.length >= 2, "each error is reported");
    assert.deepEqual([...new Set(faults)], ["of a listener"]);
  });

test("saving what is no item is refused, and deletes nothing", async (context) => {
  const lockstep = await opened(context);
  const id = await lockstep.save("Todos", "Todo", { title: "milk" });
  for (const item of [null, undefined, "milk", [], Promise.resolve({})]) {
    await assert.rejects(lockstep.save("Todos", "Todo", item, { id }),
      { name: "EditError", code: "badEdit" });
  }
  assert.equal(lockstep.record("Todos", id).fields.title, "milk");
  const device = new World({ rules }).device("phone");
  device.save("Todos", "Todo", { title: "milk" }, { id });
  assert.throws(() => device.save("Todos", "Todo", null, { id }), { code: "badEdit" });
  assert.throws(() => device.update("Todos", id, () => null), { code: "badEdit" });
  assert.equal(device.record("Todos", id).title, "milk");
});

test("a decision says which version stays; anything else decides nothing", async (context) => {
  const world = new World({ rules });
  const [phone, laptop] = [world.device("phone"), world.device("laptop")];
  const id = phone.save("Todos", "Choice", { title: "a" });
  world.settle();
  phone.update("Todos", id, () => ({ title: "b" }));
  laptop.update("Todos", id, () => ({ title: "c" }));
  world.settle();
  const [device] = [phone, laptop].filter(({ asking }) => asking.length > 0);
  const place = { zone: "Todos", name: id };
  const before = device.record("Todos", id);
  for (const wrong of [undefined, null, "local", place, { ...place, keepLocal: undefined },
    { ...place, keepLocal: "no" }]) {
    assert.throws(() => device.decide(wrong), { name: "EditError", code: "badEdit" });
    assert.equal(device.asking.length, 1);
  }
  assert.deepEqual(device.record("Todos", id), before);
  device.decide({ ...place, keepLocal: false });
  assert.deepEqual(device.asking, []);
  const lockstep = await opened(context);
  await assert.rejects(lockstep.decide(), { name: "EditError", code: "badEdit" });
  await assertGoesOn(lockstep);
});

test("a change that throws anything, or gives no edits, is an error of that change alone",
  async (context) => {
    const lockstep = await opened(context);
    for (const thrown of [null, undefined, "text", new Error("of the app")]) {
      await assert.rejects(lockstep.change(() => { throw thrown; }),
        { name: "EditError", code: "refused" });
      await assert.rejects(lockstep.update("Todos", "x", () => { throw thrown; }),
        { name: "EditError" });
    }
    const wrong = [null, undefined, {}, [null], [[]], ["text"], Promise.resolve([]),
      [{ zone: Symbol("Todos"), name: "x", type: "Todo", fields: {} }]];
    for (const edits of wrong) {
      await assert.rejects(lockstep.change(() => edits), { name: "EditError", code: "badEdit" });
    }
    await assertGoesOn(lockstep);
    const device = new World({ rules }).device("phone");
    for (const edits of wrong) {
      assert.throws(() => device.change(() => edits), { name: "EditError", code: "badEdit" });
    }
  });

test("a zone whose name a URL loses is refused", async (context) => {
  const lockstep = await opened(context);
  for (const zone of [".", ".."]) {
    await assert.rejects(lockstep.save(zone, "Todo", {}), { code: "badEdit", message: /path/ });
    await assert.rejects(lockstep.delete(zone, "x"), { code: "badEdit", message: /path/ });
  }
  for (const zone of ["...", ".a", "%2e"]) await lockstep.save(zone, "Todo", {});
  await lockstep.save("Todos", "Todo", {}, { id: ".." });
  await assertGoesOn(lockstep);
});

test("transports that are none are refused when the client is opened", async (context) => {
  for (const transports of [[], ["websockets"], ["poll", "carrier pigeon"], "poll", [undefined],
    null]) {
    await assert.rejects(opened(context, { transports }),
      { name: "TypeError", message: /websocket, events, long-poll, poll/ }, String(transports));
  }
  for (const transports of [undefined, ["poll"]]) {
    await assertGoesOn(await opened(context, { transports }));
  }
});

test("a relay that is missing or no address is refused with an example of one", async (context) => {
  const relays = [undefined, null, 5, "", "foo", "/", "relay.example:5625", "ftp://relay.example",
    "https://relay.example/path"];
  for (const relay of relays) {
    await assert.rejects(opened(context, { relay }),
      { name: "TypeError", message: /option `relay`.+https:\/\/relay\.example/ }, String(relay));
  }
  for (const options of [{}, undefined, null, "http://127.0.0.1:1"]) {
    await assert.rejects(Lockstep.open(options), { name: "TypeError", message: /`relay`/ });
  }
  for (const relay of ["http://127.0.0.1:1/", new URL("http://127.0.0.1:1")]) {
    await assertGoesOn(await opened(context, { relay }));
  }
});

test("an option that open does not know is refused by its name; those of the types are known",
  async (context) => {
    await assert.rejects(opened(context, { rule: rules }),
      { name: "TypeError", message: /`rule`.+relay, rules, apps, store, name, transports/ });
    const types = await readFile(
      new URL("../../../Sources/WebClient/lockstep.d.ts", import.meta.url), "utf8");
    const [, body] = /export interface Options<[^{]+\{\n([\s\S]*?)\n\}/u.exec(types);
    const names = [...body.matchAll(/^  (\w+)\??:/gmu)].map(([, name]) => name);
    assert.ok(names.includes("transports"));
    const unset = Object.fromEntries(names.map((name) => [name, undefined]));
    await assertGoesOn(await opened(context, { ...unset, relay: "http://127.0.0.1:1", rules }));
  });

test("a device without a name, and a code that is no text, are refused", async (context) => {
  const lockstep = await opened(context);
  const bad = { name: "EditError", code: "badDevice" };
  for (const device of [undefined, null, "laptop", {}, { deviceName: 5 },
    { deviceName: "laptop", platform: 5 }, { deviceName: "laptop", appVersion: null }]) {
    await assert.rejects(lockstep.createAccount(device), bad);
    await assert.rejects(lockstep.join("CODE", device), bad);
  }
  await assert.rejects(lockstep.join(12345, { deviceName: "laptop" }),
    { name: "EditError", code: "badCode" });
  await assert.rejects(lockstep.rename("id", 5), bad);
  await assertGoesOn(lockstep);
});

test("the zones of Lockstep's own apps cannot be edited by other programs, nor get other rules",
  async (context) => {
    const lockstep = await opened(context);
    const refused = { name: "EditError", code: "refused", message: /own apps.+another zone/ };
    for (const zone of ["Clipboard", "Habits", "Memos", "Timer", "Vault"]) {
      await assert.rejects(lockstep.save(zone, "Any", { title: "milk" }), refused);
      await assert.rejects(lockstep.delete(zone, "x"), refused);
      const edits = [{ zone: "Todos", name: "x", type: "Todo", fields: {} },
        { zone, name: "x", type: "Any", fields: {} }];
      await assert.rejects(lockstep.change(() => edits), refused);
      const others = { rules: { zone, types: { Any: {} } } };
      const inCode = { apps: [{ zone, resolvers: {} }], rules: [] };
      for (const options of [others, inCode]) {
        const fault = { name: "RuleFault", message: new RegExp(`${zone}.+another zone`) };
        await assert.rejects(opened(context, options), fault);
        assert.throws(() => new World(options), fault);
      }
      assert.throws(() => new World().device("phone").save(zone, "Any", {}), refused);
    }
    assert.equal(lockstep.record("Todos", "x"), null);
    await assertGoesOn(lockstep);
    // The apps themselves.
    const page = await opened(context, { apps, rules: [] });
    for (const { zone, types: [type] } of apps) {
      await page.save(zone, type, {}, { id: "1" });
      assert.notEqual(page.record(zone, "1"), null);
    }
  });

test("a field of the reserved name is refused, and not left out in silence", async (context) => {
  const lockstep = await opened(context);
  const refused = { name: "EditError", code: "badEdit", message: /"~" is reserved.+leave it out/ };
  const id = await lockstep.save("Todos", "Todo", { title: "milk" });
  for (const zone of ["Todos", "Unruled"]) {
    for (const value of [1, {}, null]) {
      await assert.rejects(lockstep.save(zone, "Todo", { title: "tea", "~": value }), refused);
    }
  }
  await assert.rejects(lockstep.update("Todos", id, (todo) => ({ ...todo, "~": 1 })), refused);
  assert.deepEqual(lockstep.record("Todos", id).fields, { title: "milk" });
  await lockstep.save("Todos", "Todo", { deep: { "~": 1 } });
  const device = new World({ rules }).device("phone");
  assert.throws(() => device.save("Todos", "Todo", { "~": 1 }), refused);
});

test("a caller cannot change the records of the client in place", async (context) => {
  const lockstep = await opened(context);
  const heard = [];
  lockstep.subscribe(({ kind, records }) => { if (kind === "changed") heard.push(...records); });
  const place = ["Todos", "1"];
  const [made] = await lockstep.change(() =>
    [{ zone: "Todos", name: "1", type: "Todo", fields: { title: "milk", tags: [{ a: 1 }] } }]);
  let inside;
  await lockstep.change(({ record }) => {
    inside = record(...place);
    return [];
  });
  assert.throws(() => { lockstep.record(...place).fields = {}; }, TypeError);
  for (const record of [made, inside, ...heard, lockstep.record(...place),
    ...lockstep.records("Todos")]) {
    assert.throws(() => { record.fields.title = "tea"; }, TypeError);
    assert.throws(() => { record.fields.tags[0].a = 2; }, TypeError);
    assert.throws(() => { record.fields.tags.push(2); }, TypeError);
  }
  const wrong = ({ record }) => {
    record(...place).fields.title = "tea";
    return [];
  };
  await assert.rejects(lockstep.change(wrong), { name: "EditError", code: "refused" });
  const device = new World({ rules }).device("phone");
  const own = { title: "milk", tags: [{ a: 1 }] };
  device.change(() => [{ zone: "Todos", name: "1", type: "Todo", fields: own }]);
  own.tags[0].a = 2;
  assert.deepEqual(device.record(...place).tags, [{ a: 1 }]);
  assert.throws(() => device.change(wrong), { code: "refused" });
  assert.deepEqual(lockstep.record(...place).fields, { title: "milk", tags: [{ a: 1 }] });
});
