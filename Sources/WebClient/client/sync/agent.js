import { equal } from "../../json/jsonValue.js";
import { limits } from "../limits.js";
import { EditError } from "../replica/editing.js";
import { deviceKeyBytes, newKeysBytes } from "../replica/keyHandover.js";
import { Replica } from "../replica/replica.js";
import { Deadline } from "../transport/environment.js";
import { readPage } from "../transport/messages.js";
import { RelayClock } from "../transport/relayClock.js";
import { readObject } from "../wireError.js";
import { Connection } from "./connection.js";
import { statusOf } from "./status.js";
import { SyncEngine } from "./syncEngine.js";

/**
 * Agent of a device, in the tab that leads: edits apply locally at once, and sync with the relay in
 * the background. Connects the pure parts (`Replica`, `SyncEngine`) to the store and to the
 * connection. Performs the replica's jobs one after the other, each with its writes. So everything
 * that the agent has reported is in the store, and a new agent on the same store continues at the
 * same position.
 */
export class Agent {
  #environment;
  #store;
  #term;
  #apps;
  #report;
  /** null once it was called. */
  #readAhead;
  #engine = new SyncEngine();
  #clock = new RelayClock();
  #connection;
  #replica = null;
  #identity = null;
  /** Waiting jobs; the first one is being performed. */
  #jobs = [];
  #isWorking = false;
  #step = { term: 0, number: 0 };
  #reportedStep = null;
  #isStopped = false;
  #isLoaded = false;
  #due = null;
  #dueDeadline;
  #retryDeadline;
  #resealDeadline;
  /** Wait for changes of other devices, before due edits are made on the last known state. */
  #catchUp;
  /** The same for a page that was suspended. An apparent loss of the connection may be due to the
   * suspension, so this also waits for a new connection. */
  #wakeUp;
  /** Time of `#dueDeadline` by both clocks: `{monotonic, wall}`. */
  #dueAt = null;
  #wasOnline = false;
  #lastSync = null;
  #reported = null;
  #syncs = new Set();

