import { equal } from "../../json/jsonValue.js";
import { compareText } from "../../json/utf8.js";
import { knowsType, resolverOf, rulesOf } from "../../model/app.js";
import { keysZone } from "../../sealing/keyRing.js";
import { faultOfFields } from "../fields.js";
import { limits } from "../limits.js";
import { faultOfOwnZone } from "../ownZones.js";
import { isSameVersion } from "../record.js";
import { recordOf } from "./outbox.js";

/**
 * Interface of an app to a replica: its conflict rules, as code or as tables (see `model/app.js`),
 * and its edits that depend on time. All of them are pure functions. The replica keeps the stamps
 * of the fields of the types in `rules`. `isOwn`: one of Lockstep's own apps (`ownZones.js`).
 *
 * @typedef {{
 *   zone: string,
 *   isOwn?: boolean,
 *   resolvers?: {[type: string]: Resolver},
 *   rules?: {[type: string]: import("../../model/mergeRules.js").MergeRules},
 *   restamped?: (fields: object, moved: {type: string, base: object | null, from: number,
 *     to: number}) => object,
 *   timedTypes?: string[],
 *   dueEdit?: (record: import("../record.js").Record) =>
 *     {dueAt: number, owner: string, graceMilliseconds: number, fields: object,
 *       addition?: {name: string, type: string, field: string, member: [string, any]}} | null,
 *   boundedTypes?: string[],
 *   surplus?: (type: string, records: import("../record.js").Record[]) => string[],
 * }} App
 * @typedef {import("../../model/resolver.js").Resolver} Resolver
 */

/**
 * Resolves conflicts by the apps' rules. If no app knows the record's type, the newer version wins,
 * and a change wins over a delete: such an edit was made by another version of the page, which knew
 * the type.
 */
export class Merging {
  /** @param {App[]} apps */
  constructor(apps, device) {
    this.apps = apps;
    this.device = device;
  }

  /** Resolves `local`, with its base, against the relay's version. */
  resolve(local, server) {
    const type = typeOf(local, server);
    // A device that has not read the newest keys must not put back former ones.
    if (local.zone === keysZone && !server.deleted) return { merged: server.fields, copies: [] };
    const resolver = this.#resolver(local.zone, type);
    if (!resolver) return this.#newer(local, server);
    // A base of tag 0 means that there was no record.
    const hasBase = local.base && !(local.base.tag === 0 && local.base.deleted);
    const conflict = {
      type, base: hasBase ? version(local.base) : null,
      local: version(recordOf(local, this.device, 0)), server: version(server),
    };
    const answer = local.timeMade
      ? resolveTimeMade(conflict, resolver, version(local.timeMade))
      : resolved(resolver, conflict);
    return this.#outliving(answer, conflict, this.#rules(local.zone, type));
  }

