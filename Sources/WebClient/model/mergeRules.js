import { equal, isObject, member, members, serialize } from "../json/jsonValue.js";
import { compareText } from "../json/utf8.js";
import { fieldRules, requiredKind } from "./fieldState.js";
import { limits } from "./limits.js";
import { isName } from "./name.js";
import { isDeleted } from "./resolver.js";
import { StampedFields } from "./stampedFields.js";
import {
  commonEntry, compareStamps, hasStamps, ownStamp, stampAfter, stampsMember, withoutStamps,
} from "./stamps.js";

/** Reason that a value is not a table of merge rules: one sentence for a person, with the place of
 * the fault. */
export class RuleFault extends Error {
  name = "RuleFault";
}

const deleteRules = Object.freeze(["changeWins", "deleteWins", "newest"]);

/**
 * Merge rules of a record type, as data. The engine (`ruleResolver`) exists once per language, and
 * all give the same bytes. Rules of a field:
 *
 * - `newest` (default): the value with the greatest stamp; for any JSON value.
 * - `greatest`, `least`: of concurrent values. Numbers come before all other values, which are
 *   ordered by their JSON text. A later edit may go back.
 * - `or`, `and`: true if one, or if all, of the concurrent values are true.
 * - `counter`: an object `{"device": [up, down]}`; a device only writes its own part.
 * - `set`: an array of scalars without order; for each element the newest edit decides, in or out.
 * - `map`: an object whose members are merged each by `newest`.
 * - `greatestEach`: an object of numbers; each member only grows.
 * - `keepBoth`: a text; the newest remains, and the other is kept as a copy record.
 *
 * `delete`: result of a live version against a deleted one: `changeWins` (default), `deleteWins`,
 * or `newest` (the version with the greater `(modifiedAt, deleted, device)`). `asks`: a person
 * decides every conflict, and no rule does.
 */
export class MergeRules {
  /** Rules by field. */
  #fields;
  #otherFields;

  /** @param {{fields?: [string, string][], otherFields?: string, delete?: string,
   *   asks?: boolean}} [rules] */
  constructor({ fields = [], otherFields = "newest", delete: rule = "changeWins", asks = false } =
    {}) {
    this.#fields = new Map(fields);
    this.#otherFields = otherFields;
    this.delete = rule;
    this.asks = asks;
  }

  /**
   * Reads `{"delete": …, "conflict": "ask", "fields": {"done": "or", "*": "newest"}}`. Refuses
   * members, rules and values that it does not know: a rule that one device does not apply would
   * make devices disagree.
   *
   * @param {any} value
   * @param {string} place begins the sentence of a fault, such as `the type "Todo"`
   * @throws {RuleFault}
   */
  static of(value, place = "the type") {
    if (value instanceof MergeRules) return value;
    if (!isObject(value)) throw new RuleFault(`${place} must be an object of rules`);
    checkMembers(value, ["fields", "delete", "conflict"], `${place} has`,
      "fields, delete, conflict");
    const rule = member(value, "delete");
    if (rule !== undefined) checkRule(rule, deleteRules, `"delete" of ${place}`);
    const conflict = member(value, "conflict");
    if (conflict !== undefined && conflict !== "ask") {
      throw new RuleFault(`"conflict" of ${place} can only be "ask"`);
    }
    const fields = rulesOfFields(member(value, "fields"), place);
    return new MergeRules({
      fields: fields.filter(([name]) => name !== "*"),
      otherFields: fields.find(([name]) => name === "*")?.[1], delete: rule,
      asks: conflict === "ask",
    });
  }

  /** Returns the rule of a field. The field of the name "" has no entry in the stamps, which only
   * `newest` can do without. */
  of(field) {
    if (field === commonEntry) return "newest";
    return this.#fields.get(field) ?? this.#otherFields;
  }

