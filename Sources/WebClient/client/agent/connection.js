import { limits } from "../limits.js";
import { advice, askedWait } from "../refusal.js";
import { Backoff } from "../uplink/backoff.js";
import { Deadline } from "../uplink/environment.js";
import { HTTPUplink } from "../uplink/httpUplink.js";
import { Ladder } from "../uplink/ladder.js";
import { SocketUplink } from "../uplink/socketUplink.js";

/**
 * Connection to the relay: the ladder of transports, retries, and the handling of failures.
 * Performs the engine's network actions, and passes the relay's messages to the engine. Does not
 * use the store.
 */
export class Connection {
  /** Failure that a person must resolve: `{code, reason, isStore}`; null: none. */
  failure = null;
  /** Start (relay time) and reason of the period without sync: `{since, reason}`; null: none. */
  outage = null;
  /** The last refusal with a wait. */
  pause = null;
  #environment;
  #relay;
  #engine;
  #clock;
  #moved;
  #home = null;
  #uplink = null;
  /** A socket that is tried in parallel to a lesser transport. */
  #probe = null;
  #ladder;
  #backoff = new Backoff();
  /** Period over which the relay's devices reconnect if all of them lose it, as last reported. */
  #reconnectWithin = 0;
  #samplesWanted = 0;
  /** The cut of a long-poll, until it is known if the relay is reachable. */
  #cutLongPoll = null;
  #deadlines;
  #isStopped = false;

