import { parseMessage } from "../../../../Sources/WebClient/json/jsonParser.js";
import { SeededRandom } from "../../support/seededRandom.js";

/** An environment whose time and network a test controls. */
export class FakeEnvironment {
  sockets = [];
  requests = [];
  /** Returns the answer to a request, now or later: `(path, request) => {status, body, headers}`
   * (or its `text`), or an error. */
  answer = () => new TypeError("the network is gone");
  #time = 0;
  #timers = new Map();
  #number = 0;
  #random = new SeededRandom(5);
  wallOffset = 1_000_000_000_000;

  constructor() {
    const environment = this;
    this.WebSocket = class extends FakeSocket {
      constructor(url, protocols) {
        super(url, protocols);
        environment.sockets.push(this);
      }
    };
    this.fetch = (url, request) => this.#fetch(url, request);
    this.wall = () => this.#time + this.wallOffset;
    this.monotonic = () => this.#time;
    this.hasNetwork = () => true;
    this.random = () => 0;
    this.randomBytes = (count) => this.#random.bytes(count);
    this.uuid = () => this.#random.uuid();
    this.setTimer = (act, milliseconds) => {
      this.#timers.set(this.#number += 1, { at: this.#time + milliseconds, act });
      return this.#number;
    };
    this.clearTimer = (timer) => this.#timers.delete(timer);
  }

  /** Advances time, and runs everything that becomes due. */
  async advance(milliseconds) {
    const end = this.#time + milliseconds;
    await settled();
    for (;;) {
      const due = [...this.#timers].filter(([, { at }]) => at <= end)
        .sort(([a, one], [b, other]) => one.at - other.at || a - b)[0];
      if (!due) break;
      this.#timers.delete(due[0]);
      this.#time = Math.max(this.#time, due[1].at);
      due[1].act();
      await settled();
    }
    this.#time = end;
  }

  /** Suspends the page: deadlines in this period are late, and run when time is advanced. */
  suspend(milliseconds) { this.#time += milliseconds; }

  #fetch(url, request) {
    this.requests.push({ url, ...request });
    return new Promise((resolve, reject) => {
      request.signal?.addEventListener("abort", () =>
        reject(Object.assign(new Error("aborted"), { name: "AbortError" })));
      Promise.resolve(this.answer(new URL(url).pathname, { url, ...request })).then((answer) => {
        if (answer instanceof Error) reject(answer);
        else if (answer) {
          const { status = 200, body = {}, text = JSON.stringify(body), headers = {} } = answer;
          resolve(new Response(text, { status, headers }));
        }
        // Otherwise no answer ever comes.
      });
    });
  }
}

/** A browser's WebSocket whose peer is the test. */
class FakeSocket {
  readyState = 0;
  sent = [];
  /** The messages as they were written. */
  texts = [];
  /** The device's close frame, `{code, reason}`; null: it has not closed the socket. */
  closed = null;

  constructor(url, protocols) { Object.assign(this, { url, protocols }); }

  send(text) {
    this.texts.push(text);
    this.sent.push(parseMessage(text));
  }

  close(code, reason) {
    this.readyState = 3;
    this.closed = { code, reason };
  }

  // the test's side

  open() {
    this.readyState = 1;
    this.onopen({});
  }

  receive(message) { this.receiveText(JSON.stringify(message)); }

  receiveText(data) { this.onmessage({ data }); }

  end(code, reason = "") {
    this.readyState = 3;
    this.onclose({ code, reason });
  }

  /** Returns the last message of this kind that the device sent. */
  last(op) { return this.sent.findLast((message) => message.op === op); }
}

/** Resolves once all immediate consequences have happened. */
export async function settled() {
  for (let turns = 0; turns < 6; turns += 1) {
    await new Promise((resolve) => { setImmediate(resolve); });
  }
}
