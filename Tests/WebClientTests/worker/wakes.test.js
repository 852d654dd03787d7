import assert from "node:assert/strict";
import { test } from "node:test";
import { readAhead } from "../../../Sources/WebClient/page/wakes/readAhead.js";
import { TestWorker, workerTime } from "../support/testWorker.js";

// What the service worker does when a push arrives.

const identity = { accountID: "account", deviceID: "page", token: "secret" };
const record = (zone, name, { device = "phone", fields = {}, tag = 1 } = {}) =>
  ({ zone, name, type: "Any", fields, device, tag, modifiedAt: 1, deleted: fields === null });

/** Returns the worker of a page with an account, and a relay that has `changes`, one for each
 * number. */
async function paired({ changes = [], cursor = "a1.0", ...options } = {}) {
  const worker = new TestWorker(options);
  await worker.store({ identity, cursor });
  worker.changes = changes;
  worker.wakeKey = "BKey";
  worker.answer = ({ method, path, query }) => {
    if (method !== "GET") return { status: 204 };
    if (path === "/v1/limits") return { body: { wakeKey: worker.wakeKey } };
    if (path !== "/v1/changes") return { status: 404, body: {} };
    const since = Number(/^a1\.(\d+)$/u.exec(query.since)[1]);
    const end = Math.min(worker.changes.length, since + Number(query.limit));
    return { body: { since: query.since, token: `a1.${end}`, more: end < worker.changes.length,
      changes: worker.changes.slice(since, end) } };
  };
  return worker;
}

const wake = (token) => ({ v: 1, t: token });
const sinces = (worker) => worker.requests.map(({ query }) => query.since);

test("a code is sent back with the device's token, and the person sees that it works", async () => {
  const worker = await paired();
  await worker.setEntry("/choice", "");
  const page = worker.window();
  assert.equal(await worker.push({ v: 1, c: "the code" }), "Notifications work here.");
  assert.deepEqual(worker.requests, [{
    method: "POST", path: "/v1/wakes/page/verification", query: {}, body: { code: "the code" },
    token: "Bearer secret",
  }]);
  assert.deepEqual(page.heard, ["wake"], "the page shows it at once");
  assert.equal(await worker.entry("/choice"), null);
});

const chrome = "Mozilla/5.0 (X11) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36";
const safari = "Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 Version/18.4 Safari/605.1.15";
const textsOf = ({ notifications }) => notifications.map(({ body }) => body);

test("the code of a renewed subscription leaves the news as they are", async () => {
  for (const [userAgent, count] of [["Firefox", 1], [chrome, 1], [safari, 2]]) {
    const worker = await paired({ userAgent, changes: [record("Memos", "m1")] });
    await worker.push(wake("a1.1"));
    await worker.push({ v: 1, c: "the code" });
    assert.deepEqual(textsOf(worker), ["1 memo changed."]);
    assert.equal(worker.requests.at(-1).path, "/v1/wakes/page/verification");
    assert.equal(worker.shown, count, "Safari ends a subscription after pushes without one");
    worker.answer = () => new TypeError("the network is gone");
    await worker.push({ v: 1, c: "another code" });
    assert.deepEqual(textsOf(worker), ["1 memo changed."]);
  }
});

test("the code of a renewed subscription shows one where a browser requires it", async () => {
  for (const [userAgent, texts] of [["Firefox", ["Notifications were renewed."]],
    [chrome, ["Notifications were renewed."]], [safari, []]]) {
    const worker = await paired({ userAgent, changes: [record("Memos", "m1")] });
    await worker.push({ v: 1, c: "the code" });
    assert.deepEqual([textsOf(worker), worker.shown], [texts, 1]);
    await worker.push(wake("a1.1"));
    assert.deepEqual(textsOf(worker), ["1 memo changed."], "it goes when there is news");
  }
  const worker = await paired();
  const { answer } = worker;
  worker.answer = () => new TypeError("the network is gone");
  assert.equal(await worker.push({ v: 1, c: "x" }), "Open the page to renew notifications.");
  Object.assign(worker, { answer, notifications: [] });
  worker.window();
  assert.equal(await worker.push({ v: 1, c: "x" }), null, "a page in view is enough");
});

