import { serialize } from "../../json/jsonValue.js";
import { limits } from "../limits.js";
import { advice, readRefusal, refusalOfClose } from "../refusal.js";
import { readObject, WireError } from "../wireError.js";
import { Deadline } from "./environment.js";
import { call } from "./httpCall.js";
import { readAnswer, readPage, readTime } from "./messages.js";
import { RelayClock } from "./relayClock.js";

/**
 * One WebSocket to the relay, from connecting to its end. Handles messages, not their meaning for
 * the replica. Events: `readyToGreet`, `online`, `clock`, `saved`, `saveRefused`, `page`,
 * `fetchRefused`, `hint`, `reconnect`, and at last, once, `failed`.
 *
 * Stages: connecting → greeting → online → over. After a failed opening: connecting → probing →
 * over. Each stage may go to over.
 */
export class SocketUplink {
  #environment;
  #credentials;
  #emit;
  #socket = null;
  #stage = "connecting";
  #helloSent = null;
  #stageDeadline;
  #answerDeadline;
  #silenceDeadline;
  #keepAlive = limits.keepAliveMilliseconds;
  #unanswered = { save: null, fetch: null, time: null };
  #requestCount = 0;
  /** Last refusal that the relay reported in an `error` message: the reason of a close that
   * follows. */
  #reportedRefusal = null;

  /** @param {{relay: string, accountID: string, deviceID: string, token: string}} credentials */
  constructor(environment, credentials, emit) {
    this.#environment = environment;
    this.#credentials = credentials;
    this.#emit = emit;
    this.#stageDeadline = new Deadline(environment);
    this.#answerDeadline = new Deadline(environment);
    this.#silenceDeadline = new Deadline(environment);
  }

  connect() {
    const url = `${this.#credentials.relay.replace(/^http/u, "ws")}/v1/socket`;
    const late = "the WebSocket handshake was not answered in time";
    this.#stageDeadline.set(limits.connectMilliseconds, () => this.#handleFailedOpening(late));
    try {
      this.#socket = new this.#environment.WebSocket(url, ["lockstep.v1"]);
    } catch (error) {
      this.#handleFailedOpening(`no WebSocket could be made (${error.message})`);
      return;
    }
    this.#socket.onopen = () => this.#handleOpen();
    this.#socket.onmessage = ({ data }) => this.#handleData(data);
    this.#socket.onclose = ({ code, reason }) => this.#handleClose(code, reason);
    this.#socket.onerror = () => {};
  }

