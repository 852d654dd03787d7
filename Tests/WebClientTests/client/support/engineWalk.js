import { SyncEngine } from "../../../../Sources/WebClient/client/sync/syncEngine.js";

const zone = "Notes";
const saveRefusals = [
  "planRequired", "clockAhead", "batchMismatch", "batchAborted", "storeRestored", "recordTooLarge",
  "overloaded", "badToken",
];
const fetchRefusals = ["overloaded", "overloaded", "tokenExpired", "badToken"];
const transports = ["websocket", "events", "long-poll", "poll"];

/**
 * A random life of a sync engine: events that a device, a relay and a replica could cause, in any
 * order. Its twin is Tests/ClientTests/Stage/EngineWalk.swift.
 */
export class EngineWalk {
  /** `found`: gets each transition, as `machine from to event`. */
  constructor(random, found) {
    this.random = random;
    this.found = found;
    this.engine = new SyncEngine();
    /** Sequence number of the device's cursor, and of the relay's newest change. */
    this.cursor = 1;
    this.newest = 1;
    this.hasEdits = false;
    /** Id of the frozen batch. */
    this.frozen = null;
    this.batches = 0;
    this.jobs = [];
    this.forgetRequests();
    this.isGreeted = false;
    this.isPaused = false;
    this.isAnswered = false;
    this.hasFailed = false;
    this.load();
  }

  /** Lets one event happen that is possible now. */
  step() {
    const { events } = this;
    let number = this.random.below(events.reduce((sum, [, weight]) => sum + weight, 0));
    const [name, , happen] = events.find(([, weight]) => (number -= weight) < 0);
    this.record(name, happen);
    if (this.hasFailed) this.record("offline", () => this.disconnect());
  }

  record(name, happen) {
    const before = this.engine.states;
    happen();
    const after = this.engine.states;
    for (const machine of ["fetch", "save", "stream"]) {
      if (before[machine] !== after[machine]) {
        this.found(`${machine} ${before[machine]} ${after[machine]} ${name}`);
      }
    }
  }

  /** Events, each with its weight, which is 0 if it is not possible now, and its effect. */
  get events() {
    const { engine, fetches, waits, listens, jobs } = this;
    const { transport } = engine;
    const isOnline = transport !== null;
    const isSaving = this.saves !== null;
    return [
      ["loaded", !isOnline && jobs.length === 0 ? 1 : 0, () => this.load()],
      ["hello", !isOnline && !this.isGreeted ? 4 : 0, () => this.greet()],
      ["online", isOnline ? 0 : 8, () => this.connect()],
      ["offline", isOnline || this.isGreeted ? 1 : 0, () => this.disconnect()],
      ["fetchNow", isOnline ? 1 : 0, () => engine.fetchNow()],
      ["poll", isOnline ? (waits ? 12 : 3) : 0, () => engine.poll()],
      ["tryEverything", isOnline ? 1 : 0, () => engine.tryEverything()],
      ["resume", this.isPaused ? 16 : 0, () => this.resume()],
      ["clockMeasured", engine.isClockTrusted ? 0 : 16, () => { engine.isClockTrusted = true; }],
      ["transportChanged", this.changes.length > 0 ? (waits ? 6 : 1) : 0,
        () => this.changeTransport()],
      ["edit", jobs.length < 3 ? 3 : 0, () => this.edit()],
      ["jobDone", jobs.length > 0 ? 32 : 0, () => this.finishJob()],
      ["next", 64, () => this.perform()],
      ["push", transport === "websocket" ? 4 : 0, () => engine.page(this.page(), "push")],
      ["hint", transport === "websocket" || listens ? 2 : 0, () => this.hint()],
      ["streamPage", listens ? 4 : 0, () => engine.page(this.page(), "stream")],
      ["streamRefused", listens ? 2 : 0, () => this.refuse("stream")],
      ["longPollPage", waits ? 3 : 0, () => this.answer("longPoll")],
      ["longPollRefused", waits ? 4 : 0, () => this.refuse("longPoll")],
      ["longPollCut", waits ? 4 : 0, () => this.cutLongPoll()],
      ["fetchedPage", fetches ? 12 : 0, () => this.answer("fetch")],
      ["fetchRefused", fetches ? 2 : 0, () => this.refuse("fetch")],
      ["saved", isSaving ? 24 : 0, () => this.save()],
      ["saveRefused", isSaving ? 8 : 0, () => this.refuseSave()],
    ];
  }

  /** Returns true once in `count` times. */
  chance(count) { return this.random.below(count) === 0; }

  token(sequence) { return `1.${sequence}`; }

  get position() {
    return this.cursor === null
      ? { kind: "nothing" } : { kind: "cursor", token: this.token(this.cursor) };
  }

