import { Lockstep } from "../../../../Sources/WebClient/lockstep.js";
import { systemEnvironment } from "../../../../Sources/WebClient/client/transport/environment.js";
import { FakeIndexedDB } from "./fakeIndexedDB.js";
import { FakeLocks } from "./fakeLocks.js";
import { modelApp, set } from "./modelApp.js";
import { TestWebSocket } from "./testWebSocket.js";

/** A browser: the shared state of its tabs, and its own network. */
export class Browser {
  indexedDB = new FakeIndexedDB();
  locks = new FakeLocks();
  sockets = new Set();
  isOffline = false;
  static #count = 0;
  #lives = new Map();
  #channelName = `browser ${Browser.#count += 1} `;

  /** `hurry`: factor by which timers run faster. */
  constructor({ hasLocks = true, hasWebSocket = true, hurry = 1 } = {}) {
    this.hurry = hurry;
    this.hasLocks = hasLocks;
    this.hasWebSocket = hasWebSocket;
  }

  async open(relay, options = {}) {
    const life = { isAsleep: false, late: [] };
    const tab = await Lockstep.open({
      relay: relay.url, apps: [modelApp], browser: this.#parts(life), ...options,
    });
    this.#lives.set(tab, life);
    return tab;
  }

  /** Suspends a tab, as browsers do in the background: it receives nothing, and does nothing. */
  putToSleep(tab) { this.#lives.get(tab).isAsleep = true; }

  wakeUp(tab) {
    const life = this.#lives.get(tab);
    life.isAsleep = false;
    for (const act of life.late.splice(0)) act();
  }

  /** Cuts the network: sockets break, and new connections fail. */
  goOffline() {
    this.isOffline = true;
    for (const socket of this.sockets) socket.cut();
  }

  goOnline() { this.isOffline = false; }

  #parts(life) {
    const browser = this;
    class Socket extends TestWebSocket {
      constructor(...parts) {
        super(...parts);
        browser.sockets.add(this);
        if (browser.isOffline) this.cut();
      }
    }
    const system = systemEnvironment();
    return {
      environment: {
        ...system,
        setTimer: (act, milliseconds) => system.setTimer(act, milliseconds / this.hurry),
        WebSocket: this.hasWebSocket ? Socket : undefined,
        fetch: (...request) => (this.isOffline
          ? Promise.reject(new TypeError("the network is gone")) : system.fetch(...request)),
      },
      indexedDB: this.indexedDB,
      locks: this.hasLocks ? this.locks : undefined,
      openChannel: (name) => suspendable(new BroadcastChannel(this.#channelName + name), life),
      target: null,
    };
  }
}

/** Returns a channel whose messages a suspended tab receives when it wakes up. */
function suspendable(channel, life) {
  const target = { onmessage: null };
  channel.onmessage = ({ data }) => {
    const deliver = () => target.onmessage?.({ data });
    if (life.isAsleep) life.late.push(deliver);
    else deliver();
  };
  return {
    set onmessage(act) { target.onmessage = act; },
    postMessage: (message) => channel.postMessage(message),
    close: () => channel.close(),
  };
}

/** Resolves once the condition holds, which is checked at every report of the client. */
export function until(lockstep, isSo) {
  return new Promise((resolve) => {
    const check = () => {
      if (!isSo(lockstep)) return;
      end();
      resolve();
    };
    const end = lockstep.subscribe(check);
    check();
  });
}

export const inState = (state) => (lockstep) => lockstep.status.state === state;

export const itemsOf = (lockstep, name) => lockstep.record("Model", name)?.fields.items ?? null;

export const shows = (name, ...items) => (lockstep) =>
  JSON.stringify(itemsOf(lockstep, name)) === JSON.stringify(items);

/** Adds an item to the present items. */
export const add = (lockstep, name, item) => lockstep.change(({ record }) => [
  set(name, ...[...record("Model", name)?.fields.items ?? [], item].sort()),
]);
