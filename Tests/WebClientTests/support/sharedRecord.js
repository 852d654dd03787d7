import { equal } from "../../../Sources/WebClient/changes/json.js";

/**
 * A record, a relay and some devices, reduced to what a resolver lives in: the relay's total order
 * of saves, and devices that keep what they have not saved yet on the server's newest version.
 */
export class SharedRecord {
  #resolver;
  #tag = 0;

  /** All devices are in step with `first` at the beginning. */
  constructor(first, resolver, devices) {
    this.#resolver = resolver;
    this.server = first;
    this.holders = Array.from({ length: devices }, () =>
      ({ base: first, baseTag: 0, local: first, isDirty: false }));
  }

  /** A person acts on a device; nobody else is told. */
  edit(device, version) {
    Object.assign(this.holders[device], { local: version, isDirty: true });
  }

  /** The device learns what the server has, and rebases what it has not saved. */
  fetch(device) {
    const holder = this.holders[device];
    const { server } = this;
    if (holder.baseTag === this.#tag) return;
    if (holder.isDirty) {
      const { base, local } = holder;
      const fields = this.#resolver.resolve({ base, local, server }).merged;
      const modifiedAt = Math.max(local.modifiedAt, server.modifiedAt);
      holder.local = { ...local, fields, modifiedAt };
      holder.isDirty = !equal(fields, server.fields);
    } else {
      holder.local = server;
    }
    Object.assign(holder, { base: server, baseTag: this.#tag });
  }

  /** The device saves, if what it has was made on what the server has. */
  save(device) {
    const holder = this.holders[device];
    if (!holder.isDirty || holder.baseTag !== this.#tag) return;
    this.server = holder.local;
    this.#tag += 1;
    Object.assign(holder, { base: holder.local, baseTag: this.#tag, isDirty: false });
  }
}

/** All orders of some elements. */
export function permutations([first, ...rest]) {
  if (first === undefined) return [[]];
  return permutations(rest).flatMap((order) =>
    [...order, first].map((_, place) => [...order.slice(0, place), first, ...order.slice(place)]));
}
