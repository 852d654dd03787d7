import { equal } from "../../changes/json.js";
import { compareText } from "../../changes/utf8.js";
import { faultOfFields } from "../fields.js";
import { recordOf } from "./outbox.js";

/**
 * What an app brings to a replica: its rules, and what it does by itself when time passes. All of
 * it is pure.
 *
 * @typedef {{
 *   zone: string,
 *   resolvers: {[type: string]: Resolver},
 *   restamped?: (fields: object, moved: {type: string, base: object | null, from: number,
 *     to: number}) => object,
 *   timedTypes?: string[],
 *   dueEdit?: (record: import("../record.js").Record) =>
 *     {dueAt: number, owner: string, graceMilliseconds: number, fields: object} | null,
 *   boundedTypes?: string[],
 *   surplus?: (type: string, records: import("../record.js").Record[]) => string[],
 * }} App
 * @typedef {import("../../changes/resolver.js").Resolver} Resolver
 */

/**
 * Asks the apps' rules what becomes of a conflict. Where no app knows the record's type, the newer
 * version stands, and a change outlives a delete: such an edit was made by another version of the
 * page, which knew it.
 */
export class Merging {
  /** @param {App[]} apps */
  constructor(apps, device) {
    this.apps = apps;
    this.device = device;
  }

  /** `local` and what it was made on, against the relay's version. */
  resolve(local, server) {
    const type = typeOf(local, server);
    const resolver = this.#resolver(local.zone, type);
    if (!resolver) return this.#newer(local, server);
    // A base of tag 0 says that there was nothing.
    const hasBase = local.base && !(local.base.tag === 0 && local.base.deleted);
    const conflict = {
      type, base: hasBase ? version(local.base) : null,
      local: version(recordOf(local, this.device, 0)), server: version(server),
    };
    return local.timeMade
      ? resolveTimeMade(conflict, resolver, version(local.timeMade))
      : resolved(resolver, conflict);
  }

  /**
   * The same where the relay has lost `base`, and has by now what somebody saved who may not have
   * known it. Two steps: the lost version comes back first, by the rule for two that know nothing
   * of one another, and what came of that meets the change that was made on it.
   */
  resolveLost(local, base, server) {
    const back = { ...local, fields: base.fields, modifiedAt: base.modifiedAt, type: base.type,
      timeMade: null, base: null };
    const first = this.resolve(back, server);
    if (first.ask) return this.resolve({ ...local, base: null }, server);
    const met = { ...server, fields: first.merged, deleted: first.merged === null,
      modifiedAt: Math.max(base.modifiedAt, server.modifiedAt) };
    const second = this.resolve({ ...local, base }, met);
    if (second.ask) return second;
    // What the first step kept of the lost version is what the change was made of.
    const isServersKept = base.modifiedAt > server.modifiedAt;
    return {
      merged: second.merged, copies: [...(isServersKept ? first.copies : []), ...second.copies],
    };
  }

  /** The local change says the same as the relay's version, later, and by the app's rule the record
   * must tell of it. */
  isLaterSame(local, server) {
    return server.tag > 0 && local.modifiedAt > server.modifiedAt
      && equal(local.fields, server.fields)
      && (this.#resolver(local.zone, typeOf(local, server))?.takesNewestStamp ?? false);
  }

  /** What time will make of a record; null where it waits for nothing. */
  dueEdit(record) {
    if (!record || record.deleted) return null;
    for (const app of this.apps) {
      if (app.zone !== record.zone || !app.timedTypes?.includes(record.type)) continue;
      const due = app.dueEdit?.(record);
      if (due) return due;
    }
    return null;
  }

  /** The fields of an entry whose stamp moves to `to`. */
  restamped(entry, to) {
    if (!entry.fields) return null;
    const app = this.#app(entry.zone, entry.type);
    if (!app?.restamped) return entry.fields;
    const moved = app.restamped(entry.fields, {
      type: entry.type, base: entry.base?.fields ?? null, from: entry.modifiedAt, to,
    });
    return equal(moved, entry.fields) ? entry.fields : moved;
  }

  #app(zone, type) {
    return this.apps.find((app) => app.zone === zone && Object.hasOwn(app.resolvers, type));
  }

  #resolver(zone, type) { return this.#app(zone, type)?.resolvers[type]; }

  #newer(local, server) {
    const isLocal = (local.fields === null) !== server.deleted
      ? local.fields !== null
      : isNewer(local.modifiedAt, this.device, server.modifiedAt, server.device);
    return { merged: isLocal ? local.fields : server.fields, copies: [] };
  }
}

/**
 * What time made (a countdown that ended) other devices made too, and may have saved: then the
 * relay's version holds an edit that `base` lacks and that the local change was yet made on. So two
 * steps are taken, as if each had been saved by itself.
 */
function resolveTimeMade(conflict, resolver, made) {
  const first = resolved(resolver, { ...conflict, local: made });
  if (first.ask) return resolved(resolver, conflict);
  const server = { ...conflict.server, fields: first.merged, deleted: first.merged === null };
  return resolved(resolver, { ...conflict, base: made, server });
}

function resolved(resolver, conflict) {
  const answer = resolver.resolve(conflict);
  if (answer.ask) return { ask: true };
  const { merged, copies = [] } = answer;
  // A rule's mistake is told as such, before anything of it is held.
  for (const fields of [merged, ...copies.map((copy) => copy.fields)]) {
    const fault = fields === null ? null : faultOfFields(fields);
    if (fault) throw new TypeError(`the rule of ${conflict.type} gives no record: ${fault}`);
  }
  return { merged, copies };
}

const typeOf = (local, server) => (local.fields === null ? server.type : local.type);

function version({ name, fields, modifiedAt, device, deleted }) {
  return { name, fields, modifiedAt, device, deleted };
}

function isNewer(at, device, otherAt, otherDevice) {
  return at !== otherAt ? at > otherAt : compareText(device, otherDevice) > 0;
}
