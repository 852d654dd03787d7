import { member, members } from "../json/jsonValue.js";
import {
  combined, fieldEntry, fieldStamps, fieldValue, inferredField, keepingCounts, mapStamps,
  mergeField, presentStamps, readField, sortedNames, withoutRemovals,
} from "./fieldState.js";
import {
  commonEntry, compareStamps, hasStamps, isSameStamp, stampElements, stampOf, stampsMember,
} from "./stamps.js";

/** All fields of a version with their stamps, read by the rules of the record's type. */
export class StampedFields {
  #rules;
  #fields;

  constructor(rules, fields) {
    this.#rules = rules;
    this.#fields = fields;
  }

  /**
   * Reads a version. Without `"~"`, and where it holds no common stamp, the version's own stamp is
   * that of all its fields. A version without `"~"` beside a `base` is read as a change of it.
   *
   * @param {object} fields
   * @param {import("./mergeRules.js").MergeRules} rules
   * @param {import("./stamps.js").Stamp} own
   * @param {StampedFields} [base]
   */
  static read(fields, rules, own, base) {
    const entries = member(fields, stampsMember);
    const common = stampOf(member(entries, commonEntry)) ?? own;
    const table = (value, besides) =>
      new Map(members(value).filter(([name]) => name !== besides));
    const present = combined(table(fields, stampsMember), table(entries, commonEntry),
      (name, value, entry) => readField(value, entry, rules.of(name), common));
    if (!base || hasStamps(fields)) return new StampedFields(rules, present);
    return new StampedFields(rules, combined(present, base.#fields, (name, it, known) =>
      inferredField(it, known, rules.of(name), own)));
  }

  /** @returns {import("./fieldState.js").FieldState | undefined} */
  field(name) { return this.#fields.get(name); }

  /** Names of all fields, by their UTF-8 bytes. */
  get names() { return sortedNames(this.#fields); }

  get #stamps() { return [...this.#fields.values()].flatMap(fieldStamps); }

  /** undefined if there is no stamp. */
  get newestStamp() {
    return this.#stamps.reduce((newest, stamp) =>
      (newest && compareStamps(newest, stamp) >= 0 ? newest : stamp), undefined);
  }

  contains(stamp) { return this.#stamps.some((it) => isSameStamp(it, stamp)); }

  /** Merges with another version; both were made on `base`. */
  merged(other, base) {
    return this.#combined(other, (name, one, two) => mergeField(base?.field(name), one, two));
  }

  mapStamps(transform) { return this.#map((it) => mapStamps(it, transform)); }

  withoutRemovals(time) { return this.#map((it) => withoutRemovals(it, time)); }

  /** Returns these fields with the parts of `other` that only grow and that these lack or have less
   * of: a device must not take back what others have counted. */
  keepingCounts(other) {
    return this.#combined(other, (name, it, known) =>
      keepingCounts(it, known, this.#rules.of(name)));
  }

  #map(transform) {
    return this.#combined(new StampedFields(this.#rules, new Map()), (_, it) => transform(it));
  }

  #combined(other, combine) {
    return new StampedFields(this.#rules, combined(this.#fields, other.#fields, combine));
  }

  /** The fields with their values and `"~"`, which is left out if there is no stamp. */
  get json() {
    const common = this.#commonStamp;
    const values = [];
    const entries = common ? [[commonEntry, stampElements(common)]] : [];
    for (const [name, state] of this.#fields) {
      values.push([name, fieldValue(state, this.#rules.of(name))]);
      // The entry of that name holds the commonest stamp.
      if (name !== commonEntry) entries.push([name, fieldEntry(state, common)]);
    }
    const isThere = ([, value]) => value !== undefined;
    const stamps = entries.filter(isThere);
    if (stamps.length > 0) values.push([stampsMember, Object.fromEntries(stamps)]);
    return Object.fromEntries(values.filter(isThere));
  }

  /** The commonest stamp of what is present; of several, the least. */
  get #commonStamp() {
    let [best, bestCount, run, count] = [undefined, 0, undefined, 0];
    for (const stamp of [...this.#fields.values()].flatMap(presentStamps).sort(compareStamps)) {
      count = isSameStamp(run, stamp) ? count + 1 : 1;
      run = stamp;
      if (count > bestCount) [best, bestCount] = [run, count];
    }
    return best;
  }
}
