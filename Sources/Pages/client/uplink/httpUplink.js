import { limits } from "../limits.js";
import { advice, readProblem, readRefusal } from "../refusal.js";
import { readObject, WireError } from "../wireError.js";
import { Deadline } from "./environment.js";
import { EventStreamReader } from "./eventStream.js";
import { call, CallError, open } from "./httpCall.js";
import { readAnswer, readPage, readTime } from "./messages.js";
import { RelayClock } from "./relayClock.js";

/**
 * The way to the relay by HTTP: calls that are answered at once, one at a time; one that may wait
 * (long-poll); and one that may hold a stream of events. Tells the same as `SocketUplink`.
 */
export class HTTPUplink {
  #environment;
  #home;
  #tell;
  #isOnline = false;
  #isOver = false;
  #isMeasuring = false;
  #calls = Promise.resolve();
  /** One a request that is under way. */
  #controllers = new Set();

  constructor(environment, home, tell) {
    this.#environment = environment;
    this.#home = home;
    this.#tell = tell;
  }

  /** Asks for the relay's time, which shows that it is there. */
  connect() { this.measureTime(); }

  greet() {}

  measureTime() {
    if (this.#isMeasuring) return;
    this.#isMeasuring = true;
    this.#ask(async () => {
      const sent = this.#environment.forward();
      const milliseconds = this.#isOnline ? limits.answerMilliseconds : limits.connectMilliseconds;
      const { status, text, retryAfter } = await this.#call("/v1/time", { milliseconds });
      this.#isMeasuring = false;
      if (status !== 200) {
        const refusal = readProblem(status, text, retryAfter);
        this.#fail("refused", refusal.detail, refusal);
        return;
      }
      const relayTime = readTime(readObject(text).time);
      if (!RelayClock.isPlausible(relayTime)) throw new WireError("the time is out of range");
      const received = this.#environment.forward();
      this.#tell({ kind: "clock", sample: { sent, received, relayTime } });
      if (!this.#isOnline) this.#tell({ kind: "online", newest: null });
      this.#isOnline = true;
    });
  }

  save({ id, zone, atomic, records }) {
    this.#ask(async () => {
      const { status, text, retryAfter } = await this.#call(
        `/v1/zones/${encodeURIComponent(zone)}/records`,
        { method: "POST", body: { id, atomic, records }, token: this.#home.token },
      );
      // An atomic batch that failed answers 409, with the results in it.
      const body = status === 200 || status === 409 ? readObject(text) : null;
      if (body?.results) this.#tell({ kind: "saved", id, answer: readAnswer(body) });
      else {
        this.#tell({ kind: "saveRefused", id, refusal: readProblem(status, text, retryAfter) });
      }
    });
  }

  fetch(since) {
    this.#ask(() => this.#fetch(since, "fetch", "", limits.answerMilliseconds));
  }

  /** A request that is held until there is something after `since`. */
  wait(since) {
    const seconds = limits.longPollSeconds;
    const milliseconds = seconds * 1_000 + limits.longPollMarginMilliseconds;
    this.#guard(() => this.#fetch(since, "longPoll", `wait=${seconds}`, milliseconds));
  }

  /** A stream of events that begins at `since`. */
  listen(since) {
    this.#guard(() => this.#controlled((controller) => this.#listen(since, controller)));
  }

  close() {
    this.#isOver = true;
    for (const controller of this.#controllers) controller.abort();
  }

  #ask(act) { this.#calls = this.#calls.then(() => this.#guard(act, true)); }

  /** Whatever goes wrong is told, once, as the end of this uplink. */
  async #guard(act, isCall = false) {
    if (this.#isOver) return;
    try {
      await act();
    } catch (error) {
      if (this.#isOver) return;
      if (error instanceof CallError) {
        const isNothing = error.kind === "unreachable" && isCall;
        this.#fail(isNothing ? "unreachable" : isCall && this.#isOnline ? "lost" : "rung",
          error.message);
      } else if (error instanceof WireError) {
        this.#fail("rung", `what answered is no relay: ${error.message}`);
      } else {
        throw error;
      }
    }
  }

  #call(path, request) {
    const milliseconds = limits.answerMilliseconds;
    return this.#controlled((controller) => call(this.#environment, {
      milliseconds, ...request, url: this.#home.relay + path, controller,
    }));
  }

  /** What ends with this uplink. */
  async #controlled(act) {
    const controller = new AbortController();
    this.#controllers.add(controller);
    try {
      return await act(controller);
    } finally {
      this.#controllers.delete(controller);
    }
  }

  async #fetch(since, origin, wait, milliseconds) {
    const query = [since ? `since=${encodeURIComponent(since)}` : "", wait].filter(Boolean);
    const path = `/v1/changes${query.length > 0 ? `?${query.join("&")}` : ""}`;
    const { status, text, retryAfter } = await this.#call(path,
      { token: this.#home.token, milliseconds });
    if (this.#isOver) return;
    if (status === 200) {
      this.#tell({ kind: "page", page: readPage(readObject(text)), origin });
    } else {
      const refusal = readProblem(status, text, retryAfter);
      this.#tell({ kind: "fetchRefused", refusal, origin });
    }
  }

  async #listen(since, controller) {
    const response = await open(this.#environment, {
      url: `${this.#home.relay}/v1/events?since=${encodeURIComponent(since)}`,
      token: this.#home.token, milliseconds: limits.answerMilliseconds, controller,
    });
    if (response.status !== 200) {
      const refusal = readProblem(response.status, await response.text(),
        response.headers.get("Retry-After"));
      this.#tell({ kind: "fetchRefused", refusal, origin: "stream" });
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

  /** Until the stream ends; why, where the uplink ends with it. */
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
          if (this.#readEvent(event)) return null;
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

  /** Whether it was the last one. */
  #readEvent({ event, data }) {
    if (event === "changes") {
      this.#tell({ kind: "page", page: readPage(readObject(data)), origin: "stream" });
    } else if (event === "changed") {
      this.#tell({ kind: "hint", token: String(readObject(data).token) });
    } else if (event === "error") {
      const refusal = readRefusal(readObject(data));
      // Where only the cursor is at fault, what is asked beside the stream goes on.
      if (advice(refusal) === "fetchFirst") {
        this.#tell({ kind: "fetchRefused", refusal, origin: "stream" });
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
    this.#tell({ kind: "failed", why, reason, refusal });
  }
}
