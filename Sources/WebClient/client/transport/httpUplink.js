import { limits } from "../limits.js";
import { advice, interceptedBy, readProblem, readRefusal } from "../refusal.js";
import { readObject, WireError } from "../wireError.js";
import { Deadline } from "./environment.js";
import { EventStreamReader } from "./eventStream.js";
import { answerOf, call, CallError, open } from "./httpCall.js";
import { readAnswer, readPage, readTime } from "./messages.js";
import { RelayClock } from "./relayClock.js";

/**
 * Uplink to the relay by HTTP: calls that are answered at once, one at a time; a long-poll, which
 * may wait; and a stream of events. Sends the same events as `SocketUplink`.
 */
export class HTTPUplink {
  #environment;
  #credentials;
  #emit;
  #isOnline = false;
  #isOver = false;
  #isMeasuring = false;
  #calls = Promise.resolve();
  /** One for each running request. */
  #controllers = new Set();

  constructor(environment, credentials, emit) {
    this.#environment = environment;
    this.#credentials = credentials;
    this.#emit = emit;
  }

  /** Requests the relay's time, which shows that the relay is reachable. */
  connect() { this.measureTime(); }

  greet() {}

  measureTime() {
    if (this.#isMeasuring) return;
    this.#isMeasuring = true;
    this.#enqueue(async () => {
      const sent = this.#environment.monotonic();
      const milliseconds = this.#isOnline ? limits.answerMilliseconds : limits.connectMilliseconds;
      const answer = await this.#call("/v1/time", { milliseconds });
      this.#isMeasuring = false;
      const refusal = readProblem(answer);
      if (refusal) {
        this.#fail("refused", refusal.detail, refusal);
        return;
      }
      const relayTime = readAs(answer, ({ time }) => readTime(time));
      if (relayTime === null || !RelayClock.isPlausible(relayTime)) {
        // Another HTTP transport would fail too.
        this.#fail(this.#isOnline ? "lost" : "unreachable", interceptedBy(answer).detail);
        return;
      }
      const received = this.#environment.monotonic();
      this.#emit({ kind: "clock", sample: { sent, received, relayTime } });
      this.#emit({ kind: "reconnect", within: answer.reconnectWithin });
      if (!this.#isOnline) this.#emit({ kind: "online", newest: null });
      this.#isOnline = true;
    });
  }

