import { serialize } from "../../changes/json.js";
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
 * Stages: connecting → greeting → online → over; each may go to over.
 */
export class SocketUplink {
  #environment;
  #home;
  #tell;
  #socket = null;
  #stage = "connecting";
  #helloSent = null;
  #stageDeadline;
  #answerDeadline;
  #beat;
  #keepAlive = limits.keepAliveMilliseconds;
  #unanswered = { save: null, fetch: null, time: null };
  #requests = 0;
  /** Last error that the relay reported, for the close that may follow. */
  #blame = null;

  /** @param {{relay: string, accountID: string, deviceID: string, token: string}} home */
  constructor(environment, home, tell) {
    this.#environment = environment;
    this.#home = home;
    this.#tell = tell;
    this.#stageDeadline = new Deadline(environment);
    this.#answerDeadline = new Deadline(environment);
    this.#beat = new Deadline(environment);
  }

  connect() {
    const url = `${this.#home.relay.replace(/^http/u, "ws")}/v1/socket`;
    const late = "the WebSocket's opening was not answered in time";
    this.#stageDeadline.set(limits.connectMilliseconds, () => this.#notOpened(late));
    try {
      this.#socket = new this.#environment.WebSocket(url, ["lockstep.v1"]);
    } catch (error) {
      this.#notOpened(`no WebSocket could be made (${error.message})`);
      return;
    }
    this.#socket.onopen = () => this.#opened();
    this.#socket.onmessage = ({ data }) => this.#received(data);
    this.#socket.onclose = ({ code, reason }) => this.#closed(code, reason);
    this.#socket.onerror = () => {};
  }