  /** Names of the fields that have a rule of their own, by their UTF-8 bytes. */
  get names() { return [...this.#fields.keys()].sort(compareText); }

  /**
   * Returns the sentence for a field that an edit sets to a value of another kind than its rule's;
   * null if there is none.
   *
   * @param {object} fields
   * @param {object | null} current the fields before the edit: what another program has set stays
   *   as it is
   * @param {string} type
   */
  kindFault(fields, current, type) {
    for (const [name, value] of members(fields)) {
      if (name === stampsMember) continue;
      const rule = this.of(name);
      const kind = requiredKind(rule, value, member(current, name));
      if (!kind || equal(member(current, name), value)) continue;
      return `the field ${serialize(name)} of ${type} must be ${kind}, as its rule "${rule}" `
        + "requires; give it such a value, or leave it out";
    }
    return null;
  }

  // Stamps of a device's own edits, and of versions that have none.

  /**
   * Returns the fields of a local edit with their stamps.
   *
   * @param {object} fields the edited fields; their stamps are ignored
   * @param {object | null} current the version that the edit was made on; null if there was none. A
   *   new record gets no stamps: all its fields have the record's own.
   * @param {import("./stamps.js").Stamp} stamp greater than `newestStamp` of `current`
   */
  stamped(fields, current, stamp) {
    const own = withoutStamps(fields);
    if (!current) return withoutStamps(StampedFields.read(own, this, stamp).json);
    // A record made again has stamps, so that no device takes it for a change of the former.
    if (isDeleted(current)) return StampedFields.read(own, this, stamp).json;
    const before = this.#read(current);
    return StampedFields.read(own, this, stamp, before).keepingCounts(before)
      .withoutRemovals(stamp.time - BigInt(limits.removalStampMilliseconds)).json;
  }

  /**
   * Returns the fields of a version that a person chose in the place of `other`, with their stamps:
   * what differs has the choice's, the rest has that of `other`.
   *
   * @param {import("./stamps.js").Stamp} stamp greater than `newestStamp` of both versions
   */
  chosen(fields, other, stamp) {
    const before = isDeleted(other) ? undefined : this.#read(other);
    return StampedFields.read(withoutStamps(fields), this, stamp, before).json;
  }

  /** Returns a version's fields with the stamps that it does not spell out, before its own stamp is
   * replaced by a later one. Null for a deleted version. */
  explicit(version) {
    if (isDeleted(version)) return null;
    return hasStamps(version.fields) ? version.fields : this.#read(version).json;
  }

  /** Returns the fields of a version that another program wrote without stamps, with stamps by
   * comparison with the version that it replaces. Returns the fields unchanged if they have stamps,
   * or if there was no version before. */
  completed(version, replaced) {
    if (isDeleted(version)) return null;
    if (!replaced || isDeleted(replaced) || hasStamps(version.fields)) return version.fields;
    return StampedFields.read(version.fields, this, ownStamp(version), this.#read(replaced)).json;
  }

  /** Returns fields of which a rule in code has replaced values: each keeps the stamp that it had,
   * and the stamps have their one form again. */
  normalized(fields, version) { return this.#read({ ...version, fields }).json; }

  /** Returns the newest stamp in a version, its own included. A later edit has a greater time. */
  newestStamp(version) {
    const own = ownStamp(version);
    const newest = isDeleted(version) ? undefined : this.#read(version).newestStamp;
    return newest && compareStamps(newest, own) > 0 ? newest : own;
  }

  /** Returns the fields of a local change after the correction of its device's clock: the stamps
   * that the change brought move by `to - from`. */
  restamped(fields, base, from, to) {
    // Without stamps all fields have the record's own, which the caller moves.
    if (!hasStamps(fields) || from === to) return fields;
    const before = base && !isDeleted(base) ? this.#read(base) : undefined;
    const newest = before?.newestStamp;
    const [start, end] = [BigInt(from), BigInt(to)];
    return StampedFields.read(fields, this, { time: start, device: "" }).mapStamps((stamp) => {
      if (before?.contains(stamp)) return stamp;
      const time = stamp.time + (end - start);
      const moved = { time: time < end ? time : end, device: stamp.device };
      return newest ? stampAfter(moved, newest) : moved;
    }).json;
  }

  /** Returns the fields with the stamps and counts of one device as those of another: those of a
   * device that had no id yet. */
  renamed(device, other, fields) {
    const counted = Object.fromEntries(members(fields).map(([name, value]) => {
      if (this.of(name) !== "counter" || !isObject(value)) return [name, value];
      const parts = members(value).map(([owner, part]) => [owner === device ? other : owner, part]);
      return [name, Object.fromEntries(parts)];
    }));
    if (!hasStamps(counted)) return counted;
    return StampedFields.read(counted, this, { time: 0n, device }).mapStamps((stamp) =>
      (stamp.device === device ? { time: stamp.time, device: other } : stamp)).json;
  }

  #read(version) { return StampedFields.read(version.fields, this, ownStamp(version)); }
}

function rulesOfFields(fields, place) {
  if (fields === undefined) return [];
  if (!isObject(fields)) {
    throw new RuleFault(`"fields" of ${place} must be an object of rules by field`);
  }
  const rules = members(fields);
  if (rules.length > limits.mergeRuleFields) {
    throw new RuleFault(`${place} has over ${limits.mergeRuleFields} rules of fields`);
  }
  for (const [name, rule] of rules) {
    if (name === "" || name === stampsMember) {
      throw new RuleFault(`${place} has a rule for ${serialize(name)}, which is no field`);
    }
    checkRule(rule, fieldRules, `the field ${serialize(name)} of ${place}`);
  }
  return rules;
}

function checkRule(rule, known, place) {
  if (known.includes(rule)) return;
  throw new RuleFault(`${place} is ${serialize(rule)}, which is none of: ${known.join(", ")}`);
}

function checkMembers(value, known, beginning, list) {
  const odd = members(value).map(([name]) => name).find((name) => !known.includes(name));
  if (odd === undefined) return;
  throw new RuleFault(`${beginning} a member ${serialize(odd)}; known are ${list}`);
}

/**
 * Reads the rules of the record types of a zone, in the form of the file of `agent run --rules`:
 * `{"zone": "Todos", "types": {"Todo": {"fields": {"done": "or"}}}}`.
 *
 * @returns {{zone: string, types: Map<string, MergeRules>}}
 * @throws {RuleFault}
 */
export function ruleTable(value) {
  if (!isObject(value)) throw new RuleFault('the rules must be an object {"zone", "types"}');
  checkMembers(value, ["zone", "types"], "the rules have", "zone and types");
  const zone = member(value, "zone");
  if (!isName(zone)) throw new RuleFault('"zone" of the rules must be the name of a zone');
  if (!isObject(member(value, "types"))) {
    throw new RuleFault('"types" of the rules must be an object of rules by record type');
  }
  const types = members(member(value, "types"));
  if (types.length === 0) {
    throw new RuleFault('"types" of the rules is empty; give the rules of a record type');
  }
  if (types.length > limits.mergeRuleTypes) {
    throw new RuleFault(`the rules have over ${limits.mergeRuleTypes} types`);
  }
  return { zone, types: new Map(types.map(([name, rules]) => {
    if (!isName(name)) {
      throw new RuleFault(`${serialize(name)} in "types" is not a valid type name`);
    }
    return [name, MergeRules.of(rules, `the type ${serialize(name)}`)];
  })) };
}
