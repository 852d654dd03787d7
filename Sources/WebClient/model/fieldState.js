import { equal, int64, isNumber, isObject, member, members, numberText, serialize }
  from "../json/jsonValue.js";
import { compareText } from "../json/utf8.js";
import { compareStamps, isSameStamp, newestOf, stampAfter, stampElements, stampOf }
  from "./stamps.js";

/**
 * One field with its stamps, by the form of its rule:
 * - `single`: `newest`, `keepBoth`. `content` is a stamped value.
 * - `candidates`: `least`, `greatest`, `or`, `and`. A list of concurrent edits, oldest first, each
 *   stamp once; never empty.
 * - `members`: `set` by the JSON text of the element, `map` by the name of the member. A map of
 *   stamped values; never empty.
 * - `counts`: `counter` by device, a map of `[up, down]`; never empty.
 * - `numbers`: `greatestEach` by name, a map of numbers; never empty.
 *
 * @typedef {{form: "single" | "candidates" | "members" | "counts" | "numbers",
 *   content: any}} FieldState
 */

const forms = new Map(Object.entries({
  newest: "single", keepBoth: "single", greatest: "candidates", least: "candidates",
  or: "candidates", and: "candidates", set: "members", map: "members", counter: "counts",
  greatestEach: "numbers",
}));

/** Names of all rules of fields. */
export const fieldRules = Object.freeze([...forms.keys()]);

/** Kinds of values by rule, as words in a sentence; a rule that is missing takes any value. A value
 * of another kind reads as nothing, so an edit that sets one is refused. */
const kinds = new Map(Object.entries({
  greatest: { words: "a number or a text", has: isNumberOrText },
  least: { words: "a number or a text", has: isNumberOrText },
  or: { words: "a Boolean", has: isBoolean }, and: { words: "a Boolean", has: isBoolean },
  counter: {
    words: 'an object {"device": [up, down]} of whole numbers from 0, which counterAdded makes',
    has: (value, current) => isObject(value) && members(value).every(([device, parts]) =>
      (device !== "" && isOwnCount(parts)) || equal(member(current, device), parts)),
  },
  set: {
    words: "an array of scalars",
    has: (value) => Array.isArray(value)
      && value.every((element) => !Array.isArray(element) && !isObject(element)),
  },
  map: { words: "an object", has: isObject },
  greatestEach: {
    words: "an object of numbers",
    has: (value) => isObject(value) && members(value).every(([, number]) => isNumber(number)),
  },
  keepBoth: { words: "a text", has: (value) => typeof value === "string" },
}));

function isNumberOrText(value) { return isNumber(value) || typeof value === "string"; }

function isBoolean(value) { return typeof value === "boolean"; }

const isCount = (parts) =>
  Array.isArray(parts) && parts.length === 2 && parts.every(isNumber);

/** True for parts that a device may write. Those of other programs are read in any form of
 * `isCount`, in every language alike. */
const isOwnCount = (parts) => isCount(parts) && parts.every((part) => int64(part) >= 0);

/** Returns the kind of value that the rule requires, if the value has another one. `current`: the
 * value before the edit; parts of a counter that another program has set stay as they are. */
export function requiredKind(rule, value, current) {
  const kind = kinds.get(rule);
  return !kind || kind.has(value, current) ? undefined : kind.words;
}

const state = (form, content) => ({ form, content });

/** Returns a map as a state; undefined if it is empty. */
const filled = (form, content) => (content.size > 0 ? state(form, content) : undefined);

/** Names in the order of their UTF-8 bytes. */
export const sortedNames = (table) => [...table.keys()].sort(compareText);

/** Returns a map with a value for each name of either map; none where `combine` returns
 * undefined. */
export function combined(left, right, combine) {
  const result = new Map();
  const add = (name) => {
    const value = combine(name, left.get(name), right.get(name));
    if (value !== undefined) result.set(name, value);
  };
  for (const name of left.keys()) add(name);
  for (const name of right.keys()) if (!left.has(name)) add(name);
  return result;
}

const merging = (merge) => (name, left, right) =>
  (left === undefined || right === undefined ? left ?? right : merge(left, right));

/**
 * Reads a field; undefined if it has neither a value nor a stamp. A value of the wrong kind for its
 * rule reads as nothing, and so does an entry of the wrong form.
 *
 * @param {any} value undefined if the field is absent
 * @param {any} entry its entry in `"~"`
 * @param {string} rule
 * @param {import("./stamps.js").Stamp} common stamp of all that has no entry of its own
 * @returns {FieldState | undefined}
 */