  /** A change that outlives a delete keeps its own stamps: its record then has the later time. */
  #outliving(answer, conflict, rules) {
    const { local, server } = conflict;
    const outlives = rules && !answer.ask && server.fields === null && local.fields !== null
      && answer.merged !== null && equal(answer.merged, local.fields);
    return outlives ? { ...answer, merged: rules.explicit(local) } : answer;
  }

  /**
   * Resolves a conflict if the relay has lost `base`, on which the local change was made, and now
   * has a version whose author may not have known it. Takes two steps: first the lost version is
   * merged with the relay's, by the rule for two independent versions; then the change is merged
   * with the result.
   */
  resolveLost(local, base, server) {
    const back = { ...local, fields: base.fields, modifiedAt: base.modifiedAt, type: base.type,
      timeMade: null, base: null };
    const first = this.resolve(back, server);
    if (first.ask) return this.resolve({ ...local, base: null }, server);
    // Where nothing is left of the relay's version, its time must not win over the change.
    const modifiedAt = equal(first.merged, base.fields) ? base.modifiedAt
      : Math.max(base.modifiedAt, server.modifiedAt);
    const isServersKept = base.modifiedAt > server.modifiedAt;
    const copies = isServersKept ? [...first.copies] : [];
    // The change was made on that merge: nothing is in conflict with it.
    if (equal(first.merged, base.fields) && server.type === base.type) {
      return { merged: local.fields, copies };
    }
    const met = { ...server, fields: first.merged, deleted: first.merged === null, modifiedAt };
    const second = this.resolve({ ...local, base }, met);
    if (second.ask) return second;
    if (!isServersKept) copies.push(...this.#copiesOfUntouched(local, server, first, second));
    return { merged: second.merged, copies: [...copies, ...second.copies] };
  }

  /** Returns the copies of a lost version that are needed because the change still has what they
   * keep, and the merge does not. A copy of what the change has replaced is not needed. */
  #copiesOfUntouched(local, server, first, second) {
    const has = (fields, copy) => {
      if (fields === null) return false;
      const kept = { ...server, fields: copy.fields, deleted: false };
      const met = this.resolve({ ...local, fields, timeMade: null, base: null }, kept);
      return !met.ask && met.copies.length === 0;
    };
    return first.copies
      .filter((copy) => has(local.fields, copy) && !has(second.merged, copy));
  }

  /** True if the local change has the content of the relay's version and a later stamp, and the
   * app's rule requires that the record shows the later stamp. */
  isLaterSame(local, server) {
    return server.tag > 0 && local.modifiedAt > server.modifiedAt
      && equal(local.fields, server.fields)
      && (this.#resolver(local.zone, typeOf(local, server))?.takesNewestStamp ?? false);
  }

  /** Returns the due edit of a record; null if it has none. */
  dueEdit(record) {
    if (!record || record.deleted) return null;
    for (const app of this.apps) {
      if (app.zone !== record.zone || !app.timedTypes?.includes(record.type)) continue;
      const due = app.dueEdit?.(record);
      if (due) return due;
    }
    return null;
  }

  /** Returns the fields of an entry after its stamp moves to `to`. */
  restamped(entry, to) {
    if (!entry.fields) return null;
    const app = this.#app(entry.zone, entry.type);
    const { type, base, modifiedAt: from } = entry;
    let moved = app?.restamped?.(entry.fields, { type, base: base?.fields ?? null, from, to })
      ?? entry.fields;
    moved = rulesOf(app, type)?.restamped(moved, base && version(base), from, to) ?? moved;
    return equal(moved, entry.fields) ? entry.fields : moved;
  }

  /** Returns the fields of a local edit with their stamps, if the type's rules are a table. `held`:
   * the record as it is now, if there is one. */
  stamped({ zone, type, fields, stamp }, held) {
    const rules = this.#rules(zone, type);
    if (!rules || fields === null) return fields;
    const own = { time: BigInt(stamp), device: this.device };
    return rules.stamped(fields, held && version(held), own);
  }

  /** Returns the fields of a change that a person chose in the place of `other`, with their stamps,
   * if the type's rules are a table. Without them, other devices would take it for a version of
   * another program. */
  chosen({ zone, type, fields, modifiedAt }, other) {
    const rules = this.#rules(zone, type);
    if (!rules || fields === null) return fields;
    return rules.chosen(fields, version(other), { time: BigInt(modifiedAt), device: this.device });
  }

  /** Returns the sentence for a field that an edit sets to a value of another kind than its rule's;
   * null if there is none. `held`: the record as it is now. */
  kindFault({ zone, type, fields }, held) {
    const current = held?.type === type ? held.fields : null;
    return this.#rules(zone, type)?.kindFault(fields, current, type) ?? null;
  }

  /** Returns the reason that a person's edit cannot be in the zone; null if it can. */
  zoneFault(zone) { return faultOfOwnZone(zone, this.apps); }

  /** Returns the fields of an entry with the stamps and counts of `device` as those of this
   * device. */
  renamed({ zone, type, fields }, device) {
    const rules = fields && this.#rules(zone, type);
    return rules ? rules.renamed(device, this.device, fields) : fields;
  }

  /** Returns a version of the relay with the stamps that it lacks, by comparison with the version
   * that it replaces: another program wrote it. */
  completed(server, replaced) {
    const isNews = !server.deleted && !replaced.deleted && server.type === replaced.type;
    const rules = isNews ? this.#rules(server.zone, server.type) : undefined;
    // The same version under a later tag stays as it is: after a restore of the relay, another
    // device may have saved it again.
    if (!rules || isSameVersion(server, replaced)) return server;
    const fields = rules.completed(version(server), version(replaced));
    return equal(fields, server.fields) ? server : { ...server, fields };
  }

  /** Returns the newest stamp in a record, its own included, milliseconds. A stamp far beyond the
   * record's own was not made by a device, and the relay would refuse an edit after it. */
  newestStamp(record) {
    const rules = this.#rules(record.zone, record.type);
    if (!rules) return record.modifiedAt;
    const newest = Number(rules.newestStamp(version(record)).time);
    return Math.min(newest, record.modifiedAt + limits.stampAheadMilliseconds);
  }

  #app(zone, type) {
    return this.apps.find((app) => app.zone === zone && knowsType(app, type));
  }

  #resolver(zone, type) { return resolverOf(this.#app(zone, type), type); }

  #rules(zone, type) { return rulesOf(this.#app(zone, type), type); }

  #newer(local, server) {
    const isLocal = (local.fields === null) !== server.deleted
      ? local.fields !== null
      : isNewer(local.modifiedAt, this.device, server.modifiedAt, server.device);
    return { merged: isLocal ? local.fields : server.fields, copies: [] };
  }
}

/**
 * Resolves a conflict with due edits (a countdown that ended). Other devices made the same edit,
 * and may have saved it: then the relay's version holds an edit that `base` lacks but that the
 * local change was made on. So two steps are taken, as if each had been saved separately.
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
  // A wrong result of a rule is reported as such, before any of it is stored.
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
