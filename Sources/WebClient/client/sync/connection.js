import { limits } from "../limits.js";
import { advice, requestedDelay } from "../refusal.js";
import { movedTo } from "../relayAddress.js";
import { Backoff } from "../transport/backoff.js";
import { Deadline } from "../transport/environment.js";
import { sendLast } from "../transport/httpCall.js";
import { HTTPUplink } from "../transport/httpUplink.js";
import { TransportSelector } from "../transport/transportSelector.js";
import { SocketUplink } from "../transport/socketUplink.js";

const noNetwork = "this browser has no network";

/**
 * Connection to the relay: the choice of the transport, retries, and the handling of failures.
 * Performs the engine's network actions, and passes the relay's messages to the engine. Does not
 * use the store.
 */
export class Connection {
  /** Failure that a person must resolve: `{code, reason, isStore}`; null: none. */
  failure = null;
  /** Start (relay time) and reason of the period without sync, `{since, reason, code}`; null:
   * none. */
  outage = null;
  /** The last refusal with a wait. */
  pause = null;
  #environment;
  /** Address that the page names. */
  #relay;
  /** Address where the account lives, as far as is known. */
  #place = null;
  #engine;
  #clock;
  #onEvent;
  #onMoved;
  /** Addresses to which relays have sent the device since one last served it. */
  #moves = 0;
  #credentials = null;
  #uplink = null;
  /** A socket that is tried in parallel to a lesser transport. */
  #probe = null;
  #selector;
  #backoff = new Backoff();
  /** Period over which the relay's devices reconnect if all of them lose it, as last reported. */
  #reconnectWithin = 0;
  #samplesWanted = 0;
  /** The cut of a long-poll, until it is known if the relay is reachable. */
  #cutLongPoll = null;
  #deadlines;
  #isStopped = false;

