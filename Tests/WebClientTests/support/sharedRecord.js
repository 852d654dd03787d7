import { equal } from "../../../Sources/WebClient/json/jsonValue.js";

/**
 * A record, a relay and some devices, reduced to the parts that a resolver depends on: the relay's
 * total order of saves, and devices that keep unsaved changes on the server's newest version.
 */
export class SharedRecord {
  #resolver;
  #tag = 0;

  /** All devices begin with `first`. */
  constructor(first, resolver, devices) {
    this.#resolver = resolver;
    this.server = first;
    this.holders = Array.from({ length: devices }, () =>
      ({ base: first, baseTag: 0, local: first, isDirty: false }));
  }

  /** Makes a person's edit on one device only. */
  edit(device, version) {
    Object.assign(this.holders[device], { local: version, isDirty: true });
  }

  /** Fetches the server's version on a device, and rebases its unsaved change. */
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

  /** Saves a device's version, if it was made on the server's version. */
  save(device) {
    const holder = this.holders[device];
    if (!holder.isDirty || holder.baseTag !== this.#tag) return;
    this.server = holder.local;
    this.#tag += 1;
    Object.assign(holder, { base: holder.local, baseTag: this.#tag, isDirty: false });
  }
}

/** Returns all orders of some elements. */
export function permutations([first, ...rest]) {
  if (first === undefined) return [[]];
  return permutations(rest).flatMap((order) =>
    [...order, first].map((_, place) => [...order.slice(0, place), first, ...order.slice(place)]));
}
