import assert from "node:assert/strict";
import { test } from "node:test";
import { systemPush } from "../../../Sources/WebClient/page/wakes/browserPush.js";
import { WakeSwitch } from "../../../Sources/WebClient/page/wakes/wakeSwitch.js";
import { wakesModel } from "../../../Sources/WebClient/page/wakes/wakesModel.js";
import { settled } from "../client/support/fakeEnvironment.js";

// The person's choice of notifications, and what the page says of it.

const now = Date.UTC(2026, 2, 15, 12);

/** A page in a browser, and its relay. `calls`: what was asked of both, in order. */
class Stage {
  calls = [];
  permission = "default";
  answer = "granted";
  subscribed = null;
  /** The mark that the person wants wakes: the endpoint that the relay accepted last. */
  wanted = null;
  wake = null;
  key = "BKey";
  status = { accountID: "account", state: "syncing" };
  /** Set by a test: an error of the relay's next calls, and of the push service's. */
  fault = null;
  pushFault = null;
  #listeners = [];
  #subscriptions = 0;

  /** `subscribed`: key of the subscription that the browser has. `wanted`: the mark; if it is not
   * given, the relay has accepted that subscription. */
  constructor({ obstacle = null, subscribed = null, wanted } = {}) {
    const stage = this;
    this.push = {
      obstacle,
      get permission() { return stage.permission; },
      requestPermission: async () => {
        this.calls.push("ask");
        this.permission = this.answer;
        return this.answer;
      },
      subscription: async () => this.subscribed,
      subscribe: async (key) => {
        this.calls.push(`subscribe ${key}`);
        if (this.pushFault) throw this.pushFault;
        if (this.subscribed && this.subscribed.key !== key) throw new Error("InvalidStateError");
        this.subscribed ??= this.subscription(key);
        return this.subscribed;
      },
      wanted: async () => this.wanted,
      want: async (endpoint) => { this.wanted = endpoint; },
      choose: async () => {
        this.wanted = "";
        this.isChosen = true;
      },
      unwant: async () => { this.wanted = null; },
      forget: async () => {
        this.calls.push("forget");
        this.wanted = null;
      },
    };
    this.lockstep = {
      wakeKey: () => this.#relay(null, () => this.key),
      wakes: () => this.#relay(null, () => (this.wake ? [this.wake] : [])),
      registerWake: ({ key, endpoint }, ...how) => this.#relay(`register ${key}`, () => {
        this.registered = how;
        this.accepted = endpoint;
        this.wake ??= { id: "page", state: "unverified" };
      }),
      removeWake: () => this.#relay("remove", () => { this.wake = null; }),
    };
    if (subscribed) {
      this.permission = "granted";
      this.subscribed = this.subscription(subscribed);
      this.wanted = this.subscribed.endpoint;
    }
    if (wanted !== undefined) this.wanted = wanted;
    this.wakes = new WakeSwitch({
      lockstep: this.lockstep, subscribe: (act) => this.#listeners.push(act),
      get status() { return stage.status; },
    }, this.push);
  }

  subscription(key) {
    this.#subscriptions += 1;
    return { key, endpoint: `https://push.example/${this.#subscriptions}`,
      unsubscribe: async () => {
        this.calls.push("unsubscribe");
        this.subscribed = null;
      } };
  }

  /** Plays the page's next opening in the same browser, with a new list of calls. */
  async reopens() {
    const next = new Stage();
    for (const name of ["permission", "wanted", "wake", "key"]) next[name] = this[name];
    next.#subscriptions = this.#subscriptions;
    if (this.subscribed) {
      const { key, endpoint } = this.subscribed;
      next.subscribed = { ...next.subscription(key), endpoint };
    }
    await next.hasStatus({ state: "inSync" });
    return next;
  }

  async hasStatus(changes) {
    this.status = { ...this.status, ...changes };
    for (const act of this.#listeners) act({ kind: "status" });
    await settled();
  }

  get model() { return wakesModel(this.wakes.state, now, 0); }

  async #relay(call, act) {
    if (call) this.calls.push(call);
    if (this.fault) throw this.fault;
    return act();
  }
}