  /**
   * @param {{environment: import("../transport/environment.js").Environment, store: object,
   *   term: number, apps: import("../replica/merging.js").App[], relay: string,
   *   transports: string[], readAhead?: (deviceID: string) => Promise<string[]>,
   *   report: (news: object) => void}} options `readAhead`: see `Lockstep.open`. `report` receives
   *   `{kind: "changed", previous, step, records, tagged}`, `{kind: "status", status}`,
   *   `{kind: "deposed"}`. `previous` is the step of the report before; `tagged` are records of
   *   which only the tag has changed, `{zone, name, tag}`.
   */
  constructor({ environment, store, term, apps, relay, transports, readAhead = null, report }) {
    this.#environment = environment;
    this.#store = store;
    this.#term = term;
    this.#apps = apps;
    this.#report = report;
    this.#readAhead = readAhead;
    this.#dueDeadline = new Deadline(environment);
    this.#retryDeadline = new Deadline(environment);
    this.#resealDeadline = new Deadline(environment);
    this.#catchUp = new Deadline(environment);
    this.#wakeUp = new Deadline(environment);
    this.#connection = new Connection({
      environment, relay, transports, engine: this.#engine, clock: this.#clock,
      onEvent: () => this.#flush(),
      onMoved: (relay) => this.#follow(relay),
    });
  }

  start() { return this.#submit({ task: "load" }); }

  /** Resolves with the edits' records, once they are in the store. `make`: see `changeRecords`. */
  change(make, order) { return this.#order({ task: "change", make, order }); }

  decide(decision, order) { return this.#order({ task: "decide", decision, order }); }

  /** Stores the device's account, or a new token for the same account. `keys`: those that came with
   * the code (`SealingKeys.storedValue`). */
  async join(identity, keys) {
    const joined = await this.#order({ task: "join", identity, keys });
    this.#identity = joined;
    // With further keys of the same account, the device reads from the beginning.
    this.#connection.join(joined, { restarts: true });
    this.#flush();
  }

  /** Stores the address of the relay where the account lives, and then goes there. A failure of the
   * store is handled as any other: the former relay names the address again. */
  #follow(relay) {
    this.#submit({ task: "follow", relay }).then((identity) => {
      if (this.#isStopped) return;
      this.#identity = identity;
      this.#connection.join(identity, { restarts: true });
      this.#flush();
    }, () => {});
  }

  /** Stores the account's devices, as the relay has just listed them. */
  nameDevices(devices) { return this.#order({ task: "nameDevices", devices }); }

  /** Makes new keys of the account for all devices but some; see `makeKeys` of the replica. They
   * are in use once `adoptKeys` has stored them. */
  makeKeys(without) {
    const secret = this.#environment.randomBytes(newKeysBytes);
    return this.#order({ task: "makeKeys", secret, without });
  }

  adoptKeys(made) { return this.#order({ task: "adoptKeys", made }); }

  /** False until the store has been read. */
  get isLoaded() { return this.#isLoaded; }

  get status() {
    return statusOf({
      engine: this.#engine, connection: this.#connection, isLoaded: this.#isLoaded,
      identity: this.#identity, lastSync: this.#lastSync, store: this.#store,
      clock: this.#clock.isMeasured ? this.#reading() : null,
    });
  }

  /** Relay time as known to this device, milliseconds. */
  get now() {
    const reading = this.#reading();
    return reading.isMeasured || !this.#replica
      ? reading.relayTime : reading.wall + this.#replica.assumedOffset;
  }

  /** Retries everything that was refused or set aside. Resolves with the status once the device is
   * in sync, has failed, or the timeout has passed. */
  syncNow() {
    this.#engine.tryEverything();
    this.#connection.tryNow();
    if (this.#connection.failure?.isStore) this.#reload();
    return new Promise((resolve) => {
      const deadline = new Deadline(this.#environment);
      const sync = { end: () => {
        deadline.clear();
        this.#syncs.delete(sync);
        resolve(this.status);
      } };
      deadline.set(limits.syncMilliseconds, sync.end);
      this.#syncs.add(sync);
      this.#flush();
    });
  }

  /** Checks the connection after the page becomes visible or the network returns. */
  wake() {
    this.#connection.wake();
    this.#flush();
  }

  /** Shows the loss of the network, which the browser reports, at once. */
  networkLost() {
    this.#connection.networkLost();
    this.#flush();
  }

  /** Ends the connection, and tells the relay what the device has, because the page is left. */
  leave() { this.#connection.leave(); }

  stop() {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#connection.stop();
    const deadlines = [this.#dueDeadline, this.#retryDeadline, this.#resealDeadline, this.#catchUp,
      this.#wakeUp];
    for (const deadline of deadlines) deadline.clear();
    for (const sync of [...this.#syncs]) sync.end();
    for (const item of this.#jobs.splice(this.#isWorking ? 1 : 0)) {
      item.reject(new EditError("closed", "the client was closed; open another"));
    }
  }

  // jobs

  #order(job) {
    if (this.#jobs.length >= limits.waitingJobs) {
      return Promise.reject(new EditError("busy",
        "too much waits to be written; await the earlier calls first"));
    }
    return this.#submit(job, this.#engine.beginOffer());
  }

  #submit(job, bounds = null) {
    if (this.#isStopped) {
      return Promise.reject(new EditError("closed", "the client was closed; open another"));
    }
    return new Promise((resolve, reject) => {
      const { randomBytes } = this.#environment;
      const offer = bounds ? { id: this.#environment.uuid(), randomBytes, ...bounds } : undefined;
      this.#jobs.push({ job: { ...job, offer }, resolve, reject });
      this.#runJobs();
    });
  }

  async #runJobs() {
    if (this.#isWorking) return;
    this.#isWorking = true;
    while (this.#jobs.length > 0) {
      const item = this.#jobs[0];
      let outcome = null;
      let fault = null;
      try {
        outcome = await this.#perform(item.job);
      } catch (error) {
        fault = error;
      }
      this.#jobs.shift();
      if (fault) this.#handleFailure(fault, item);
      else this.#handleOutcome(outcome, item);
    }
    this.#isWorking = false;
  }

  async #perform(job) {
    this.#replica ??= new Replica(await this.#store.load(), this.#apps);
    this.#reportedStep ??= this.#replica.transaction.value("step") ?? this.#step;
    const outcome = this.#replica.perform({ ...job, clock: this.#reading() });
    if (outcome.writes.length > 0) {
      // Other tabs detect by this value if they have missed a change.
      this.#step = { term: this.#term, number: this.#step.number + 1 };
      await this.#store.write(this.#term, [
        ...outcome.writes, { store: "values", key: "step", value: this.#step },
      ]);
    }
    return outcome;
  }

  #handleOutcome(outcome, { job, resolve, reject }) {
    const { changed, tagged } = outcome;
    if (changed.length + tagged.length > 0 && !this.#isStopped) {
      this.#report({ kind: "changed", previous: this.#reportedStep, step: this.#step,
        records: changed, tagged });
      this.#reportedStep = this.#step;
    }
    if (outcome.error) reject(outcome.error);
    else resolve(outcome.result);
    if (this.#isStopped) return;
    this.#due = outcome.due;
    if (job.task === "load") this.#handleLoaded(outcome);
    if (job.task === "join" && !outcome.error) this.#engine.joined(outcome.position);
    const { applied } = outcome;
    this.#engine.finished({ offered: !!job.offer, ...outcome });
    if (["load", "join"].includes(job.task) && !outcome.error) this.#makeDeviceKey();
    // An answer that requires the same request again is not a success.
    const isSuccess = applied?.hasAnswer && !applied.retryLater && !applied.clockAhead;
    if (isSuccess) this.#connection.succeeded();
    this.#flush();
  }

  #handleLoaded({ position, outbox }) {
    this.#isLoaded = true;
    this.#identity = this.#replica.identity;
    this.#lastSync ??= this.#replica.lastSync;
    this.#engine.loaded(position, outbox);
    this.#awaitRemoteChanges();
    if (!this.#identity) return;
    this.#applyReadAhead(this.#identity.deviceID).catch(() => {});
    this.#connection.join(this.#identity);
  }

  /** Makes the device's own key, unless it has one, and makes it known to the account's other
   * devices. */
  #makeDeviceKey() {
    if (!this.#replica.hasAccountKeys) return;
    const secret = this.#environment.randomBytes(deviceKeyBytes);
    this.#submit({ task: "makeDeviceKey", secret }, this.#engine.beginOffer()).catch(() => {});
  }

  /** Applies what was read ahead, unless the device is connected sooner: the relay then sends it. A
   * failure costs nothing else. */
  async #applyReadAhead(deviceID) {
    const read = this.#readAhead;
    this.#readAhead = null;
    if (!read) return;
    const pages = (await read(deviceID)).map((text) => readPage(readObject(text)));
    if (this.#isStopped) return;
    this.#engine.readAhead(pages);
    this.#flush();
  }

  /** Reports an edit that could not be written; nothing has changed. Sync stops, and restarts from
   * the content of the store. */
  #handleFailure(error, { reject }) {
    this.#replica = null;
    reject(error);
    if (this.#isStopped) return;
    if (error.code === "deposed") {
      this.stop();
      this.#report({ kind: "deposed" });
      return;
    }
    const reason = error.name === "StoreError" ? error.message : `a fault: ${error.message}`;
    const wait = this.#connection.storeFailed(reason);
    this.#retryDeadline.set(wait, () => this.#reload());
    this.#flush();
  }

  #reload() {
    this.#retryDeadline.clear();
    this.#connection.clearFailure();
    this.#submit({ task: "load" }).catch(() => {});
  }

  // consequences of jobs and events

  #flush() {
    if (this.#isStopped) return;
    this.#detectSuspension();
    if (this.#isLoaded) this.#performActions();
    const isOnline = this.#engine.transport !== null;
    if (isOnline && !this.#wasOnline) this.#awaitRemoteChanges();
    this.#wasOnline = isOnline;
    this.#scheduleDueEdit();
    this.#scheduleResealing();
    if (this.#engine.isInSync) {
      this.#lastSync = this.now;
      this.#connection.succeeded();
    }
    if (this.#syncs.size > 0 && this.#isLoaded) {
      const isDone = this.#engine.isSettled || !this.#connection.isTrying;
      if (isDone) for (const sync of [...this.#syncs]) sync.end();
    }
    this.#reportStatus();
  }

  #performActions() {
    for (;;) {
      this.#engine.isClockTrusted = this.#reading().isTrusted;
      const action = this.#engine.next();
      if (!action) break;
      if (action.do === "job") this.#submit(action.job, action.bounds).catch(() => {});
      else this.#connection.perform(action);
    }
    if (!this.#engine.isClockTrusted) this.#connection.measureTime();
  }

  #awaitRemoteChanges() {
    this.#catchUp.set(limits.catchUpMilliseconds, () => this.#flush());
  }

  /** A deadline that is reached late shows that the page was suspended (closed lid, frozen by the
   * browser). The local state may be old, so the agent fetches first. */
  #detectSuspension() {
    if (!this.#dueAt) return;
    const { wall, monotonic } = this.#environment;
    const late = Math.max(monotonic() - this.#dueAt.monotonic, wall() - this.#dueAt.wall);
    if (late <= limits.clockJumpMilliseconds) return;
    this.#dueAt = null;
    this.#wakeUp.set(limits.catchUpMilliseconds, () => this.#flush());
    this.#engine.fetchNow();
  }

  #scheduleDueEdit() {
    this.#dueDeadline.clear();
    this.#dueAt = null;
    if (!this.#due || !this.#isLoaded) return;
    const isOnline = this.#engine.transport !== null;
    const whileTrusted = isOnline ? this.#due.whileConnected : this.#due.whileOffline;
    const time = this.#reading().isTrusted ? whileTrusted : this.#due.own;
    if (time === null) return;
    if (this.#jobs.some(({ job }) => job.task === "makeDueEdits")) return;
    if (this.#engine.hasAllRemoteChanges || !this.#connection.isTrying) this.#catchUp.clear();
    if (this.#engine.hasAllRemoteChanges) this.#wakeUp.clear();
    // Examined again after the wait for other devices.
    if (this.#catchUp.isSet || this.#wakeUp.isSet) return;
    const wait = Math.max(0, Math.min(time - this.now, limits.farMilliseconds));
    const { wall, monotonic } = this.#environment;
    this.#dueAt = { monotonic: monotonic() + wait, wall: wall() + wait };
    this.#dueDeadline.set(wait, () => {
      this.#detectSuspension();
      if (this.#wakeUp.isSet) {
        this.#flush();
        return;
      }
      this.#dueAt = null;
      const isConnected = this.#engine.transport !== null;
      this.#submit({ task: "makeDueEdits", isConnected }, this.#engine.beginOffer())
        .catch(() => {});
    });
  }

  /** Saves some more records again with newer keys, if nothing else is to be done. */
  #scheduleResealing() {
    const mayBegin = () => this.#engine.isSettled && this.#engine.outbox?.isResealing;
    if (!mayBegin() || this.#resealDeadline.isSet) return;
    this.#resealDeadline.set(limits.resealMilliseconds, () => {
      if (mayBegin()) this.#submit({ task: "reseal" }, this.#engine.beginOffer()).catch(() => {});
    });
  }

  /** Reports the status if it has changed. Changes of the clock offset by a few milliseconds, and
   * of the time of the last sync, are not reported on their own. */
  #reportStatus() {
    // The status of the store is known meanwhile.
    if (!this.#isLoaded && !this.#connection.failure) return;
    const { status } = this;
    const comparable = {
      ...status, lastSync: null,
      clockOffset: Math.round((status.clockOffset ?? 0) / 100),
    };
    if (equal(comparable, this.#reported)) return;
    this.#reported = comparable;
    this.#report({ kind: "status", status });
  }

  #reading() {
    const moment = { wall: Math.floor(this.#environment.wall()),
      monotonic: this.#environment.monotonic() };
    this.#clock.observe(moment);
    return this.#clock.reading(moment);
  }
}
