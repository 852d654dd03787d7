import { fieldsOf, itemOf } from "../client/live/item.js";
import { EditError } from "../client/replica/editing.js";
import { keyOf } from "../client/record.js";
import { Replica } from "../client/replica/replica.js";
import { shown } from "../model/stamps.js";

/** A device of a `World`. */
export class TestDevice {
  #world;
  #replica;
  #batches = 0;
  #ids = 0;
  isCut = false;

  /** Called by `World.device`. */
  constructor(world, name, apps) {
    this.name = name;
    this.#world = world;
    this.#replica = new Replica({ records: [], outbox: [], values: [] }, apps);
    this.#perform({ task: "load" });
    this.#perform({ task: "join", identity: { accountID: "account", deviceID: name } });
  }

  /** Writes the whole record. Returns its id. */
  save(zone, type, item, { id = item?.id ?? `${this.name}-${this.#ids += 1}` } = {}) {
    this.change(({ record }) =>
      [{ zone, name: id, type, fields: fieldsOf(item, record(zone, id)) }]);
    return id;
  }

  update(zone, id, make) {
    this.change(({ record, device, now }) => {
      const held = record(zone, id);
      if (!held) throw new EditError("nothingToUpdate", `there is no record ${id} in ${zone}`);
      const item = make(structuredClone(itemOf(held)), { device, now });
      return [{ zone, name: id, type: held.type, fields: fieldsOf(item, held) }];
    });
  }

  delete(zone, id) {
    this.change(({ record }) =>
      [{ zone, name: id, type: record(zone, id)?.type, fields: null }]);
  }

  /** Several edits at once, as in `Lockstep.change`. */
  change(make) {
    const { error, result } = this.#perform({ task: "change", make });
    if (error) throw error;
    return result;
  }

  /** Returns the items of a type, in the order of their ids. */
  records(zone, type) {
    return this.#replica.transaction.records(zone, type).map((it) => itemOf(shown(it)));
  }

  /** Returns an item; null if there is none. */
  record(zone, id) {
    const record = this.#replica.transaction.record(keyOf({ zone, name: id }));
    return record && !record.deleted ? itemOf(shown(record)) : null;
  }

  /** Conflicts that a person must decide: `{zone, name, local, server}`. */
  get asking() { return this.#replica.transaction.outbox.summary.asking; }

  decide(decision) {
    const { error } = this.#perform({ task: "decide", decision });
    if (error) throw error;
  }

  /** Exchanges changes with the relay once. Returns true if anything was sent. Called by
   * `World.settle`. */
  sync(relay) {
    const page = relay.changes(this.#replica.position.token ?? null);
    this.#perform({ task: "apply", arrivals: [{ kind: "page", page }] });
    const id = `${this.name} ${this.#batches += 1}`;
    const offer = { id, records: 400, bytes: 2 << 20, blockedZones: [] };
    const { batch } = this.#perform({ task: "freezeBatch", offer });
    if (!batch) return false;
    const answer = relay.save(this.name, batch);
    this.#perform({ task: "apply", arrivals: [{ kind: "answer", id, answer, isLink: true }] });
    return true;
  }

  #perform(job) {
    const now = this.#world.now;
    return this.#replica.perform({ ...job, clock: {
      wall: now, offset: 0, relayTime: now, isTrusted: true, isMeasured: true, wallSteps: 0 } });
  }
}
