import { limits } from "../limits.js";
import { WireError } from "../wireError.js";

/**
 * Reads server-sent events (the WHATWG's HTML, section 9.2) from text that arrives in parts. A
 * stream that is read by `fetch` has its token in a header; `EventSource` would need it in the URL.
 */
export class EventStreamReader {
  #rest = "";
  #event = "";
  #data = [];
  #bytes = 0;

  /** @returns {{event: string, data: string}[]} the events that this part completes */
  read(part) {
    // A carriage return at the end may be the first half of a line break.
    const text = this.#rest + part;
    const end = text.endsWith("\r") ? text.length - 1 : text.length;
    const lines = text.slice(0, end).split(/\r\n|\n|\r/u);
    this.#rest = lines.pop() + text.slice(end);
    const events = [];
    for (const line of lines) {
      if (line === "") this.#dispatch(events);
      else this.#readLine(line);
    }
    if (this.#bytes + this.#rest.length > limits.relayMessageBytes) {
      throw new WireError("an event is too large");
    }
    return events;
  }

  #readLine(line) {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /u, "");
    if (name === "event") this.#event = value;
    if (name === "data") {
      this.#data.push(value);
      this.#bytes += value.length;
    }
  }

  #dispatch(events) {
    if (this.#data.length > 0) {
      events.push({ event: this.#event || "message", data: this.#data.join("\n") });
    }
    this.#event = "";
    this.#data = [];
    this.#bytes = 0;
  }
}
