import { Agent } from "../../../../Sources/WebClient/client/sync/agent.js";
import { MemoryStore } from "../../../../Sources/WebClient/client/store/memoryStore.js";
import { FakeEnvironment, settled } from "./fakeEnvironment.js";
import { modelApp } from "./modelApp.js";

export const identity = { accountID: "account", deviceID: "page", token: "secret" };

/** A paired device whose time, network and store the test controls. */
export class TestDevice {
  environment = new FakeEnvironment();
  news = [];

  static async start({ transports = ["websocket", "long-poll", "poll"], apps = [modelApp],
    store = new MemoryStore(), readAhead } = {}) {
    const device = new TestDevice();
    const { environment } = device;
    device.store = store;
    const { term } = await store.claim({ holder: "tab", now: 0, force: true, milliseconds: 1e15 });
    device.agent = new Agent({
      environment, store, term, apps, transports, relay: "http://relay.example", readAhead,
      report: (news) => device.news.push(news),
    });
    await device.agent.start();
    await device.agent.join(identity);
    await settled();
    return device;
  }

  get socket() { return this.environment.sockets.at(-1); }

  get status() { return this.agent.status; }

  /** Relay time: the device's wall clock plus 5 s. */
  get relayTime() { return this.environment.wall() + 5_000; }

  /** Opens the socket; the relay welcomes the device and has no changes for it. */
  async welcome({ keepAlive = 25_000, token = "a1.0" } = {}) {
    const { socket } = this;
    socket.open();
    await settled();
    socket.receive({ op: "welcome", accountID: "account", deviceID: "page", token, keepAlive,
      time: this.relayTime });
    await settled();
    this.answerTimeRequests();
    const fetch = socket.last("fetch");
    if (fetch) {
      socket.receive({ op: "changes", id: fetch.id, since: fetch.since ?? null, token, more: false,
        changes: [] });
    } else {
      const { since } = socket.last("hello");
      socket.receive({ op: "changes", since, token, more: false, changes: [] });
    }
    await settled();
  }

  /** Answers every request for the time so far. */
  answerTimeRequests() {
    const { socket } = this;
    for (;;) {
      const asked = socket.last("time");
      if (!asked || asked.isAnswered) return;
      asked.isAnswered = true;
      socket.receive({ op: "time", id: asked.id, t0: asked.t0, t1: this.relayTime,
        t2: this.relayTime });
    }
  }

  async receive(message) {
    this.socket.receive(message);
    await settled();
  }

  /** Resolves once the change is written and its consequences, such as a send, have happened. */
  async change(...edits) {
    const records = await this.agent.change(() => edits.map((edit) => ({ zone: "Model",
      type: "Set", ...edit })));
    await settled();
    return records;
  }

  /** Saves the last batch that the device sent, with tags from `first` on. */
  async save(first, since = `a1.${first - 1}`) {
    const { id, records } = this.socket.last("save");
    const results = records.map(({ name }, at) => ({ name, tag: first + at }));
    const token = `a1.${first + records.length - 1}`;
    await this.receive({ op: "saved", id, since, token, results });
  }
}