  /** Sends the first message, which carries the token. `since`: the device's position; the relay
   * then pushes what was missed. */
  greet(since) {
    if (this.#stage !== "greeting" || this.#helloSent !== null) return;
    this.#helloSent = this.#environment.monotonic();
    this.#send({ op: "hello", token: this.#credentials.token, ...(since ? { since } : {}) });
  }

  save(batch) {
    this.#unanswered.save = batch.id;
    this.#awaitAnswer();
    this.#send({ op: "save", ...batch });
  }

  fetch(since) {
    this.#unanswered.fetch = this.#makeRequestID();
    this.#awaitAnswer();
    this.#send({ op: "fetch", id: this.#unanswered.fetch, ...(since ? { since } : {}) });
  }

  measureTime() {
    if (this.#unanswered.time || this.#stage !== "online") return;
    const sent = this.#environment.monotonic();
    this.#unanswered.time = { id: this.#makeRequestID(), sent };
    this.#awaitAnswer();
    this.#send({ op: "time", id: this.#unanswered.time.id, t0: Math.round(sent) });
  }

  /** True if the socket still sends. A browser that closes the sockets of a page reports that only
   * when the relay's close frame has come. */
  get isOpen() { return this.#socket?.readyState === 1; }

  /** `token`: position up to which the device has the account's changes; null: none is known. The
   * close frame tells the relay, which then wakes the device for later changes alone. A token has
   * at most 71 characters; a browser takes 123 bytes. */
  close(token = null) {
    this.#closeSocket(1000, token ?? undefined);
  }

  // events of the browser

  #handleOpen() {
    if (this.#stage !== "connecting") return;
    this.#stage = "greeting";
    const late = "the relay did not answer the hello in time";
    this.#stageDeadline.set(limits.helloMilliseconds, () => this.#end("transport", late));
    this.#emit({ kind: "readyToGreet" });
  }

  #handleData(data) {
    if (this.#stage === "over") return;
    try {
      if (typeof data !== "string") throw new WireError("text was expected");
      if (data.length > limits.relayMessageBytes) throw new WireError("a message is too large");
      const message = readObject(data);
      if (this.#stage === "greeting") this.#handleWelcome(message);
      else this.#handleMessage(message);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#end(this.#stage === "online" ? "lost" : "transport",
        `the relay sent a malformed message: ${error.message}`);
      return;
    }
    if (this.#stage === "online") this.#restartSilenceDeadline();
  }

  #handleClose(code, reason) {
    if (this.#stage === "over") return;
    if (this.#stage === "connecting") {
      this.#handleFailedOpening("the WebSocket could not be opened");
      return;
    }
    let refusal = refusalOfClose(code, reason);
    if (refusal && this.#reportedRefusal?.code === refusal.code) refusal = this.#reportedRefusal;
    const text = `the relay closed the socket (${code} ${reason})`;
    if (refusal) {
      // A message that the relay cannot accept: the batch is the only large or unusual one.
      const batch = this.#unanswered.save;
      if (batch && (code === 1009 || code === 4400)) {
        this.#emit({ kind: "saveRefused", id: batch, refusal });
      }
      this.#end("refused", refusal.detail, refusal);
    } else if (code >= 4500 && code < 5000) {
      this.#end("barred", text);
    } else {
      this.#end(this.#stage === "online" || code === 1001 ? "lost" : "transport", text);
    }
  }

  /** Finds the cause of a failed opening by an HTTP request: a browser does not report if the relay
   * is unreachable or if an intermediary does not support WebSocket. */
  async #handleFailedOpening(reason) {
    if (this.#stage !== "connecting") return;
    this.#stage = "probing";
    this.#stageDeadline.clear();
    const url = `${this.#credentials.relay}/v1/time`;
    let [kind, cause] = ["transport", reason];
    try {
      await call(this.#environment, { url, milliseconds: limits.connectMilliseconds });
    } catch (error) {
      kind = "unreachable";
      if (error.isOriginRefused) cause = error.message;
    }
    if (this.#stage === "probing") this.#end(kind, cause);
  }

  // messages of the relay

  #handleWelcome(message) {
    if (message.op === "error") {
      const refusal = readRefusal(message);
      if (advice(refusal) === "fetchFirst") {
        this.#emit({ kind: "fetchRefused", refusal, origin: "push" });
      } else {
        this.#end("refused", refusal.detail, refusal);
      }
      return;
    }
    if (message.op !== "welcome") return;
    const { accountID, deviceID, time, keepAlive } = message;
    if (accountID !== this.#credentials.accountID || deviceID !== this.#credentials.deviceID) {
      const detail = "the relay knows this device under another id; pair it again";
      this.#end("refused", detail, { code: "badToken", detail });
      return;
    }
    if (!RelayClock.isPlausible(time)) throw new WireError("the time is out of range");
    this.#stage = "online";
    this.#stageDeadline.clear();
    const asked = Number.isFinite(keepAlive) ? keepAlive : limits.keepAliveMilliseconds;
    this.#keepAlive = Math.max(limits.keepAliveFloorMilliseconds,
      Math.min(asked, limits.keepAliveCeilingMilliseconds));
    const received = this.#environment.monotonic();
    this.#emit({ kind: "clock", sample: { sent: this.#helloSent, received, relayTime: time } });
    this.#emit({ kind: "online", newest: message.token ?? null });
  }

  #handleMessage(message) {
    switch (message.op) {
      case "saved": {
        const answer = readAnswer(message);
        if (this.#unanswered.save === message.id) this.#unanswered.save = null;
        this.#updateAnswerDeadline();
        this.#emit({ kind: "saved", id: message.id, answer });
        break;
      }
      case "changes": this.#handleChanges(message); break;
      case "changed":
        if (typeof message.token !== "string") throw new WireError("a hint has no token");
        this.#emit({ kind: "hint", token: message.token });
        break;
      case "time": this.#handleTime(message); break;
      case "reconnect":
        if (!Number.isSafeInteger(message.within) || message.within < 0) {
          throw new WireError("the reconnect period is not a number of milliseconds");
        }
        this.#emit({ kind: "reconnect", within: message.within });
        break;
      case "error": this.#handleError(message.id, readRefusal(message)); break;
      default: // A message of a later relay.
    }
  }

  #handleChanges(message) {
    const page = readPage(message);
    if (message.id === undefined) {
      this.#emit({ kind: "page", page, origin: "push" });
    } else if (message.id === this.#unanswered.fetch) {
      this.#unanswered.fetch = null;
      this.#updateAnswerDeadline();
      this.#emit({ kind: "page", page, origin: "fetch" });
    }
  }

  #handleTime({ id, t1, t2 }) {
    const asked = this.#unanswered.time;
    if (asked?.id !== id) return;
    const held = readTime(t2) - readTime(t1);
    this.#unanswered.time = null;
    this.#updateAnswerDeadline();
    this.#emit({ kind: "clock", sample: { sent: asked.sent, held,
      received: this.#environment.monotonic(), relayTime: t1 + Math.trunc(held / 2) } });
  }

  #handleError(request, refusal) {
    const { save, fetch, time } = this.#unanswered;
    if (request !== undefined && request === save) {
      this.#unanswered.save = null;
      this.#emit({ kind: "saveRefused", id: save, refusal });
    } else if (request !== undefined && request === fetch) {
      this.#unanswered.fetch = null;
      this.#emit({ kind: "fetchRefused", refusal, origin: "fetch" });
    } else if (request !== undefined && request === time?.id) {
      this.#unanswered.time = null;
    } else if (request === undefined && advice(refusal) === "fetchFirst") {
      this.#emit({ kind: "fetchRefused", refusal, origin: "push" });
    } else if (request === undefined) {
      // The close that follows reports the error.
      this.#reportedRefusal = refusal;
    }
    this.#updateAnswerDeadline();
  }

  // time

  /** Restarts the check for silence. A page receives no pings, so after a keep-alive interval
   * without a message the uplink requests the time. If nothing arrives within another interval, it
   * ends. */
  #restartSilenceDeadline() {
    this.#silenceDeadline.set(this.#keepAlive, () => {
      this.measureTime();
      const silent = "the relay sent no data in time";
      this.#silenceDeadline.set(this.#keepAlive, () => this.#end("lost", silent));
    });
  }

  #awaitAnswer() {
    const late = "the relay did not answer in time";
    this.#answerDeadline.set(limits.answerMilliseconds, () => this.#end("lost", late));
  }

  #updateAnswerDeadline() {
    if (Object.values(this.#unanswered).every((it) => it === null)) this.#answerDeadline.clear();
  }

  #makeRequestID() {
    this.#requestCount += 1;
    return `r${this.#requestCount}`;
  }

  #send(message) {
    // A socket that is closing sends nothing, and its close is reported.
    if (this.isOpen) this.#socket.send(serialize(message));
  }

  #end(why, reason, refusal = null) {
    if (this.#stage === "over") return;
    this.#closeSocket(1000);
    this.#emit({ kind: "failed", why, reason, refusal });
  }

  #closeSocket(code, reason) {
    if (this.#stage === "over") return;
    this.#stage = "over";
    for (const deadline of [this.#stageDeadline, this.#answerDeadline, this.#silenceDeadline]) {
      deadline.clear();
    }
    this.#socket?.close(code, reason);
  }
}
