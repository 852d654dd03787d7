import { act, EditRefusal } from "../../../Sources/WebClient/apps/edit.js";
import { SeededRandom } from "./seededRandom.js";

/** A page on which one person uses an app, without other devices. */
export class TestPage {
  #random = new SeededRandom(1);

  constructor(app, device = "000000000000000a") {
    this.app = app;
    this.now = 1_772_366_400_000;
    this.state = { records: [], asking: [], device, deviceNames: {} };
  }

  /** Performs an action; a second passes. Returns the changes and the decisions. */
  act(action) {
    const random = (count) => this.#random.bytes(count);
    const { changes, decisions } = act(this.app, this.state, action, this.now, random);
    for (const { stamp, ...change } of changes) {
      this.#put({ ...change, modifiedAt: stamp, device: this.state.device });
    }
    this.now += 1_000;
    return { changes, decisions };
  }

  /** Returns the sentence with which an action is refused; undefined if it is accepted. */
  refusal(action) {
    const before = JSON.stringify(this.state);
    try {
      act(this.app, this.state, action, this.now, (count) => new Uint8Array(count));
      return undefined;
    } catch (error) {
      if (!(error instanceof EditRefusal)) throw error;
      if (JSON.stringify(this.state) !== before) throw new Error("a refused action left a trace");
      return error.message;
    }
  }

  /** Adds a record from another device. */
  addRemote(name, type, fields, modifiedAt, device = "000000000000000b") {
    this.#put({ zone: this.app.zone, name, type, fields, modifiedAt, device });
  }

  fields(name) { return this.record(name)?.fields; }

  record(name) { return this.state.records.find((it) => it.name === name); }

  #put(record) {
    const others = this.state.records.filter((it) => it.name !== record.name);
    this.state = { ...this.state, records: [...others, record] };
  }
}