export function readField(value, entry, rule, common) {
  switch (forms.get(rule)) {
    case "single": {
      const own = stampOf(entry) ?? candidatesIn(entry).at(-1)?.stamp;
      if (value === undefined && own === undefined) return undefined;
      return state("single", { stamp: own ?? common, value });
    }
    case "candidates": {
      const several = candidatesIn(entry);
      if (several.length > 0) return state("candidates", several);
      const stamp = stampOf(entry) ?? (value === undefined ? undefined : common);
      return stamp && state("candidates", [{ stamp, value }]);
    }
    case "members": return readMembers(value, entry, rule, common);
    case "counts": {
      const counts = members(value).filter(([, parts]) => isCount(parts));
      return filled("counts", new Map(counts));
    }
    default: return filled("numbers", new Map(members(value).filter(([, it]) => isNumber(it))));
  }
}

function readMembers(value, entry, rule, common) {
  const whole = stampOf(entry) ?? common;
  const read = combined(membersOf(value, rule), new Map(members(entry)), (_, value, entry) => {
    const stamp = stampOf(entry) ?? (value === undefined ? undefined : whole);
    return stamp && { stamp, value };
  });
  return filled("members", read);
}

/** Members of a value of `set` or `map`, by key; none for a value of another kind. */
function membersOf(value, rule) {
  if (rule !== "set") return new Map(members(value));
  return new Map((Array.isArray(value) ? value : []).map((it) => [serialize(it), it]));
}

/** Reads `[[time, device, value], …]`. */
function candidatesIn(entry) {
  if (!Array.isArray(entry)) return [];
  const read = entry.map((parts) => ({ stamp: stampOf(parts), value: parts?.[2] }));
  return sorted(read.filter(({ stamp }) => stamp !== undefined));
}

/** Sorts candidates by their stamps, and keeps one of several with the same. */
function sorted(candidates) {
  const result = [];
  for (const it of [...candidates].sort((a, b) => compareStamps(a.stamp, b.stamp))) {
    if (isSameStamp(result.at(-1)?.stamp, it.stamp)) result.push(newestOf(result.pop(), it));
    else result.push(it);
  }
  return result;
}

/** Returns the field's value; undefined if it is absent. */
export function fieldValue({ form, content }, rule) {
  const isThere = (it) => it.value !== undefined;
  switch (form) {
    case "single": return content.value;
    case "candidates": return join(content.filter(isThere).map((it) => it.value), rule);
    case "members": {
      const there = sortedNames(content).filter((name) => isThere(content.get(name)));
      if (rule === "set") return there.map((name) => content.get(name).value);
      return Object.fromEntries(there.map((name) => [name, content.get(name).value]));
    }
    default: return Object.fromEntries(content);
  }
}

/** Returns the value that several concurrent values make. */
function join(values, rule) {
  if (values.length < 2) return values[0];
  switch (rule) {
    case "or": return values.includes(true);
    case "and": return values.every((value) => value === true);
    case "least":
      return values.reduce((best, it) => (compareValues(it, best) < 0 ? it : best));
    default: return values.reduce((best, it) => (compareValues(best, it) < 0 ? it : best));
  }
}

/** Compares two values: numbers come before all else, which is ordered by its JSON text. */
function compareValues(left, right) {
  if (isNumber(left) && isNumber(right)) return compareNumbers(left, right);
  if (isNumber(left) !== isNumber(right)) return isNumber(left) ? -1 : 1;
  return compareText(serialize(left), serialize(right));
}

/** Compares two numbers as 64-bit integers if both are, else as binary64; two that only differ
 * beyond its precision by their text. */
function compareNumbers(left, right) {
  const whole = [int64(left), int64(right)];
  const isWhole = whole.every((it) => it !== undefined);
  const [one, other] = isWhole ? whole : [left, right].map((it) => Number(numberText(it)));
  if (one !== other) return one < other ? -1 : 1;
  return isWhole ? 0 : compareText(numberText(left), numberText(right));
}

const greater = (left, right) => (compareNumbers(left, right) < 0 ? right : left);

/** Returns the stamps of all present values that need no entry if theirs is the commonest stamp. */
export function presentStamps({ form, content }) {
  const stampsOf = (values) =>
    values.filter(({ value }) => value !== undefined).map(({ stamp }) => stamp);
  switch (form) {
    case "single": return stampsOf([content]);
    case "candidates": return content.length === 1 ? stampsOf(content) : [];
    case "members": return stampsOf([...content.values()]);
    default: return [];
  }
}