  /** Sends the first message, which carries the token. `since`: the device's position; the relay
   * then pushes what was missed. */
  greet(since) {
    if (this.#stage !== "greeting" || this.#helloSent !== null) return;
    this.#helloSent = this.#environment.forward();
    this.#send({ op: "hello", token: this.#home.token, ...(since ? { since } : {}) });
  }

  save(batch) {
    this.#unanswered.save = batch.id;
    this.#awaitAnswer();
    this.#send({ op: "save", ...batch });
  }

  fetch(since) {
    this.#unanswered.fetch = this.#takeRequest();
    this.#awaitAnswer();
    this.#send({ op: "fetch", id: this.#unanswered.fetch, ...(since ? { since } : {}) });
  }

  measureTime() {
    if (this.#unanswered.time || this.#stage !== "online") return;
    const sent = this.#environment.forward();
    this.#unanswered.time = { id: this.#takeRequest(), sent };
    this.#awaitAnswer();
    this.#send({ op: "time", id: this.#unanswered.time.id, t0: Math.round(sent) });
  }

  close() {
    this.#leave(1000);
  }

  // events of the browser

  #opened() {
    if (this.#stage !== "connecting") return;
    this.#stage = "greeting";
    const late = "the relay did not welcome the device in time";
    this.#stageDeadline.set(limits.helloMilliseconds, () => this.#end("rung", late));
    this.#tell({ kind: "readyToGreet" });
  }

  #received(data) {
    if (this.#stage === "over") return;
    try {
      if (typeof data !== "string") throw new WireError("text was expected");
      if (data.length > limits.relayMessageBytes) throw new WireError("a message is too large");
      const message = readObject(data);
      if (this.#stage === "greeting") this.#readWelcome(message);
      else this.#read(message);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#end(this.#stage === "online" ? "lost" : "rung",
        `the relay's words are malformed: ${error.message}`);
      return;
    }
    if (this.#stage === "online") this.#heard();
  }

  #closed(code, reason) {
    if (this.#stage === "over") return;
    if (this.#stage === "connecting") {
      this.#notOpened("the WebSocket could not be opened");
      return;
    }
    let refusal = refusalOfClose(code, reason);
    if (refusal && this.#blame?.code === refusal.code) refusal = this.#blame;
    const words = `the relay closed the socket (${code} ${reason})`;
    if (refusal) {
      // A message that the relay cannot accept: the batch is the only large or unusual one.
      const batch = this.#unanswered.save;
      if (batch && (code === 1009 || code === 4400)) {
        this.#tell({ kind: "saveRefused", id: batch, refusal });
      }
      this.#end("refused", refusal.detail, refusal);
    } else if (code >= 4500 && code < 5000) {
      this.#end("barred", words);
    } else {
      this.#end(this.#stage === "online" || code === 1001 ? "lost" : "rung", words);
    }
  }

  /** Finds the reason of a failed opening. A browser does not report if the relay was unreachable
   * or if an intermediary does not support WebSocket. */
  async #notOpened(reason) {
    if (this.#stage !== "connecting") return;
    this.#stage = "asking";
    this.#stageDeadline.clear();
    const url = `${this.#home.relay}/v1/time`;
    let kind = "rung";
    try {
      await call(this.#environment, { url, milliseconds: limits.connectMilliseconds });
    } catch {
      kind = "unreachable";
    }
    if (this.#stage === "asking") this.#end(kind, reason);
  }

  // messages of the relay

  #readWelcome(message) {
    if (message.op === "error") {
      const refusal = readRefusal(message);
      if (advice(refusal) === "fetchFirst") {
        this.#tell({ kind: "fetchRefused", refusal, origin: "push" });
      } else {
        this.#end("refused", refusal.detail, refusal);
      }
      return;
    }
    if (message.op !== "welcome") return;
    const { accountID, deviceID, time, keepAlive } = message;
    if (accountID !== this.#home.accountID || deviceID !== this.#home.deviceID) {
      const detail = "the relay takes this device for another one; pair it again";
      this.#end("refused", detail, { code: "badToken", detail });
      return;
    }
    if (!RelayClock.isPlausible(time)) throw new WireError("the time is out of range");
    this.#stage = "online";
    this.#stageDeadline.clear();
    const asked = Number.isFinite(keepAlive) ? keepAlive : limits.keepAliveMilliseconds;
    this.#keepAlive = Math.max(limits.keepAliveFloorMilliseconds,
      Math.min(asked, limits.keepAliveCeilingMilliseconds));
    const received = this.#environment.forward();
    this.#tell({ kind: "clock", sample: { sent: this.#helloSent, received, relayTime: time } });
    this.#tell({ kind: "online", newest: message.token ?? null });
  }

  #read(message) {
    switch (message.op) {
      case "saved": {
        const answer = readAnswer(message);
        if (this.#unanswered.save === message.id) this.#unanswered.save = null;
        this.#settleAnswers();
        this.#tell({ kind: "saved", id: message.id, answer });
        break;
      }
      case "changes": this.#readChanges(message); break;
      case "changed":
        if (typeof message.token !== "string") throw new WireError("a hint names no token");
        this.#tell({ kind: "hint", token: message.token });
        break;
      case "time": this.#readTime(message); break;
      case "reconnect":
        if (!Number.isSafeInteger(message.within) || message.within < 0) {
          throw new WireError("the time to come back is no number of milliseconds");
        }
        this.#tell({ kind: "reconnect", within: message.within });
        break;
      case "error": this.#readError(message.id, readRefusal(message)); break;
      default: // A message of a later relay.
    }
  }

  #readChanges(message) {
    const page = readPage(message);
    if (message.id === undefined) {
      this.#tell({ kind: "page", page, origin: "push" });
    } else if (message.id === this.#unanswered.fetch) {
      this.#unanswered.fetch = null;
      this.#settleAnswers();
      this.#tell({ kind: "page", page, origin: "fetch" });
    }
  }

  #readTime({ id, t1, t2 }) {
    const asked = this.#unanswered.time;
    if (asked?.id !== id) return;
    const held = readTime(t2) - readTime(t1);
    this.#unanswered.time = null;
    this.#settleAnswers();
    this.#tell({ kind: "clock", sample: { sent: asked.sent, held,
      received: this.#environment.forward(), relayTime: t1 + Math.trunc(held / 2) } });
  }

  #readError(request, refusal) {
    const { save, fetch, time } = this.#unanswered;
    if (request !== undefined && request === save) {
      this.#unanswered.save = null;
      this.#tell({ kind: "saveRefused", id: save, refusal });
    } else if (request !== undefined && request === fetch) {
      this.#unanswered.fetch = null;
      this.#tell({ kind: "fetchRefused", refusal, origin: "fetch" });
    } else if (request !== undefined && request === time?.id) {
      this.#unanswered.time = null;
    } else if (request === undefined && advice(refusal) === "fetchFirst") {
      this.#tell({ kind: "fetchRefused", refusal, origin: "push" });
    } else if (request === undefined) {
      // The close that follows reports the error.
      this.#blame = refusal;
    }
    this.#settleAnswers();
  }

  // time

  /** Watches for silence. A page sees no pings, so after a keep-alive interval without a message it
   * asks for the time. If nothing arrives within another interval, the uplink ends. */
  #heard() {
    this.#beat.set(this.#keepAlive, () => {
      this.measureTime();
      const silent = "nothing was heard of the relay";
      this.#beat.set(this.#keepAlive, () => this.#end("lost", silent));
    });
  }

  #awaitAnswer() {
    const late = "the relay did not answer in time";
    this.#answerDeadline.set(limits.answerMilliseconds, () => this.#end("lost", late));
  }

  #settleAnswers() {
    if (Object.values(this.#unanswered).every((it) => it === null)) this.#answerDeadline.clear();
  }

  #takeRequest() {
    this.#requests += 1;
    return `r${this.#requests}`;
  }

  #send(message) {
    // A socket that is closing sends nothing, and its close is reported.
    if (this.#socket?.readyState === 1) this.#socket.send(serialize(message));
  }

  #end(why, reason, refusal = null) {
    if (this.#stage === "over") return;
    this.#leave(1000);
    this.#tell({ kind: "failed", why, reason, refusal });
  }

  #leave(code) {
    if (this.#stage === "over") return;
    this.#stage = "over";
    for (const deadline of [this.#stageDeadline, this.#answerDeadline, this.#beat]) {
      deadline.clear();
    }
    this.#socket?.close(code);
  }
}