test("a code that the relay refuses, or of no account, is not said to work", async () => {
  const worker = await paired();
  for (const answer of [{ status: 403, body: {} }, new TypeError("the network is gone")]) {
    worker.answer = () => answer;
    await worker.setEntry("/choice", "");
    assert.match(await worker.push({ v: 1, c: "x" }), /^Notifications could not be turned on/u);
    assert.equal(await worker.entry("/choice"), "", "the next code may prove it");
  }
  const fresh = new TestWorker();
  await fresh.setEntry("/choice", "");
  assert.match(await fresh.push({ v: 1, c: "x" }), /^Notifications could not be turned on/u);
  assert.deepEqual(fresh.requests, []);
});

test("a wake shows what changed, and tells the relay up to where it was read", async () => {
  const worker = await paired({
    changes: [record("Memos", "m1"), record("Memos", "m2"), record("Habits", "h")],
  });
  assert.equal(await worker.push(wake("a1.3")), "2 memos changed. Habits changed.");
  assert.deepEqual(sinces(worker), ["a1.0", "a1.3"]);
  for (const { token } of worker.requests) assert.equal(token, "Bearer secret");
  const [shown] = worker.notifications;
  assert.deepEqual([shown.title, shown.tag, shown.renotify, { ...shown.data }],
    ["Lockstep", "lockstep changes", false, { view: "memos", at: 1_773_576_000_000 }]);
});

test("the store of the page stays as it is", async () => {
  const worker = await paired({ changes: [record("Memos", "m1")], cursor: "a1.0" });
  const before = await worker.stored();
  await worker.push(wake("a1.1"));
  assert.deepEqual(await worker.stored(), before);
  assert.equal(before.cursor, "a1.0");
});

test("a browser without a store gets none from the worker", async () => {
  const worker = new TestWorker();
  assert.equal(await worker.push(wake("a1.1")), "Something changed.");
  await worker.store({ identity });
  assert.deepEqual((await worker.stored()).identity, identity, "the page makes it as ever");
});

test("the next wake replaces the notification, and counts on from the last", async () => {
  const worker = await paired({ changes: [record("Memos", "m1")] });
  assert.equal(await worker.push(wake("a1.1")), "1 memo changed.");
  worker.changes.push(record("Memos", "m1", { tag: 2 }), record("Memos", "m2"));
  worker.requests.length = 0;
  assert.equal(await worker.push(wake("a1.3")), "2 memos changed.");
  assert.deepEqual(sinces(worker), ["a1.1", "a1.3"], "nothing is read twice");
  assert.equal(worker.notifications.length, 1);
});

test("what was read is kept for the page, up to a size, and for its position alone", async () => {
  const changes = ["m1", "m2", "m3"].map((name) => record("Memos", name));
  const worker = await paired({ changes: changes.slice(0, 1) });
  const read = async () => readAhead("page", worker.caches);
  assert.deepEqual(await read(), [], "there was no push yet");
  await worker.push(wake("a1.1"));
  worker.changes = changes;
  await worker.push(wake("a1.3"));
  const pages = (await read()).map((text) => JSON.parse(text));
  assert.deepEqual(pages.map(({ since, token }) => [since, token]),
    [["a1.0", "a1.1"], ["a1.1", "a1.3"]]);
  assert.deepEqual(pages.flatMap((page) => page.changes), changes);
  assert.deepEqual(await readAhead("another device", worker.caches), []);
  await worker.store({ identity, cursor: "a1.3" });
  const large = { text: "x".repeat(1.5 * 2 ** 20) };
  worker.changes = [...changes, record("Memos", "m4", { fields: large })];
  await worker.push(wake("a1.4"));
  worker.changes.push(record("Memos", "m5", { fields: large }));
  await worker.push(wake("a1.5"));
  worker.changes.push(record("Memos", "m6"));
  await worker.push(wake("a1.6"));
  assert.deepEqual((await read()).map((text) => JSON.parse(text).token), ["a1.4"]);
});