test("notifications are off at first, and the person is asked only after a click", async () => {
  const stage = new Stage();
  await stage.wakes.refresh();
  await stage.hasStatus({ state: "inSync" });
  assert.deepEqual(stage.calls, []);
  assert.deepEqual(stage.model, { isOn: false, canSwitch: true, text: "" });
  await stage.wakes.turnOn();
  assert.deepEqual(stage.calls, ["ask", "subscribe BKey", "register BKey"]);
  assert.equal(stage.isChosen, true, "the worker shows the proof");
  assert.match(stage.model.text, /^Waiting for the first push/u);
  stage.wake = { id: "page", state: "verified", verifiedAt: now - 300_000 };
  await stage.wakes.refresh();
  assert.deepEqual(stage.model,
    { isOn: true, canSwitch: true, text: "Works, last proved 5 min ago." });
});

test("a person who says no is not subscribed, and learns where to change that", async () => {
  for (const answer of ["denied", "default"]) {
    const stage = new Stage();
    stage.answer = answer;
    await stage.wakes.turnOn();
    assert.deepEqual(stage.calls, ["ask"]);
    assert.equal(stage.model.isOn, false);
    assert.equal(/^This browser blocks/u.test(stage.model.text), answer === "denied");
    assert.equal(stage.model.canSwitch, answer !== "denied");
  }
});

test("turned off, the browser has no subscription and the relay no registration", async () => {
  const stage = new Stage({ subscribed: "BKey" });
  await stage.wakes.refresh();
  await stage.wakes.turnOff();
  assert.deepEqual(stage.calls, ["unsubscribe", "remove"]);
  assert.deepEqual(stage.model, { isOn: false, canSwitch: true, text: "" });
});

test("without the relay it can be turned off, and is not turned on", async () => {
  const gone = Object.assign(new Error("gone"), { name: "CallError" });
  const stage = new Stage({ subscribed: "BKey" });
  stage.fault = gone;
  await stage.wakes.refresh();
  assert.match(stage.model.text, /^The relay gave no answer/u);
  assert.deepEqual([stage.model.isOn, stage.model.canSwitch], [true, true]);
  await stage.wakes.turnOff();
  assert.deepEqual([stage.model.isOn, stage.model.canSwitch], [false, false]);
  const other = new Stage();
  await other.wakes.refresh();
  const { registerWake } = other.lockstep;
  other.lockstep.registerWake = (it) => {
    other.fault = new Error("the relay sends none there");
    return registerWake(it);
  };
  await other.wakes.turnOn();
  assert.deepEqual(other.calls, ["ask", "subscribe BKey", "register BKey", "unsubscribe"]);
  assert.deepEqual([other.model.isOn, other.model.text], [false, "The relay sends none there."]);
  assert.equal(other.wanted, null, "nothing is tried again");
});

test("a relay that wakes no devices is said to, and nothing is asked of the person", async () => {
  const stage = new Stage();
  stage.key = null;
  await stage.wakes.refresh();
  assert.deepEqual([stage.model.canSwitch, stage.calls], [false, []]);
  assert.match(stage.model.text, /^This relay sends none/u);
});

test("once a page is in sync, what the relay has lost or not proved is registered again",
  async () => {
    const cases = [
      [null, ["register BKey"]], [{ id: "page", state: "unverified" }, ["register BKey"]],
      [{ id: "page", state: "verified", verifiedAt: now }, []],
      [{ id: "other", state: "verified", verifiedAt: now }, ["register BKey"]],
    ];
    for (const [wake, calls] of cases) {
      const stage = new Stage({ subscribed: "BKey" });
      stage.wake = wake;
      await stage.hasStatus({ state: "offline" });
      assert.deepEqual(stage.calls, []);
      await stage.hasStatus({ state: "inSync" });
      await stage.hasStatus({ state: "syncing" });
      await stage.hasStatus({ state: "inSync" });
      assert.deepEqual(stage.calls, calls, "once");
    }
  });