  get outbox() {
    const waiting = new Map(this.hasEdits ? [[zone, 1]] : []);
    return { frozen: this.frozen, waiting, mayBringBack: false };
  }

  forgetRequests() {
    this.fetches = false;
    this.waits = false;
    this.listens = false;
    this.saves = null;
  }

  load() { this.engine.loaded(this.position, this.outbox); }

  greet() {
    this.isGreeted = true;
    this.engine.greet();
  }

  connect() {
    const transport = this.isGreeted ? "websocket" : this.random.pick(transports.slice(1));
    this.isGreeted = false;
    const newest = this.chance(2) ? this.token(this.newest) : null;
    this.engine.online(transport, newest);
  }

  disconnect() {
    this.forgetRequests();
    this.isGreeted = false;
    this.isPaused = false;
    this.hasFailed = false;
    this.engine.offline();
  }

  resume() {
    this.isPaused = false;
    this.engine.resume();
  }

  /** Transports that may follow on the same connection. */
  get changes() {
    switch (this.engine.transport) {
      case "poll": return ["long-poll", "events"];
      case "long-poll": return this.waits ? ["events"] : ["events", "poll"];
      default: return [];
    }
  }

  changeTransport() { this.engine.changeTransport(this.random.pick(this.changes)); }

  edit() { this.jobs.push({ task: "edit", isOffered: this.engine.beginOffer() !== null }); }

  /** Performs the engine's next action, if there is one. */
  perform() {
    const action = this.engine.next();
    switch (action?.do) {
      case "job": this.jobs.push({ ...action.job, isOffered: action.bounds !== null }); break;
      case "save": this.saves = action.batch; break;
      case "fetch": this.fetches = true; break;
      case "wait": this.waits = true; break;
      case "listen": this.listens = true; break;
      case "pause": this.isPaused = true; break;
      case "fail": this.hasFailed = true; break;
      default: break;
    }
  }

  /** Ends the oldest job of the replica. */
  finishJob() {
    const { task, isOffered } = this.jobs.shift();
    if (task === "edit") this.hasEdits = true;
    if (task === "refuseBatch") this.unfreeze();
    if (task === "forgetCursor") this.cursor = null;
    const applied = task === "apply" ? this.applied() : { position: this.position };
    const isJob = task === "edit" || task === "freezeBatch";
    this.engine.finished({ offered: isOffered, applied: isJob ? null : applied,
      batch: isOffered ? this.freeze() : null, outbox: this.outbox });
  }

  applied() {
    const foundGap = this.chance(8);
    if (!foundGap) this.cursor = this.newest;
    // The answer to a batch is among the arrivals.
    const hasAnswer = this.isAnswered;
    if (hasAnswer) this.frozen = null;
    this.isAnswered = false;
    return { position: this.position, foundGap, hasAnswer, clockAhead: this.chance(16),
      retryLater: this.chance(16) ? { code: "overloaded" } : null,
      isAtEnd: !foundGap && !this.chance(3) };
  }

  unfreeze() {
    this.frozen = null;
    this.hasEdits = true;
  }

  /** Returns the batch that the job froze; null: the stamps could not be trusted. */
  freeze() {
    if (this.chance(4) || !(this.hasEdits || this.frozen !== null)) return null;
    if (this.frozen === null) {
      this.batches += 1;
      this.frozen = `batch ${this.batches}`;
      this.hasEdits = false;
    }
    return { id: this.frozen, zone, atomic: false, records: [{ name: "a" }] };
  }

  /** Returns a page: nothing new, or one more change. */
  page() {
    if (this.chance(2)) this.newest += 1;
    const isNew = this.cursor !== this.newest;
    return { since: this.position.token ?? null, token: this.token(this.newest),
      more: this.chance(8), changes: isNew ? [{ name: "b" }] : [] };
  }

  hint() {
    this.newest += 1;
    this.engine.hint(this.token(this.newest));
  }

  endRequest(origin) {
    if (origin === "fetch") this.fetches = false;
    if (origin === "longPoll") this.waits = false;
    if (origin === "stream") this.listens = false;
  }

  answer(origin) {
    this.endRequest(origin);
    this.engine.page(this.page(), origin);
  }

  refuse(origin) {
    this.endRequest(origin);
    this.engine.fetchRefused({ code: this.random.pick(fetchRefusals), detail: "" }, origin);
  }

  cutLongPoll() {
    this.waits = false;
    this.engine.longPollCut();
  }

  save() {
    const { id } = this.saves;
    this.saves = null;
    this.isAnswered = true;
    this.engine.saved(id, { results: [] });
  }

  refuseSave() {
    const { id } = this.saves;
    this.saves = null;
    this.engine.saveRefused(id, { code: this.random.pick(saveRefusals), detail: "" });
  }
}