test("what the page has shown since is not told again", async () => {
  const worker = await paired({ changes: [record("Memos", "m1")] });
  await worker.push(wake("a1.1"));
  await worker.store({ identity, cursor: "a1.1" });
  worker.changes.push(record("Clipboard", "c"));
  assert.equal(await worker.push(wake("a1.2")), "Clipboard changed.");
  await worker.store({ identity: { ...identity, deviceID: "other" }, cursor: "a1.1" });
  worker.changes = [record("Habits", "h"), record("Vault", "f")];
  assert.equal(await worker.push(wake("a1.2")), "Vault changed.", "another account begins anew");
});

test("a repeated wake without anything new says what was said", async () => {
  const worker = await paired({ changes: [record("Memos", "m1")] });
  await worker.push(wake("a1.1"));
  assert.equal(await worker.push(wake("a1.1")), "1 memo changed.");
  assert.equal(worker.notifications.at(-1).renotify, false, "silently");
});

test("after very many changes the rest is not read, and the relay knows of that", async () => {
  const changes = Array.from({ length: 2_000 }, (_, index) => record("Memos", `m${index}`));
  const worker = await paired({ changes });
  assert.equal(await worker.push(wake("a1.2000")), "500 memos changed. More changed.");
  assert.deepEqual(sinces(worker),
    ["a1.0", "a1.200", "a1.400", "a1.600", "a1.800", "a1.2000"]);
});

test("a page that is in view syncs by itself, and nothing is shown", async () => {
  const worker = await paired({ changes: [record("Memos", "m1")] });
  const [hidden, visible] = [worker.window({ isVisible: false }), worker.window()];
  assert.equal(await worker.push(wake("a1.1")), null);
  assert.deepEqual([hidden.heard, visible.heard, worker.shown], [["wake"], ["wake"], 0]);
  assert.deepEqual(worker.requests, [], "the page's own request is the proof");
});

test("a page in the background syncs, and the person is told", async () => {
  const worker = await paired({ changes: [record("Memos", "m1")] });
  const hidden = worker.window({ isVisible: false });
  const owners = worker.window({ path: "/pages/wiki.html" });
  assert.equal(await worker.push(wake("a1.1")), "1 memo changed.");
  assert.deepEqual([hidden.heard, owners.heard], [["wake"], []]);
});

/** A wake as the relay sends it to a registration with a notification. */
const declarative = (token) => ({ web_push: 8030, mutable: true, notification: {
  title: "Something changed in Lockstep.", navigate: "https://relay.example/",
  tag: "lockstep changes", data: wake(token) } });

test("a declarative push shows what changed, in browsers that know it and in others", async () => {
  const changes = [record("Clipboard", "c")];
  const worker = await paired({ userAgent: safari, changes });
  assert.equal(await worker.pushDeclaratively(declarative("a1.1")), "Clipboard changed.");
  assert.equal(worker.notifications.at(-1).navigate, "https://relay.example/#clipboard");
  const other = await paired({ changes });
  assert.equal(await other.push(declarative("a1.1")), "Clipboard changed.");
  assert.equal("navigate" in other.notifications.at(-1), false, "the worker handles the click");
});

test("a declarative push whose token is beyond what is read names it to the relay", async () => {
  const changes = Array.from({ length: 1_100 }, (_, index) => record("Memos", `m${index}`));
  const worker = await paired({ userAgent: safari, changes });
  await worker.pushDeclaratively(declarative("a1.1100"));
  assert.equal(sinces(worker).at(-1), "a1.1100");
});

test("a declarative push for a page in view is not left to the browser", async () => {
  const worker = await paired({ userAgent: safari });
  worker.window();
  assert.equal(await worker.pushDeclaratively(declarative("a1.1")), null);
});

test("where a browser counts silent pushes, one is shown and removed for a page in view",
  async () => {
    for (const [userAgent, count] of [[safari, 1], [chrome, 0]]) {
      const worker = await paired({ userAgent });
      worker.window();
      assert.equal(await worker.push(wake("a1.1")), null);
      assert.equal(worker.shown, count);
    }
  });