/** Returns all stamps of the field. */
export function fieldStamps({ form, content }) {
  switch (form) {
    case "single": return [content.stamp];
    case "candidates": return content.map(({ stamp }) => stamp);
    case "members": return Array.from(content.values(), ({ stamp }) => stamp);
    default: return [];
  }
}

/** Returns the entry in `"~"`; undefined if none is needed beside the commonest stamp. */
export function fieldEntry({ form, content }, common) {
  switch (form) {
    case "single": return singleEntry(content, common);
    case "candidates": {
      if (content.length === 1) return singleEntry(content[0], common);
      return content.map(({ stamp, value }) =>
        [...stampElements(stamp), ...(value === undefined ? [] : [value])]);
    }
    case "members": {
      const entries = [...content].map(([key, { stamp, value }]) => [key, value === undefined
        ? [...stampElements(stamp), 0] : singleEntry({ stamp, value }, common)]);
      const needed = entries.filter(([, entry]) => entry !== undefined);
      return needed.length > 0 ? Object.fromEntries(needed) : undefined;
    }
    default: return undefined;
  }
}

const singleEntry = ({ stamp, value }, common) =>
  (value !== undefined && isSameStamp(stamp, common) ? undefined : stampElements(stamp));

/** Returns the field with each stamp replaced. */
export function mapStamps({ form, content }, transform) {
  const moved = ({ stamp, value }) => ({ stamp: transform(stamp), value });
  switch (form) {
    case "single": return state(form, moved(content));
    case "candidates": return state(form, sorted(content.map(moved)));
    case "members":
      return state(form, new Map(Array.from(content, ([key, it]) => [key, moved(it)])));
    default: return state(form, content);
  }
}

/** Returns the field without what was removed before `time`; undefined if nothing remains. */
export function withoutRemovals({ form, content }, time) {
  const isOld = ({ stamp, value }) => value === undefined && stamp.time < time;
  switch (form) {
    case "single": return isOld(content) ? undefined : state(form, content);
    case "candidates": return content.every(isOld) ? undefined : state(form, content);
    case "members": return filled(form, new Map([...content].filter(([, it]) => !isOld(it))));
    default: return state(form, content);
  }
}

/** Merges a field of two versions. `base` decides only on candidates. */
export function mergeField(base, left, right) {
  if ((left ?? right)?.form === "candidates") {
    const [known, one, other] = [base, left, right].map((it) => it?.content ?? []);
    return state("candidates", mergeCandidates(known, one, other));
  }
  if (left === undefined || right === undefined) return left ?? right;
  const { form } = left;
  switch (form) {
    case "single": return state(form, newestOf(left.content, right.content));
    case "members":
      return state(form, combined(left.content, right.content, merging(newestOf)));
    case "counts":
      return state(form, combined(left.content, right.content, merging((one, other) =>
        one.map((count, index) => greater(count, other[index])))));
    default: return state(form, combined(left.content, right.content, merging(greater)));
  }
}

/** A candidate remains if both sides have it, or if one has it and `base` lacks it; all remain if
 * none would. */
function mergeCandidates(base, left, right) {
  const isIn = (side, { stamp }) => side.some((it) => isSameStamp(it.stamp, stamp));
  const all = sorted([...left, ...right]);
  const kept = all.filter((it) => (isIn(left, it) && isIn(right, it)) || !isIn(base, it));
  return kept.length > 0 ? kept : all;
}

/**
 * Returns the field of a version without stamps, by comparison with `base`: what differs was set or
 * removed at the version's own stamp, and what does not has base's.
 *
 * @param {FieldState | undefined} present the field as the version has it, with `own` as stamp
 *   everywhere
 */
export function inferredField(present, base, rule, own) {
  if (base === undefined) return present;
  switch (base.form) {
    case "single": {
      const value = present?.content.value;
      if (equal(value, base.content.value)) return base;
      return state("single", { stamp: stampAfter(own, base.content.stamp), value });
    }
    case "candidates": {
      const value = present && fieldValue(present, rule);
      if (equal(value, fieldValue(base, rule))) return base;
      return state("candidates", [{ stamp: own, value }]);
    }
    case "members":
      return state("members", combined(present?.content ?? new Map(), base.content,
        (_, fresh, known) => {
          if (known === undefined) return fresh;
          return equal(fresh?.value, known.value) ? known : { stamp: own, value: fresh?.value };
        }));
    default: return present;
  }
}

/** Returns the parts of a rule that only grows, with those of `known` that are greater or missing;
 * the field itself for all other rules. */
export function keepingCounts(present, known, rule) {
  const isGrowing = ["counts", "numbers"].includes(forms.get(rule));
  return isGrowing ? mergeField(undefined, present, known) : present;
}