  /** @param {{environment: object, relay: string, transports: string[], engine: object,
   *   clock: object, onEvent: () => void, onMoved?: (relay: string) => void}} options `onEvent`:
   *   called after every event. `onMoved`: stores the address where the account lives, and then
   *   calls `join` */
  constructor({ environment, relay, transports, engine, clock, onEvent, onMoved = () => {} }) {
    this.#environment = environment;
    this.#relay = relay;
    this.#engine = engine;
    this.#clock = clock;
    this.#onEvent = onEvent;
    this.#onMoved = onMoved;
    this.#selector = new TransportSelector(environment.WebSocket
      ? transports : transports.filter((transport) => transport !== "websocket"));
    const names = ["retry", "resume", "poll", "measure", "backlog", "planRetry", "probe"];
    this.#deadlines = Object.fromEntries(
      names.map((name) => [name, new Deadline(environment)]),
    );
  }

  /** True if connected or connecting; false while waiting for a retry or a person. */
  get isTrying() {
    return !this.failure && this.#uplink !== null && !this.#engine.isPaused;
  }

  /** `restarts`: whether to connect anew although the token is the same. */
  join(identity, { restarts = false } = {}) {
    const { accountID, deviceID, token } = identity;
    const isOtherToken = this.#credentials?.token !== token;
    this.#place = identity.relay ?? this.#relay;
    this.#credentials = { relay: this.#place, accountID, deviceID, token };
    if (!isOtherToken && this.#uplink && !restarts) return;
    // Relays that send the device in a circle are asked again after the backoff.
    if (this.#moves > limits.relayFollows && this.#deadlines.retry.isSet) return;
    this.#closeUplinks();
    this.#engine.offline();
    this.failure = null;
    this.#connect();
  }

  /** Retries at once, because a person asks for it or the store works again. */
  tryNow() {
    if (!this.failure?.isStore) this.failure = null;
    this.#deadlines.resume.clear();
    this.pause = null;
    this.#retryConnection();
  }

  /** Handles a page that is visible again, or a network that may have changed. */
  wake() {
    if (this.failure) return;
    if (this.#uplink && this.#engine.transport !== null) {
      // The answer to this request shows if the connection still works; it has a deadline.
      this.#uplink.measureTime();
      this.#engine.poll();
      if (this.pause?.isOwnDelay) this.#resume();
    } else {
      this.#selector.reset();
    }
    this.#retryConnection();
  }

  /** Handles a browser that reports no network. An open connection would otherwise count as such
   * until its next deadline. The connection is tried again as after any failure: a relay on the
   * same machine is reached without a network. */
  networkLost() {
    if (!this.#uplink || !this.#mayCall) return;
    this.#failed({ why: "network", reason: noNetwork });
  }

  /** Ends the connection of a page that a person leaves, and tells the relay what the device has.
   * If the browser shows the same page again, `wake` connects it. */
  leave() {
    const { position, transport } = this.#engine;
    // The close frame of a socket says it. Firefox closes all sockets before it tells the page, and
    // then a request has to. A socket that Firefox is closing counts as a transport until the relay
    // has answered its close frame.
    const isSaid = transport === "websocket" && this.#uplink?.isOpen;
    if (!isSaid && position.kind === "cursor" && this.#mayCall) {
      const { relay, token } = this.#credentials;
      const url = `${relay}/v1/changes?since=${encodeURIComponent(position.token)}&limit=1`;
      sendLast(this.#environment, { url, token });
    }
    this.#closeUplinks();
    this.#engine.offline();
  }

  get #mayCall() { return this.#credentials !== null && !this.failure && !this.#isStopped; }

  /** Retries the connection at once, or tries a better transport at once. */
  #retryConnection() {
    this.#selector.probeSoon(this.#environment.monotonic());
    if (this.#uplink && this.#engine.transport !== null) {
      this.#scheduleProbe();
      return;
    }
    // A try in progress may have begun before there was a network.
    this.#closeUplinks();
    this.#backoff.reset();
    this.#connect();
  }

  /** Resets the backoff after a successful request. */
  succeeded() { this.#backoff.reset(); }

  /** Handles a failure of the store. @returns {number} time until the store is used again,
   * milliseconds */
  storeFailed(reason) {
    this.#closeUplinks();
    this.#recordOutage(reason, "store");
    this.failure = { code: "store", reason, isStore: true };
    return Math.max(this.#nextDelay(), limits.storeRetryMilliseconds);
  }

  clearFailure() { this.failure = null; }

  stop() {
    this.#isStopped = true;
    this.#closeUplinks();
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
        if (this.#engine.transport === "poll") this.#schedulePoll();
        break;
      case "wait": this.#uplink?.wait(action.since, this.#selector.waitMilliseconds); break;
      case "listen": this.#uplink?.listen(action.since); break;
      case "measureClock":
        this.#clock.doubt();
        this.#uplink?.measureTime();
        break;
      case "pause": this.#pauseSync(action.refusal); break;
      case "fail": this.#fail(action.refusal); break;
      default: throw new TypeError(`unknown network action ${action.do}`);
    }
  }

  // the uplink

  #connect() {
    if (this.#uplink || !this.#mayCall) return;
    this.#deadlines.retry.clear();
    this.#uplink = this.#open(this.#selector.transport);
  }

  #open(transport, isProbe = false) {
    const Uplink = transport === "websocket" ? SocketUplink : HTTPUplink;
    let isOpen = true;
    const uplink = new Uplink(this.#environment, this.#credentials, (event) => {
      // Events of an uplink that was dropped are ignored.
      if (!isOpen || this.#isStopped) return;
      if (event.kind === "failed") isOpen = false;
      if (handle.isProbe) this.#handleProbeEvent(event);
      else this.#handleEvent(event);
      this.#onEvent();
    });
    const handle = {
      isProbe,
      get isOpen() { return uplink.isOpen; },
      greet: (since) => uplink.greet(since), save: (batch) => uplink.save(batch),
      fetch: (since) => uplink.fetch(since), wait: (...how) => uplink.wait(...how),
      listen: (since) => uplink.listen(since), measureTime: () => uplink.measureTime(),
      close: (token) => {
        isOpen = false;
        uplink.close(token);
      },
    };
    uplink.connect();
    return handle;
  }

  #handleEvent(event) {
    const engine = this.#engine;
    switch (event.kind) {
      case "readyToGreet": this.#uplink.greet(engine.greet()); break;
      case "online": this.#online(event.newest); break;
      case "clock":
        this.#clock.add(event.sample);
        this.#samplesWanted -= 1;
        if (this.#samplesWanted > 0) this.#uplink.measureTime();
        break;
      case "saved":
        this.#moves = 0;
        engine.saved(event.id, event.answer);
        break;
      case "saveRefused":
        engine.saveRefused(event.id, event.refusal);
        this.#followIfMoved(event.refusal);
        if (["planRequired", "outOfScope"].includes(event.refusal.code)
          || event.refusal.isTooLarge) {
          this.#schedulePlanRetry();
        }
        break;
      case "longPollServed":
        this.#selector.transportServed(this.#environment.monotonic());
        this.#scheduleProbe();
        break;
      case "longPollCut":
        this.#cutLongPoll = event;
        engine.longPollCut();
        break;
      case "page":
        this.#moves = 0;
        if (event.origin === servingOrigins[engine.transport]) {
          this.#selector.transportServed(this.#environment.monotonic());
        }
        if (event.origin === "fetch") this.#handleLongPollCut();
        engine.page(event.page, event.origin);
        break;
      case "fetchRefused":
        engine.fetchRefused(event.refusal, event.origin);
        this.#followIfMoved(event.refusal);
        break;
      case "hint": engine.hint(event.token); break;
      case "reconnect": this.#reconnectWithin = event.within; break;
      case "failed": this.#failed(event); break;
      default: throw new TypeError(`unknown event of an uplink: ${event.kind}`);
    }
  }

  #online(newest) {
    this.outage = null;
    this.pause = null;
    const { transport } = this.#selector;
    // A relay with many devices sends another value right after this.
    if (transport === "websocket") [this.#reconnectWithin, this.#moves] = [0, 0];
    this.#engine.online(transport, newest);
    if (transport === "websocket") {
      this.#selector.transportServed(this.#environment.monotonic());
      // On a socket, several measurements to choose from cost almost nothing.
      this.#samplesWanted = limits.clockSamples;
      this.#uplink.measureTime();
      this.#deadlines.backlog.set(limits.answerMilliseconds, () => {
        if (this.#engine.awaitsBacklog) this.#engine.fetchNow();
        this.#onEvent();
      });
    }
    this.#scheduleMeasurement();
    this.#scheduleProbe();
  }

  /** Reports the cut to the selector: the relay is reachable, so the long-poll itself failed. */
  #handleLongPollCut() {
    if (this.#cutLongPoll === null) return;
    this.#selector.longPollCut(this.#cutLongPoll.heldMilliseconds, this.#environment.monotonic());
    this.#cutLongPoll = null;
    this.#applyTransport();
  }

  /** Applies the selector's choice. The uplink stays if both transports use HTTP. */
  #applyTransport() {
    const { transport } = this.#selector;
    if (this.#engine.transport !== null && this.#engine.transport !== transport) {
      this.#engine.changeTransport(transport);
      if (transport === "poll") this.#schedulePoll();
      else this.#deadlines.poll.clear();
    }
    this.#scheduleProbe();
  }

  #followIfMoved(refusal) {
    if (refusal.code === "accountMoved") this.#follow(refusal);
  }

  /** Goes to the relay that a refusal names, once its address is stored. */
  #follow(refusal) {
    const former = this.#credentials.relay;
    const relay = movedTo(former, refusal);
    this.#closeUplinks();
    if (relay === null) {
      this.#recordOutage(`the relay at ${former} says that the account has moved, and names no `
        + "address that is followed; ask its owner", "movedNowhere");
      this.#retryLater(refusal);
      return;
    }
    this.#moves += 1;
    const isCircle = this.#moves > limits.relayFollows;
    this.#recordOutage(isCircle
      ? `the relays at ${former} and ${relay} each send this device to another address; ask their `
        + "owners where the account is"
      : `the account lives at ${relay} now`, isCircle ? "movedInCircle" : "accountMoved");
    if (isCircle) this.#retryLater();
    else this.#selector.reset();
    // Another relay has another clock.
    this.#clock.doubt();
    this.#onMoved(relay);
  }

  /** True while the relay that the page names is asked although the account lives at another one:
   * the page may not use that one, or it is gone. Only `accountMoved` and service count then. The
   * relay may not know the device any more. */
  get #isElsewhere() { return this.#credentials.relay !== this.#place; }

  /** Goes from one of the two relays to the other. Returns false if there is no other one, or none
   * with TLS. */
  #askOther() {
    const { relay } = this.#credentials;
    const other = this.#isElsewhere ? this.#place : this.#relay;
    if (other === relay) return false;
    if (!this.#isElsewhere && relay.startsWith("https:") && other.startsWith("http:")) return false;
    this.#credentials = { ...this.#credentials, relay: other };
    this.#moves = 0;
    return true;
  }

  #recordMoved(reason) {
    this.#recordOutage(`the account lives at ${this.#place} now, which this page cannot reach`
      + (reason === null ? "" : ` (${reason})`), "accountMoved");
  }

  #failed({ why, reason, refusal }) {
    this.#closeUplinks();
    if (refusal?.code === "accountMoved") {
      this.#follow(refusal);
      return;
    }
    const isOfNetwork = why === "unreachable" && !this.#environment.hasNetwork();
    const wasElsewhere = this.#isElsewhere;
    if ((wasElsewhere || why === "unreachable") && !isOfNetwork && this.#askOther()) {
      this.#recordMoved(wasElsewhere ? null : reason);
    } else {
      this.#recordOutage(isOfNetwork ? noNetwork : reason, refusal?.code ?? why);
    }
    if (why === "transport") this.#selector.transportFailed(this.#environment.monotonic());
    if (why === "barred" && !wasElsewhere) {
      this.failure = { code: "barred", reason: `${reason}, for a reason that is not known here` };
      return;
    }
    if (refusal && advice(refusal) === "askPerson" && !wasElsewhere) {
      this.#fail(refusal);
      return;
    }
    // A failed transport is a fault of the path, which other devices may not have met.
    this.#retryLater(refusal, why === "transport" ? 0 : this.#reconnectWithin);
  }

  #retryLater(refusal = null, spread = 0) {
    this.#deadlines.retry.set(this.#nextDelay(refusal, spread), () => {
      this.#connect();
      this.#onEvent();
    });
  }

  #fail({ code, detail }) {
    this.#closeUplinks();
    if (this.#isElsewhere && this.#askOther()) {
      this.#recordMoved(null);
      this.#retryLater();
      return;
    }
    this.#recordOutage(detail, code);
    this.failure = { code, reason: detail };
  }

  #pauseSync(refusal) {
    // A wait that the relay requests does not end when the network changes.
    const isOwnDelay = requestedDelay(refusal) === 0;
    this.pause = { since: this.#relayTime, reason: refusal.detail, code: refusal.code,
      isOwnDelay };
    this.#deadlines.resume.set(this.#nextDelay(refusal), () => {
      this.#resume();
      this.#onEvent();
    });
  }

  #resume() {
    this.#deadlines.resume.clear();
    this.pause = null;
    this.#engine.resume();
  }

  #recordOutage(reason, code) {
    this.#engine.offline();
    this.#cutLongPoll = null;
    this.outage = { since: this.outage?.since ?? this.#relayTime, reason, code };
  }

  #closeUplinks() {
    const { kind, token } = this.#engine.position;
    this.#uplink?.close(kind === "cursor" ? token : null);
    this.#probe?.close();
    this.#uplink = null;
    this.#probe = null;
    for (const name of ["retry", "resume", "poll", "measure", "backlog", "probe"]) {
      this.#deadlines[name].clear();
    }
  }

  // deadlines

  #schedulePoll() {
    this.#deadlines.poll.set(limits.pollMilliseconds, () => {
      this.#engine.poll();
      this.#onEvent();
    });
  }

  #scheduleMeasurement() {
    this.#deadlines.measure.set(limits.clockMeasureMilliseconds, () => {
      this.#uplink?.measureTime();
      this.#scheduleMeasurement();
    });
  }

  #schedulePlanRetry() {
    this.#deadlines.planRetry.set(limits.planRetryMilliseconds, () => {
      this.#engine.unblockZones();
      this.#engine.retryRefused();
      this.#onEvent();
    });
  }

  // a better transport

  #scheduleProbe() {
    const { probeAt } = this.#selector;
    if (probeAt === null || this.#probe) return;
    this.#deadlines.probe.set(probeAt - this.#environment.monotonic(), () => this.#startProbe());
  }

  #startProbe() {
    if (this.#engine.transport === null || this.#probe) return;
    if (this.#selector.canUpgradeToSocket) this.#probe = this.#open("websocket", true);
    else this.#tryBetter();
  }

  /** Tries a better HTTP transport, or a longer hold time. */
  #tryBetter() {
    this.#selector.tryBetter(this.#environment.monotonic());
    this.#applyTransport();
    this.#onEvent();
  }

  #handleProbeEvent(event) {
    const now = this.#environment.monotonic();
    if (event.kind === "readyToGreet") {
      // Without the cursor: messages on the old transport may still move it.
      this.#probe.greet(null);
    } else if (event.kind === "reconnect") {
      this.#reconnectWithin = event.within;
    } else if (event.kind === "clock") {
      this.#clock.add(event.sample);
    } else if (event.kind === "online") {
      this.#promoteProbe();
      // The selector may have chosen a worse transport meanwhile.
      this.#selector.upgrade("websocket", now);
      this.#online(event.newest);
    } else if (event.kind === "failed") {
      this.#probe = null;
      if (event.refusal && advice(event.refusal) === "askPerson") {
        this.#fail(event.refusal);
        return;
      }
      if (event.refusal?.code === "accountMoved") {
        this.#follow(event.refusal);
        return;
      }
      this.#tryBetter();
    }
  }

  #promoteProbe() {
    this.#uplink.close();
    this.#engine.offline();
    this.#deadlines.poll.clear();
    this.#uplink = this.#probe;
    this.#uplink.isProbe = false;
    this.#probe = null;
  }

  #nextDelay(refusal = null, spread = 0) {
    return this.#backoff.next(this.#environment.random(), requestedDelay(refusal), spread);
  }

  get #relayTime() {
    const { wall, monotonic } = this.#environment;
    return this.#clock.reading({ wall: wall(), monotonic: monotonic() }).relayTime;
  }
}

/** Origin of the pages that prove that a transport works. A long-poll proves it by being held. */
const servingOrigins = { events: "stream", poll: "fetch" };