test("without an answer of the relay, the person is told that something changed", async () => {
  const answers = [
    new TypeError("the network is gone"), { status: 401, body: { code: "badToken" } },
    { status: 410, body: { code: "tokenExpired" } }, { text: "<html>Please log in" },
    { body: {} }, { body: { token: "a1.1", changes: "none" } },
    { body: { token: "a1.1", changes: [null] } },
  ];
  for (const answer of answers) {
    const worker = await paired();
    worker.answer = () => answer;
    assert.equal(await worker.push(wake("a1.1")), "Something changed.", JSON.stringify(answer));
    worker.answer = () => ({ body: { token: "a1.1", more: false, changes: [] } });
    assert.equal(await worker.push(wake("a1.1")), "All changes are here already.");
  }
});

test("if only the proof is lost, the person still learns what changed", async () => {
  const worker = await paired({ changes: [record("Memos", "m1")] });
  const { answer } = worker;
  worker.answer = (request) => (request.query.limit === "1" ? new TypeError("gone")
    : answer(request));
  assert.equal(await worker.push(wake("a1.1")), "1 memo changed.");
});

test("a push of a later version, and one that is none, shows a notification all the same",
  async () => {
    for (const content of ["", "not json", "null", "[]", { v: 2, x: 1 }, { v: 1, c: 7 }]) {
      const worker = await paired({ changes: [record("Memos", "m1")] });
      assert.equal(await worker.push(content), "1 memo changed.");
    }
    const worker = await paired();
    await worker.store({ cursor: undefined });
    assert.equal(await worker.push(wake("a1.1")), "Something changed.", "it has read nothing yet");
    assert.deepEqual(worker.requests, []);
  });

test("the end of a countdown, which another device has written, alerts the person", async () => {
  const timer = (edit) => record("Timer", "current", { fields: { edits: [{
    deviceID: "phone", isPaused: false, remaining: 300_000, ...edit,
  }] } });
  const worker = await paired({ changes: [
    timer({ stateType: "focus", timestamp: workerTime }), record("Memos", "m1"),
  ] });
  await worker.store({ "clock.offset": 60_000 });
  assert.equal(await worker.push(wake("a1.2")), "Timer: focus until 12:05. 1 memo changed.");
  worker.changes.push(timer({ stateType: "breakTime", timestamp: workerTime + 300_000,
    act: { stateType: "focus", timestamp: workerTime } }));
  assert.equal(await worker.push(wake("a1.3")),
    "Timer: focus is over, break until 12:10. 1 memo changed.");
  assert.equal(worker.notifications.at(-1).renotify, true);
  worker.changes.push(record("Memos", "m2"));
  await worker.push(wake("a1.4"));
  assert.equal(worker.notifications.at(-1).renotify, false);
});

test("a click opens the page at what changed, or shows the one that is open", async () => {
  const worker = await paired({ changes: [record("Clipboard", "c")] });
  await worker.push(wake("a1.1"));
  await worker.click();
  assert.deepEqual([worker.opened, worker.notifications], [["/#clipboard"], []]);
  const owners = worker.window({ path: "/pages/wiki.html" });
  const page = worker.window({ isVisible: false });
  await worker.push(wake("a1.1"));
  await worker.click();
  assert.deepEqual([page.isFocused, page.heard, owners.isFocused], [true, ["wake", "open"], false]);
  assert.equal(worker.opened.length, 1);
  worker.windows.length = 0;
  worker.answer = () => new TypeError("gone");
  await worker.push(wake("a1.1"));
  await worker.click();
  assert.equal(worker.opened.at(-1), "/");
});

/** Registrations that the relay was asked for. */
const puts = (worker) => worker.requests.filter(({ method }) => method === "PUT");

test("in Safari, the renewed registration has the notification that it may show", async () => {
  const worker = await paired({ userAgent: safari });
  await worker.changeSubscription({ newSubscription: worker.subscribes("BKey") });
  assert.deepEqual(worker.requests.at(-1).body.notification,
    { title: "Something changed in Lockstep.", navigate: "https://relay.example/" });
});