  save({ id, zone, atomic, records }) {
    this.#enqueue(async () => {
      const answer = await this.#call(
        `/v1/zones/${encodeURIComponent(zone)}/records`,
        { method: "POST", body: { id, atomic, records }, token: this.#credentials.token },
      );
      const refusal = readProblem(answer);
      // An atomic batch that failed is answered with 409, with the results in the body.
      const results = refusal ? null : readAs(answer, readAnswer, 409);
      if (results) this.#emit({ kind: "saved", id, answer: results });
      else {
        this.#emit({ kind: "saveRefused", id, refusal: refusal ?? interceptedBy(answer) });
      }
    });
  }

  fetch(since) {
    this.#enqueue(() => this.#fetch(since));
  }

  /** Sends a request that is held until there is something after `since`. */
  wait(since, heldMilliseconds) {
    // The protocol uses whole seconds.
    const seconds = Math.max(1, Math.floor(heldMilliseconds / 1_000));
    this.#guard(() => this.#wait(since, seconds));
  }

  /** Opens a stream of events that begins at `since`. */
  listen(since) {
    this.#guard(() => this.#controlled((controller) => this.#listen(since, controller)));
  }

  close() {
    this.#isOver = true;
    for (const controller of this.#controllers) controller.abort();
  }

  #enqueue(act) { this.#calls = this.#calls.then(() => this.#guard(act, true)); }

  /** Runs `act`; reports a failure, once, as the end of this uplink. */
  async #guard(act, isCall = false) {
    if (this.#isOver) return;
    try {
      await act();
    } catch (error) {
      if (this.#isOver) return;
      if (error instanceof CallError) {
        // All HTTP transports use these calls, so another HTTP transport would fail too.
        const isUnreachable = isCall && (error.kind === "unreachable" || !this.#isOnline);
        this.#fail(isUnreachable ? "unreachable" : isCall ? "lost" : "transport", error.message);
      } else if (error instanceof WireError) {
        this.#fail("transport", `the answer is not from a relay: ${error.message}`);
      } else {
        throw error;
      }
    }
  }

  #call(path, request) {
    const milliseconds = limits.answerMilliseconds;
    return this.#controlled((controller) => call(this.#environment, {
      milliseconds, ...request, url: this.#credentials.relay + path, controller,
    }));
  }

  /** Runs `act` with a controller that aborts it at the end of this uplink. */
  async #controlled(act) {
    const controller = new AbortController();
    this.#controllers.add(controller);
    try {
      return await act(controller);
    } finally {
      this.#controllers.delete(controller);
    }
  }

  async #fetch(since) {
    const query = since ? `?since=${encodeURIComponent(since)}` : "";
    const answer = await this.#call(`/v1/changes${query}`, { token: this.#credentials.token });
    if (this.#isOver) return;
    const refusal = readProblem(answer);
    const page = refusal ? null : readAs(answer, readPage);
    if (page) this.#emit({ kind: "page", page, origin: "fetch" });
    else {
      this.#emit({ kind: "fetchRefused", refusal: refusal ?? interceptedBy(answer),
        origin: "fetch" });
    }
  }

  async #wait(since, seconds) {
    const begun = this.#environment.monotonic();
    const path = `/v1/changes?since=${encodeURIComponent(since)}&wait=${seconds}`;
    const milliseconds = seconds * 1_000 + limits.longPollMarginMilliseconds;
    let answer = null;
    try {
      answer = await this.#call(path, { token: this.#credentials.token, milliseconds });
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
    }
    if (this.#isOver) return;
    const held = this.#environment.monotonic() - begun;
    const refusal = answer && readProblem(answer);
    const page = answer && !refusal ? readAs(answer, readPage) : null;
    if (refusal) {
      this.#emit({ kind: "fetchRefused", refusal, origin: "longPoll" });
    } else if (page) {
      if (2 * held >= seconds * 1_000) this.#emit({ kind: "longPollServed" });
      this.#emit({ kind: "reconnect", within: answer.reconnectWithin });
      this.#emit({ kind: "page", page, origin: "longPoll" });
    } else {
      // The answer may be an intermediary's. The next request shows if the relay is reachable.
      const isSilent = answer === null && held >= seconds * 1_000;
      this.#emit({ kind: "longPollCut", heldMilliseconds: isSilent ? null : held });
    }
  }

  async #listen(since, controller) {
    const response = await open(this.#environment, {
      url: `${this.#credentials.relay}/v1/events?since=${encodeURIComponent(since)}`,
      token: this.#credentials.token, milliseconds: limits.answerMilliseconds, controller,
    });
    if (response.status !== 200) {
      const answer = answerOf(response, await response.text());
      const refusal = readProblem(answer);
      if (refusal) this.#emit({ kind: "fetchRefused", refusal, origin: "stream" });
      else this.#fail("transport", interceptedBy(answer).detail);
      return;
    }
    const keepAlive = Number(response.headers.get("Lockstep-Keep-Alive") ?? Number.NaN);
    const silence = Number.isFinite(keepAlive)
      ? 2 * Math.min(Math.max(keepAlive, limits.keepAliveFloorMilliseconds),
        limits.keepAliveCeilingMilliseconds)
      : limits.streamSilenceMilliseconds;
    const reason = await this.#readStream(response.body.getReader(), controller, silence);
    if (reason !== null && !this.#isOver) this.#fail("lost", reason);
  }

  /** Reads until the stream ends; returns the reason if the uplink ends with it. */
  async #readStream(reader, controller, silence) {
    const events = new EventStreamReader();
    const decoder = new TextDecoder();
    const deadline = new Deadline(this.#environment);
    try {
      for (;;) {
        deadline.set(silence, () => controller.abort());
        const { done, value } = await reader.read();
        if (done || this.#isOver) return "the stream of events ended";
        for (const event of events.read(decoder.decode(value, { stream: true }))) {
          if (this.#handleEvent(event)) return null;
        }
      }
    } catch (error) {
      if (error instanceof TypeError || error.name === "AbortError") {
        return "the stream of events broke off";
      }
      throw error;
    } finally {
      deadline.clear();
      controller.abort();
    }
  }

  /** Returns true after the last event. */
  #handleEvent({ event, data }) {
    if (event === "changes") {
      this.#emit({ kind: "page", page: readPage(readObject(data)), origin: "stream" });
    } else if (event === "changed") {
      this.#emit({ kind: "hint", token: String(readObject(data).token) });
    } else if (event === "error") {
      const refusal = readRefusal(readObject(data));
      // If only the cursor is at fault, the other requests continue.
      if (advice(refusal) === "fetchFirst") {
        this.#emit({ kind: "fetchRefused", refusal, origin: "stream" });
      } else {
        this.#fail("refused", refusal.detail, refusal);
      }
      return true;
    }
    return this.#isOver;
  }

  #fail(why, reason, refusal = null) {
    if (this.#isOver) return;
    this.close();
    this.#emit({ kind: "failed", why, reason, refusal });
  }
}

/** Returns the relay's answer; null if an intermediary has answered. */
function readAs({ status, text }, read, other = 200) {
  if (status !== 200 && status !== other) return null;
  try {
    return read(readObject(text));
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return null;
  }
}