  /** @param {{environment: object, relay: string, transports: string[], engine: object,
   *   clock: object, moved: () => void}} options `moved`: called after every event */
  constructor({ environment, relay, transports, engine, clock, moved }) {
    this.#environment = environment;
    this.#relay = relay;
    this.#engine = engine;
    this.#clock = clock;
    this.#moved = moved;
    this.#ladder = new Ladder(environment.WebSocket
      ? transports : transports.filter((transport) => transport !== "websocket"));
    const names = ["retry", "resume", "poll", "measure", "backlog", "plan", "probe"];
    this.#deadlines = Object.fromEntries(
      names.map((name) => [name, new Deadline(environment)]),
    );
  }

  /** True if connected or connecting; false while waiting for a retry or a person. */
  get isTrying() {
    return !this.failure && this.#uplink !== null && !this.#engine.isPaused;
  }

  join(identity) {
    const { accountID, deviceID, token } = identity;
    const isAnother = this.#home?.token !== token;
    this.#home = { relay: this.#relay, accountID, deviceID, token };
    if (!isAnother && this.#uplink) return;
    this.#drop();
    this.#engine.offline();
    this.failure = null;
    this.#connect();
  }

  /** Retries at once, because a person asks for it or the store works again. */
  tryNow() {
    if (!this.failure?.isStore) this.failure = null;
    this.#deadlines.resume.clear();
    this.pause = null;
    this.#tryAnew();
  }

  /** Handles a page that is visible again, or a network that may have changed. */
  wake() {
    if (this.failure) return;
    if (this.#uplink && this.#engine.transport !== null) {
      // The answer, which has a deadline, shows if the connection still works.
      this.#uplink.measureTime();
      this.#engine.poll();
      if (this.pause?.isUnasked) this.#resume();
    } else {
      this.#ladder.reset();
    }
    this.#tryAnew();
  }

  /** Retries the connection at once, or tries a better transport at once. */
  #tryAnew() {
    this.#ladder.probeSoon(this.#environment.forward());
    if (this.#uplink && this.#engine.transport !== null) {
      this.#planProbe();
      return;
    }
    // A try in progress may have begun before there was a network.
    this.#drop();
    this.#backoff.reset();
    this.#connect();
  }

  /** Resets the backoff after a successful request. */
  succeeded() { this.#backoff.reset(); }

  /** Handles a failure of the store. @returns {number} time until the store is used again,
   * milliseconds */
  storeFailed(reason) {
    this.#drop();
    this.#lost(reason);
    this.failure = { code: "store", reason, isStore: true };
    return Math.max(this.#nextDelay(), limits.storeRetryMilliseconds);
  }

  clearFailure() { this.failure = null; }

  stop() {
    this.#isStopped = true;
    this.#drop();
  }

  measureTime() {
    if (this.#engine.transport !== null) this.#uplink?.measureTime();
  }

  /** Performs a network action of the engine. */
  perform(action) {
    switch (action.do) {
      case "save": this.#uplink?.save(action.batch); break;
      case "fetch":
        this.#uplink?.fetch(action.since);
        if (this.#engine.transport === "poll") this.#planPoll();
        break;
      case "wait": this.#uplink?.wait(action.since, this.#ladder.waitMilliseconds); break;
      case "listen": this.#uplink?.listen(action.since); break;
      case "measureClock":
        this.#clock.doubt();
        this.#uplink?.measureTime();
        break;
      case "pause": this.#pauseFor(action.refusal); break;
      case "fail": this.#fail(action.refusal); break;
      default: throw new TypeError(`a connection does not know how to ${action.do}`);
    }
  }

  // the uplink

  #connect() {
    const isBarred = this.failure || this.#isStopped;
    if (isBarred || this.#uplink || !this.#home) return;
    this.#deadlines.retry.clear();
    this.#uplink = this.#open(this.#ladder.transport);
  }

  #open(transport, isProbe = false) {
    const Kind = transport === "websocket" ? SocketUplink : HTTPUplink;
    let isOpen = true;
    const uplink = new Kind(this.#environment, this.#home, (event) => {
      // Events of an uplink that was dropped are ignored.
      if (!isOpen || this.#isStopped) return;
      if (event.kind === "failed") isOpen = false;
      if (handle.isProbe) this.#takeProbe(event);
      else this.#take(event);
      this.#moved();
    });
    const handle = {
      isProbe,
      greet: (since) => uplink.greet(since), save: (batch) => uplink.save(batch),
      fetch: (since) => uplink.fetch(since), wait: (...how) => uplink.wait(...how),
      listen: (since) => uplink.listen(since), measureTime: () => uplink.measureTime(),
      close: () => {
        isOpen = false;
        uplink.close();
      },
    };
    uplink.connect();
    return handle;
  }

  #take(event) {
    const engine = this.#engine;
    switch (event.kind) {
      case "readyToGreet": this.#uplink.greet(engine.greet()); break;
      case "online": this.#online(event.newest); break;
      case "clock":
        this.#clock.add(event.sample);
        this.#samplesWanted -= 1;
        if (this.#samplesWanted > 0) this.#uplink.measureTime();
        break;
      case "saved": engine.saved(event.id, event.answer); break;
      case "saveRefused":
        engine.saveRefused(event.id, event.refusal);
        if (event.refusal.code === "planRequired" || event.refusal.isTooLarge) this.#planAgain();
        break;
      case "longPollServed":
        this.#ladder.rungServed(this.#environment.forward());
        this.#planProbe();
        break;
      case "longPollCut":
        this.#cutLongPoll = event;
        engine.longPollCut();
        break;
      case "page":
        if (event.origin === servingOrigins[engine.transport]) {
          this.#ladder.rungServed(this.#environment.forward());
        }
        if (event.origin === "fetch") this.#learnOfCut();
        engine.page(event.page, event.origin);
        break;
      case "fetchRefused": engine.fetchRefused(event.refusal, event.origin); break;
      case "hint": engine.hint(event.token); break;
      case "reconnect": this.#reconnectWithin = event.within; break;
      case "failed": this.#failed(event); break;
      default: throw new TypeError(`an uplink does not tell ${event.kind}`);
    }
  }

  #online(newest) {
    this.outage = null;
    this.pause = null;
    const { transport } = this.#ladder;
    // A relay with many devices sends another value right after this.
    if (transport === "websocket") this.#reconnectWithin = 0;
    this.#engine.online(transport, newest);
    if (transport === "websocket") {
      this.#ladder.rungServed(this.#environment.forward());
      // On a socket, several measurements to choose from cost almost nothing.
      this.#samplesWanted = limits.clockSamples;
      this.#uplink.measureTime();
      this.#deadlines.backlog.set(limits.answerMilliseconds, () => {
        if (this.#engine.awaitsBacklog) this.#engine.fetchNow();
        this.#moved();
      });
    }
    this.#planMeasure();
    this.#planProbe();
  }

  /** The relay is reachable, so the long-poll itself did not work. */
  #learnOfCut() {
    if (this.#cutLongPoll === null) return;
    this.#ladder.longPollCut(this.#cutLongPoll.heldMilliseconds, this.#environment.forward());
    this.#cutLongPoll = null;
    this.#followLadder();
  }

  /** Follows the ladder. The connection stays if both transports use HTTP. */
  #followLadder() {
    const { transport } = this.#ladder;
    if (this.#engine.transport !== null && this.#engine.transport !== transport) {
      this.#engine.changeTransport(transport);
      if (transport === "poll") this.#planPoll();
      else this.#deadlines.poll.clear();
    }
    this.#planProbe();
  }

  #failed({ why, reason, refusal }) {
    this.#drop();
    this.#lost(reason);
    if (why === "rung") this.#ladder.rungFailed(this.#environment.forward());
    if (why === "barred") {
      this.failure = { code: "barred", reason: `${reason}, for a reason that is not known here` };
      return;
    }
    if (refusal && advice(refusal) === "askPerson") {
      this.#fail(refusal);
      return;
    }
    // A failed transport is a fault of the path, which other devices may not have met.
    const spread = why === "rung" ? 0 : this.#reconnectWithin;
    this.#deadlines.retry.set(this.#nextDelay(refusal, spread), () => {
      this.#connect();
      this.#moved();
    });
  }

  #fail({ code, detail }) {
    this.#drop();
    this.#lost(detail);
    this.failure = { code, reason: detail };
  }

  #pauseFor(refusal) {
    // The wait that the relay asks for does not depend on the network.
    const isUnasked = askedWait(refusal) === 0;
    this.pause = { since: this.#relayTime, reason: refusal.detail, isUnasked };
    this.#deadlines.resume.set(this.#nextDelay(refusal), () => {
      this.#resume();
      this.#moved();
    });
  }

  #resume() {
    this.#deadlines.resume.clear();
    this.pause = null;
    this.#engine.resume();
  }

  #lost(reason) {
    this.#engine.offline();
    this.#cutLongPoll = null;
    this.outage = { since: this.outage?.since ?? this.#relayTime, reason };
  }

  #drop() {
    this.#uplink?.close();
    this.#probe?.close();
    this.#uplink = null;
    this.#probe = null;
    for (const name of ["retry", "resume", "poll", "measure", "backlog", "probe"]) {
      this.#deadlines[name].clear();
    }
  }

  // deadlines

  #planPoll() {
    this.#deadlines.poll.set(limits.pollMilliseconds, () => {
      this.#engine.poll();
      this.#moved();
    });
  }

  #planMeasure() {
    this.#deadlines.measure.set(limits.clockMeasureMilliseconds, () => {
      this.#uplink?.measureTime();
      this.#planMeasure();
    });
  }

  #planAgain() {
    this.#deadlines.plan.set(limits.planRetryMilliseconds, () => {
      this.#engine.unblockZones();
      this.#engine.retryRefused();
      this.#moved();
    });
  }

  // a better transport

  #planProbe() {
    const { probeAt } = this.#ladder;
    if (probeAt === null || this.#probe) return;
    this.#deadlines.probe.set(probeAt - this.#environment.forward(), () => this.#startProbe());
  }

  #startProbe() {
    if (this.#engine.transport === null || this.#probe) return;
    if (this.#ladder.hasSocketAbove) this.#probe = this.#open("websocket", true);
    else this.#tryBetter();
  }

  /** Tries the same requests with one of them held, or held for longer. */
  #tryBetter() {
    this.#ladder.tryBetter(this.#environment.forward());
    this.#followLadder();
    this.#moved();
  }

  #takeProbe(event) {
    const now = this.#environment.forward();
    if (event.kind === "readyToGreet") {
      // Without the cursor: messages on the old transport may still move it.
      this.#probe.greet(null);
    } else if (event.kind === "reconnect") {
      this.#reconnectWithin = event.within;
    } else if (event.kind === "clock") {
      this.#clock.add(event.sample);
    } else if (event.kind === "online") {
      this.#becomeUplink();
      // The ladder may have moved further down meanwhile.
      this.#ladder.climb("websocket", now);
      this.#online(event.newest);
    } else if (event.kind === "failed") {
      this.#probe = null;
      if (event.refusal && advice(event.refusal) === "askPerson") {
        this.#fail(event.refusal);
        return;
      }
      this.#tryBetter();
    }
  }

  #becomeUplink() {
    this.#uplink.close();
    this.#engine.offline();
    this.#deadlines.poll.clear();
    this.#uplink = this.#probe;
    this.#uplink.isProbe = false;
    this.#probe = null;
  }

  #nextDelay(refusal = null, spread = 0) {
    return this.#backoff.next(this.#environment.random(), askedWait(refusal), spread);
  }

  get #relayTime() {
    const { wall, forward } = this.#environment;
    return this.#clock.reading({ wall: wall(), forward: forward() }).relayTime;
  }
}

/** Origin of the pages that prove that a transport works. A long-poll proves it by being held. */
const servingOrigins = { events: "stream", poll: "fetch" };