test("a subscription that the browser has replaced or ended is registered", async () => {
  const worker = await paired();
  const [endpoint, keys] = ["https://push.example/2", { p256dh: "p", auth: "a" }];
  await worker.changeSubscription({ newSubscription: { ...worker.subscribes(null),
    toJSON: () => ({ endpoint, keys, expirationTime: 7.5 }) } });
  const body = { kind: "webpush", endpoint, ...keys, expiresAt: 7 };
  const asked = { method: "PUT", path: "/v1/wakes/page", query: {}, token: "Bearer secret" };
  assert.deepEqual(puts(worker), [{ ...asked, body }]);
  assert.equal(await worker.entry("/wanted"), endpoint);
  await worker.changeSubscription({});
  assert.deepEqual(worker.subscribed, [{ userVisibleOnly: true, applicationServerKey: "BKey" }]);
  assert.deepEqual(worker.requests.at(-1), { ...asked,
    body: { kind: "webpush", endpoint: "https://push.example/BKey", ...keys, wakeKey: "BKey" } });
  assert.equal(await worker.entry("/wanted"), "https://push.example/BKey");
});

test("a subscription that has ended is replaced only where the person wants wakes", async () => {
  const cases = [[null, "granted", null, 0], [null, "granted", {}, 1], ["", "granted", null, 1],
    ["", "denied", {}, 0], ["", "prompt", {}, 0]];
  for (const [mark, permission, oldSubscription, count] of cases) {
    const worker = await paired();
    worker.permission = permission;
    await worker.setEntry("/wanted", mark);
    await worker.setEntry("/choice", "");
    await worker.changeSubscription({ oldSubscription });
    assert.equal(puts(worker).length, count);
    assert.equal(await worker.entry("/wanted"), count ? "https://push.example/BKey" : null);
    if (permission !== "granted") assert.equal(await worker.entry("/choice"), null);
  }
});

test("a wake that names a new key of the relay replaces the subscription", async () => {
  const worker = await paired({ changes: [record("Memos", "m1")] });
  worker.subscribes("BOld");
  worker.wakeKey = "BNew";
  assert.equal(await worker.push({ v: 1, t: "a1.1", k: "BNew" }), "1 memo changed.");
  assert.deepEqual([worker.ended, worker.subscribed.map((it) => it.applicationServerKey)],
    [["https://push.example/BOld"], ["BNew"]]);
  const [put] = puts(worker);
  assert.deepEqual([put.method, put.path, put.body.wakeKey], ["PUT", "/v1/wakes/page", "BNew"]);
  // The same push once more, and one whose registration fails: the changes are shown all the same.
  await worker.push({ v: 1, t: "a1.1", k: "BNew" });
  assert.deepEqual([worker.subscribed.length, puts(worker).length], [1, 1]);
  worker.subscription.unsubscribe = async () => { throw new Error("the browser cannot"); };
  worker.wakeKey = "BOther";
  assert.equal(await worker.push({ v: 1, t: "a1.1", k: "BOther" }), "1 memo changed.");
  assert.equal(worker.subscribed.length, 1);
});

test("without the relay, the subscription for the former key stays", async () => {
  for (const answer of [new TypeError("the network is gone"), { status: 503, body: {} },
    { body: {} }]) {
    const worker = await paired();
    worker.subscribes("BOld");
    worker.answer = () => answer;
    assert.equal(await worker.push({ v: 1, t: "a1.1", k: "BNew" }), "Something changed.");
    assert.deepEqual([worker.ended, await worker.entry("/wanted")], [[], ""]);
  }
});