test("a new key of the relay gets a new subscription", async () => {
  const stage = new Stage({ subscribed: "old" });
  stage.wake = { id: "page", state: "verified", verifiedAt: now };
  await stage.hasStatus({ state: "inSync" });
  assert.deepEqual(stage.calls, ["unsubscribe", "subscribe BKey", "register BKey"]);
  const off = new Stage({ subscribed: "old" });
  off.key = null;
  await off.hasStatus({ state: "inSync" });
  assert.deepEqual([off.calls, off.model.isOn], [[], true], "the relay may wake devices again");
});

const unavailable = Object.assign(new Error("busy"), { name: "CallError" });

test("a renewal that fails at any step is repaired when the page is opened again", async () => {
  const faults = {
    wakeKey: [], subscribe: ["unsubscribe", "subscribe BKey"],
    registerWake: ["unsubscribe", "subscribe BKey", "register BKey"],
  };
  for (const [step, calls] of Object.entries(faults)) {
    const stage = new Stage({ subscribed: "old" });
    stage.wake = { id: "page", state: "verified", verifiedAt: now };
    const side = step === "subscribe" ? stage.push : stage.lockstep;
    const act = side[step];
    side[step] = async (...words) => {
      stage[step === "subscribe" ? "pushFault" : "fault"] = unavailable;
      return act(...words);
    };
    await stage.hasStatus({ state: "inSync" });
    assert.deepEqual(stage.calls, calls);
    assert.equal(stage.subscribed === null, step === "subscribe", "a subscription is kept");
    const next = await stage.reopens();
    assert.equal(next.subscribed.key, "BKey", step);
    assert.equal(next.accepted, next.subscribed.endpoint, "the relay has it");
    assert.deepEqual([next.model.isOn, next.isChosen], [true, undefined]);
    assert.deepEqual((await next.reopens()).calls, [], "once");
  }
});

test("a renewal that failed is tried again at the next connection of the same page", async () => {
  const stage = new Stage({ wanted: "https://push.example/0" });
  stage.permission = "granted";
  stage.wake = { id: "page", state: "verified", verifiedAt: now };
  stage.fault = unavailable;
  await stage.hasStatus({ state: "inSync" });
  await stage.wakes.refresh();
  assert.deepEqual([stage.calls, stage.model.isOn], [[], true], "it is still wanted");
  stage.fault = null;
  await stage.wakes.refresh();
  assert.equal(stage.model.text, "The relay does not know of it. Turn it off and on again.",
    "its registration is that of the former subscription");
  await stage.hasStatus({ state: "offline" });
  await stage.hasStatus({ state: "inSync" });
  assert.deepEqual(stage.calls, ["subscribe BKey", "register BKey"]);
  assert.match(stage.model.text, /^Works/u);
});

test("a subscription that the browser has lost is replaced, if notifications are allowed",
  async () => {
    for (const permission of ["granted", "denied", "default"]) {
      const stage = new Stage({ wanted: "https://push.example/0" });
      stage.permission = permission;
      await stage.hasStatus({ state: "inSync" });
      const isAllowed = permission === "granted";
      assert.deepEqual(stage.calls, isAllowed ? ["subscribe BKey", "register BKey"] : []);
      assert.equal(stage.wanted, isAllowed ? stage.subscribed.endpoint : null);
      const next = await stage.reopens();
      next.permission = "granted";
      await next.hasStatus({ state: "offline" });
      await next.hasStatus({ state: "inSync" });
      assert.equal(next.model.isOn, isAllowed, "to allow them again is no choice of them");
    }
  });

test("turned off, nothing is renewed, also where the relay or the browser did not answer",
  async () => {
    const stage = new Stage({ subscribed: "BKey" });
    stage.fault = unavailable;
    await stage.wakes.turnOff();
    assert.equal(stage.wanted, null);
    assert.deepEqual((await stage.reopens()).calls, []);
    const other = new Stage({ subscribed: "old" });
    const { subscribe } = other.push;
    other.push.subscribe = async (key) => {
      await other.wakes.turnOff();
      return subscribe(key);
    };
    await other.hasStatus({ state: "inSync" });
    assert.deepEqual(other.calls, ["unsubscribe", "remove", "subscribe BKey", "unsubscribe"]);
    assert.deepEqual([other.subscribed, other.wanted, other.model.isOn], [null, null, false]);
  });

