import { Agent } from "../sync/agent.js";
import { storedStatus } from "../sync/status.js";
import { limits } from "../limits.js";
import { EditError, editsOf } from "../replica/editing.js";
import { Merging } from "../replica/merging.js";
import { Deadline } from "../transport/environment.js";
import { Leadership } from "./leadership.js";
import { OrderReceiver, OrderSender } from "./orders.js";
import { View } from "./view.js";

/**
 * All tabs of a store as one device. The leading tab runs the agent, and sends the changes and the
 * sync status to the other tabs. These show them, and send a person's orders to the leading tab.
 */
export class Tabs {
  status;
  #options;
  #environment;
  #store;
  #channel;
  #leadership;
  #agent = null;
  #merging;
  #sender;
  #receiver;
  #ping;
  #silenceCount = 0;
  #clockOffset = 0;
  #notify;
  #isClosed = false;

  /** @param {{environment: object, store: object, locks?: LockManager, channel: object | null,
   *   name: string, apps: object[], relay: string, transports: string[],
   *   notify: (event: object) => void}} options */
  constructor(options) {
    const { environment, store, locks, channel, name, notify } = options;
    this.#options = options;
    this.#environment = environment;
    this.#store = store;
    this.#channel = channel;
    this.#notify = notify;
    this.#merging = new Merging(options.apps, "");
    this.view = new View(store);
    this.#readStatus();
    const post = (message) => this.#channel?.postMessage(message);
    this.#sender = new OrderSender({ environment, post, onSilence: () => this.#takeOver() });
    this.#receiver = new OrderReceiver({ post, perform: (order) => this.#performOrder(order) });
    this.#ping = new Deadline(environment);
    this.#leadership = new Leadership({
      store, locks, environment, name, holder: environment.uuid(),
      onLeading: (term) => this.#beginLeading(term), onDeposed: () => this.#endLeading(),
    });
    if (this.#channel) this.#channel.onmessage = ({ data }) => this.#handleMessage(data);
  }

  async start() {
    await this.view.read();
    this.#readStatus();
    this.#leadership.start();
    this.#requestStatus();
  }

  /** The status until the leading tab reports its own. */
  #readStatus() {
    const { outbox, values } = this.view;
    this.status = storedStatus({ outbox, values, store: this.#store });
    this.#clockOffset = values.get("clock.offset") ?? 0;
  }

  get isLeading() { return this.#agent !== null; }

  /** Relay time, milliseconds. */
  get now() {
    return this.#agent?.isLoaded ? this.#agent.now : this.#environment.wall() + this.#clockOffset;
  }

  /** Performs an order in the leading tab. `what` is also its name in messages between
   * tabs: `change`, `decide`, `join`, `joinSealed`, `noteDevices`, `makeKeys`, `adoptKeys`,
   * `syncNow`, `erase`. */
  order(what, argument) {
    if (this.#isClosed) {
      return Promise.reject(new EditError("closed", "the client was closed; open another"));
    }
    const order = { id: this.#environment.uuid(), what, argument };
    return this.#dispatch(order);
  }

  async #dispatch(order) {
    if (!this.#agent) return this.#sender.send(order);
    try {
      return await this.#performOrder(order);
    } catch (error) {
      // Another tab leads now, and nothing was written.
      if (error.code !== "deposed" || this.#isClosed) throw error;
      return this.#sender.send(order);
    }
  }

  /** Makes the edits of `make`: at once if this tab leads, otherwise based on the records that it
   * shows. Repeats the call if these were changed meanwhile. */
  async change(make, { deviceOf }) {
    for (let tries = 1; ; tries += 1) {
      try {
        if (this.#agent) return await this.#agent.change(make);
        const context = this.#context(await deviceOf());
        const edits = editsOf(make, context).map((edit) => this.#withSeenVersion(edit));
        return await this.order("change", edits);
      } catch (error) {
        const isOver = this.#isClosed || tries === limits.changeTries;
        if (isOver || !["stale", "deposed"].includes(error.code)) throw error;
        await this.#reload();
      }
    }
  }

  wake() {
    this.#agent?.wake();
    if (!this.#agent) this.#requestStatus();
  }

  /** Handles the loss of the network; the tab that is connected tells the others. */
  networkLost() { this.#agent?.networkLost(); }

  /** Ends the connection of this tab, which is left. `wake` continues if it comes back. */
  leave() { this.#agent?.leave(); }

  /** `reason`: for a person, if the page did not request it. */
  close(reason = null) {
    if (this.#isClosed) return undefined;
    this.#isClosed = true;
    this.#setStatus({ ...this.status, state: "closed", reason,
      reasonCode: reason === null ? null : "closed", transport: null });
    this.#ping.clear();
    this.#agent?.stop();
    this.#agent = null;
    this.#leadership.close();
    for (const { reject } of this.#sender.removeAll()) {
      reject(new EditError("closed", "the client was closed; open another"));
    }
    this.#channel?.close();
    return this.#store.close();
  }

  // the leading tab

  #beginLeading(term) {
    this.#silenceCount = 0;
    this.#ping.clear();
    this.#startAgent(term);
    for (const { order, resolve, reject } of this.#sender.removeAll()) {
      this.#performOrder(order).then(resolve, reject);
    }
  }

  #startAgent(term) {
    const { environment, store, apps, relay, transports, readAhead } = this.#options;
    const agent = new Agent({ environment, store, term, apps, relay, transports, readAhead,
      report: (event) => { if (agent === this.#agent) this.#handleReport(event); } });
    this.#agent = agent;
    agent.start().catch(() => {});
  }

  #handleReport(event) {
    if (event.kind === "deposed") {
      this.#leadership.stepDown();
    } else if (event.kind === "changed") {
      const isMany = event.records.length + event.tagged.length > limits.broadcastRecords;
      this.#channel?.postMessage({ ...event, records: isMany ? null : event.records });
      this.#applyChanges(event);
    } else {
      this.#postStatus(event.status);
      this.#setStatus(event.status);
    }
  }

  #endLeading() {
    this.#agent?.stop();
    this.#agent = null;
    this.#requestStatus();
  }

  async #performOrder({ id, what, argument }) {
    const agent = this.#agent;
    if (!agent) throw new EditError("deposed", "another tab leads now; try again");
    switch (what) {
      case "change": {
        const done = await agent.change(() => argument, id);
        if (!done.isRepeated) return done;
        return argument.map(({ zone, name }) => this.view.record(zone, name));
      }
      case "decide": return agent.decide(argument, id);
      case "join": return agent.join(argument);
      // An order of its own: a tab of an earlier version would join without the keys.
      case "joinSealed": return agent.join(argument.identity, argument.keys);
      case "noteDevices": return agent.nameDevices(argument);
      case "makeKeys": return agent.makeKeys(argument);
      case "adoptKeys": return agent.adoptKeys(argument);
      case "syncNow": return agent.syncNow();
      case "erase": return this.#erase();
      default: throw new EditError("badOrder", `unknown order ${what}`);
    }
  }

  /** Begins a new term first, so that unfinished writes of the agent fail. */
  async #erase() {
    this.#agent.stop();
    const term = await this.#leadership.renewTerm();
    await this.#store.erase(term);
    this.#startAgent(term);
    this.#channel?.postMessage({ kind: "erased" });
    await this.#reload();
  }

  // the other tabs

  #handleMessage(message) {
    if (this.#isClosed) return;
    if (this.#agent) {
      if (message.kind === "order") this.#receiver.handleOrder(message.order);
      if (message.kind === "who leads") this.#postStatus(this.status);
      return;
    }
    switch (message.kind) {
      case "changed": this.#applyChanges(message); break;
      case "status":
        this.#silenceCount = 0;
        this.#clockOffset = message.offset;
        this.#setStatus(message.status);
        break;
      case "accepted": this.#sender.handleAccepted(message.id); break;
      case "answer": this.#sender.handleAnswer(message); break;
      case "erased": this.#reload(); break;
      default: // Request of another tab.
    }
  }

  /** Requests the leading tab's status; the answer also shows that a tab leads. A leading tab that
   * does not answer is replaced: it may be suspended, and its last status may be outdated. */
  #requestStatus() {
    if (this.#isClosed || this.#agent || !this.#channel) return;
    if (this.#silenceCount >= limits.silencesToLead) this.#takeOver();
    this.#silenceCount += 1;
    this.#channel.postMessage({ kind: "who leads" });
    this.#ping.set(limits.orderMilliseconds, () => this.#requestStatus());
  }

  #takeOver() {
    this.#silenceCount = 0;
    this.#leadership.takeOver().catch(() => {});
  }

  #context(device) {
    const now = Math.floor(this.now);
    return {
      record: (zone, name) => this.view.record(zone, name),
      records: (zone, type) => this.view.records(zone, type),
      stamp: (zone, name) => {
        const held = this.view.heldRecord(zone, name);
        return held ? Math.max(now, this.#merging.newestStamp(held) + 1) : now;
      },
      now, device,
    };
  }

  #withSeenVersion(edit) {
    const held = this.view.record(edit.zone, edit.name);
    return { ...edit,
      seen: held ? { modifiedAt: held.modifiedAt, device: held.device } : null };
  }

  // all tabs

  #postStatus(status) {
    const offset = Math.floor(this.now - this.#environment.wall());
    this.#channel?.postMessage({ kind: "status", status, offset });
  }

  #setStatus(status) {
    this.status = status;
    this.#notify({ kind: "status", status });
  }

  #applyChanges(event) {
    const changed = this.view.apply(event);
    if (changed === null) this.#reload();
    else if (changed.length > 0) this.#notify({ kind: "changed", records: changed });
  }

  async #reload() {
    if (this.#isClosed) return;
    const changed = await this.view.read();
    if (changed.length > 0 && !this.#isClosed) this.#notify({ kind: "changed", records: changed });
  }
}