test("a renewal that fails leaves the mark, and the next push or change repairs it", async () => {
  const worker = await paired();
  worker.subscribes("BOld");
  await worker.setEntry("/wanted", "https://push.example/BOld");
  const { answer } = worker;
  worker.wakeKey = "BNew";
  worker.pushFault = new Error("the push service is gone");
  await worker.push({ v: 1, t: "a1.1", k: "BNew" });
  assert.deepEqual([worker.subscription, await worker.entry("/wanted")],
    [null, "https://push.example/BOld"], "the page sees that it is wanted, and not there");
  worker.pushFault = null;
  worker.answer = (request) => (request.method === "PUT" ? { status: 503, body: {} }
    : answer(request));
  await worker.push({ v: 1, t: "a1.1", k: "BNew" });
  assert.deepEqual([worker.subscription.endpoint, await worker.entry("/wanted")],
    ["https://push.example/BNew", "https://push.example/BOld"], "not what the relay has");
  worker.answer = answer;
  await worker.changeSubscription({ newSubscription: worker.subscription });
  assert.equal(await worker.entry("/wanted"), "https://push.example/BNew");
  assert.equal(puts(worker).at(-1).body.wakeKey, "BNew");
});

test("what the person turns off during a renewal stays off", async () => {
  for (const step of ["GET", "PUT"]) {
    const worker = await paired();
    worker.subscribes("BOld");
    worker.wakeKey = "BNew";
    const { answer } = worker;
    worker.answer = async (request) => {
      const isStep = request.method === step && request.path !== "/v1/changes";
      if (isStep) await worker.setEntry("/wanted", null);
      return answer(request);
    };
    await worker.push({ v: 1, t: "a1.1", k: "BNew" });
    assert.equal(puts(worker).length, step === "PUT" ? 1 : 0);
    assert.deepEqual([worker.subscription, await worker.entry("/wanted")], [null, null]);
  }
  const worker = await paired();
  await worker.push({ v: 1, t: "a1.1", k: "BNew" });
  assert.deepEqual([worker.subscribed, puts(worker)], [[], []], "a push that was on its way");
});

test("nothing of an account is kept that the browser leaves while the worker reads", async () => {
  const worker = await paired({ changes: [record("Memos", "m1")] });
  const { answer } = worker;
  worker.answer = async (request) => {
    // As the page signs out: its store first, then what the worker remembers.
    await worker.store({ identity: undefined, cursor: undefined });
    await worker.setEntry("/told", null);
    return answer(request);
  };
  assert.equal(await worker.push(wake("a1.1")), "Something changed.");
  assert.equal(await worker.entry("/told"), null);
});

test("what was read of a history that the relay has lost is not continued", async () => {
  const worker = await paired({ changes: [record("Memos", "m1")] });
  const { answer } = worker;
  await worker.push(wake("a1.1"));
  // The relay was restored from a copy that has all that the page has.
  const page = { since: "a1.0", token: "b2.1", more: false, changes: [record("Memos", "m2")] };
  worker.answer = (request) => {
    if (request.path !== "/v1/changes") return answer(request);
    const { since } = request.query;
    if (since === "a1.1") return { status: 410, body: { code: "storeRestored" } };
    return { body: since === "b2.1" ? { ...page, since, changes: [] } : page };
  };
  await worker.push(wake("b2.1"));
  assert.deepEqual(await readAhead("page", worker.caches), []);
  assert.equal(await worker.push(wake("b2.1")), "1 memo changed.");
  const pages = (await readAhead("page", worker.caches)).map((text) => JSON.parse(text));
  assert.deepEqual(pages, [page]);
});

test("a browser without room for what was read still tells what changed, and proves it",
  async () => {
    const worker = await paired({ changes: [record("Memos", "m1")] });
    const { open } = worker.caches;
    worker.caches.open = async (name) => {
      const cache = await open(name);
      return { ...cache, put: async (path, response) => {
        if ((await response.clone().text()).includes("modifiedAt")) throw new Error("full");
        return cache.put(path, response);
      } };
    };
    assert.equal(await worker.push(wake("a1.1")), "1 memo changed.");
    assert.deepEqual(sinces(worker), ["a1.0", "a1.1"]);
    assert.deepEqual(await readAhead("page", worker.caches), []);
    worker.changes.push(record("Memos", "m2"));
    assert.equal(await worker.push(wake("a1.2")), "2 memos changed.");
    assert.deepEqual(await readAhead("page", worker.caches), []);
  });