test("what an earlier version has turned on is registered, and marked as wanted", async () => {
  const stage = new Stage({ subscribed: "BKey", wanted: null });
  stage.wake = { id: "page", state: "verified", verifiedAt: now };
  await stage.hasStatus({ state: "inSync" });
  assert.deepEqual(stage.calls, ["register BKey"]);
  assert.equal(stage.wanted, stage.subscribed.endpoint);
});

test("a browser that has left its account keeps no subscription", async () => {
  const stage = new Stage({ subscribed: "BKey" });
  await stage.hasStatus({ state: "inSync" });
  stage.calls.length = 0;
  await stage.hasStatus({ state: "needsPairing" });
  assert.deepEqual(stage.calls, [], "a removed browser may join again");
  await stage.hasStatus({ accountID: null });
  await stage.hasStatus({ accountID: null });
  assert.deepEqual([stage.calls, stage.model.isOn], [["forget", "unsubscribe"], false]);
  await stage.hasStatus({ accountID: "other", state: "inSync" });
  await stage.wakes.turnOn();
  assert.equal(stage.model.isOn, true);
});

test("a browser that gets none says why, and is asked nothing", async () => {
  for (const [obstacle, text] of [["insecure", /over https/u], ["homeScreen", /home screen/u],
    ["unsupported", /cannot deliver/u]]) {
    const stage = new Stage({ obstacle });
    for (const act of ["refresh", "turnOn", "turnOff"]) await stage.wakes[act]();
    await stage.hasStatus({ state: "inSync", accountID: null });
    assert.deepEqual([stage.calls, stage.model.canSwitch], [[], false]);
    assert.match(stage.model.text, text);
  }
});

test("why the last push failed stands beside the state", () => {
  const textOf = (wake) => wakesModel({ obstacle: null, permission: "granted", isOn: true,
    wakeKey: "BKey", wake, problem: null }, now, 0).text;
  assert.equal(textOf(null), "The relay does not know of it. Turn it off and on again.");
  assert.equal(textOf(undefined), "", "the relay has not answered");
  const verified = { state: "verified", verifiedAt: now - 7_200_000, answeredAt: now - 60_000 };
  assert.equal(textOf(verified), "Works, last proved 1 min ago.");
  for (const error of ["rejected", "keyRefused", "throttled", "unavailable", "notAllowed"]) {
    assert.match(textOf({ ...verified, error }), /^Works, last proved 1 min ago\. The .+\.$/u);
    assert.match(textOf({ state: "unverified", error }), /^Waiting for the first push.+\. The /u);
  }
  assert.equal(textOf({ ...verified, error: "toString" }), "Works, last proved 1 min ago.");
});

/** The caches of a browser, of which one may be deleted. */
function fakeCaches() {
  const caches = new Map();
  return {
    open: async (name) => {
      if (!caches.has(name)) caches.set(name, new Map());
      const entries = caches.get(name);
      return {
        match: async (path) => entries.get(path)?.clone(),
        put: async (path, response) => { entries.set(path, response); },
        delete: async (path) => entries.delete(path),
      };
    },
    delete: async (name) => caches.delete(name),
  };
}

/** A browser's window, as far as notifications are concerned. */
function fakeScope(changes = {}) {
  const closed = [];
  const shown = ["changes", "renewal", "else"].map((word) =>
    ({ tag: `lockstep ${word}`, close: () => closed.push(word) }));
  const made = { endpoint: "https://push.example/1",
    options: { applicationServerKey: Uint8Array.of(251, 255, 0).buffer },
    toJSON: () => ({ endpoint: "https://push.example/1" }), unsubscribe: async () => true };
  const pushManager = { asked: [], held: null, getSubscription: async () => pushManager.held,
    subscribe: async (options) => {
      pushManager.asked.push(options);
      pushManager.held = made;
      return made;
    } };
  const found = { active: {}, pushManager,
    getNotifications: async ({ tag }) => shown.filter((it) => it.tag === tag) };
  return { closed, pushManager, found, isSecureContext: true, PushManager: class {},
    caches: fakeCaches(), Response,
    Notification: { permission: "granted", requestPermission: async () => "granted" },
    navigator: { serviceWorker: { getRegistration: async () => found } }, ...changes };
}

test("a browser's subscription is read with the key that it was made for", async () => {
  const scope = fakeScope();
  const push = systemPush(scope);
  assert.deepEqual([push.obstacle, push.permission, await push.subscription()],
    [null, "granted", null]);
  const made = await push.subscribe("BKey");
  assert.deepEqual(scope.pushManager.asked,
    [{ userVisibleOnly: true, applicationServerKey: "BKey" }]);
  assert.deepEqual([made.key, made.endpoint, (await push.subscription()).toJSON()],
    ["-_8A", "https://push.example/1", { endpoint: "https://push.example/1" }]);
  await push.clear();
  assert.deepEqual(scope.closed, ["changes", "renewal"]);
});

test("the mark that a person wants wakes lies where the service worker finds it", async () => {
  const scope = fakeScope();
  const push = systemPush(scope);
  assert.equal(await push.wanted(), null);
  for (const act of ["unwant", "forget"]) {
    await push.want("");
    assert.equal(await push.wanted(), "");
    await push.want("https://push.example/1");
    const entry = async (path) =>
      (await (await scope.caches.open("lockstep wakes")).match(path))?.text();
    assert.equal(await entry("/wanted"), "https://push.example/1");
    assert.equal(await entry("/choice"), undefined);
    await push.choose();
    assert.deepEqual([await entry("/wanted"), await entry("/choice")], ["", ""]);
    await push[act]();
    assert.deepEqual([await push.wanted(), await entry("/choice")], [null, undefined]);
  }
});

test("only Safari is given a notification to show itself, and only over https", () => {
  const notificationOf = (userAgent, origin) => systemPush(fakeScope({ location: { origin },
    navigator: { serviceWorker: {}, userAgent } })).notification;
  const [safari, url] = ["AppleWebKit/605.1.15 Safari/605.1.15", "https://relay.example"];
  assert.deepEqual(notificationOf(safari, url),
    { title: "Something changed in Lockstep.", navigate: "https://relay.example/" });
  assert.equal(notificationOf("AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36", url), null);
  assert.equal(notificationOf("Gecko/20100101 Firefox/153.0", url), null);
  assert.equal(notificationOf(safari, "http://localhost:5625"), null);
  assert.equal(notificationOf(safari, `https://${"x".repeat(160)}.example`), null);
});

test("the notification that a browser may show goes with each registration", async () => {
  const stage = new Stage();
  stage.push.notification = { title: "t", navigate: "https://relay.example/" };
  await stage.wakes.turnOn();
  assert.deepEqual(stage.registered, ["page", { notification: stage.push.notification }]);
});

test("what a browser lacks is found out without a failure", async () => {
  const obstacleOf = (changes) => systemPush(fakeScope(changes)).obstacle;
  assert.equal(obstacleOf({ isSecureContext: false }), "insecure");
  assert.equal(obstacleOf({ PushManager: undefined }), "unsupported");
  assert.equal(obstacleOf({ navigator: { standalone: false } }), "homeScreen");
  assert.equal(obstacleOf({ navigator: {} }), "unsupported");
  const without = systemPush(fakeScope({ navigator: {}, caches: undefined }));
  await without.clear();
  await without.forget();
  await without.unwant();
  assert.deepEqual([await without.subscription(), await without.wanted()], [null, null]);
});

test("a browser that cannot subscribe says why, and does not wait without end", async () => {
  const scope = fakeScope();
  scope.pushManager.subscribe = async () => { throw new Error("push service not available"); };
  await assert.rejects(systemPush(scope).subscribe("BKey"),
    /no subscription from its push service \(push service not available\)/u);
  const early = fakeScope({ navigator: { serviceWorker: { getRegistration: async () => {} } } });
  await assert.rejects(systemPush(early).subscribe("BKey"), /reload it/u);
});
