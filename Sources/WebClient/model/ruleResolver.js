import { equal } from "../json/jsonValue.js";
import { compareText } from "../json/utf8.js";
import { copyName, instant, sides } from "./mergeParts.js";
import { ask, isDeleted, merged } from "./resolver.js";
import { StampedFields } from "./stampedFields.js";
import { isSameStamp, newestOf, ownStamp, withoutStamps } from "./stamps.js";

/**
 * Returns the resolver of a record type whose rules are a table. The outcome is what the whole
 * history demands, for any number of devices and any order of arrival.
 *
 * @param {import("./mergeRules.js").MergeRules} rules
 * @returns {import("./resolver.js").Resolver}
 */
export function ruleResolver(rules) {
  return Object.freeze({
    takesNewestStamp: rules.delete === "newest" && !rules.asks,
    resolve: (conflict) => resolve(rules, conflict),
  });
}

function resolve(rules, conflict) {
  const { newer, older } = sides(conflict);
  if (rules.asks) {
    const [ours, theirs] = [newer, older].map((it) => withoutStamps(it.fields ?? null));
    return equal(ours, theirs) ? merged(newer.fields) : ask;
  }
  if (isDeleted(newer) || isDeleted(older)) return merged(survivor(rules.delete, conflict));
  const { base } = conflict;
  const before = base && !isDeleted(base)
    ? StampedFields.read(base.fields, rules, ownStamp(base)) : undefined;
  const [one, other] = [newer, older].map((version) => (
    { version, fields: StampedFields.read(version.fields, rules, ownStamp(version), before) }));
  return merged(one.fields.merged(other.fields, before).json, copies(rules, before, one, other));
}

/** Returns the fields that remain if at least one version is deleted; null for a delete. */
function survivor(rule, { local, server }) {
  if (isDeleted(local) && isDeleted(server)) return null;
  const [live, deleted] = isDeleted(local) ? [server, local] : [local, server];
  switch (rule) {
    case "changeWins": return live.fields;
    case "deleteWins": return null;
    default: return instant(live) > instant(deleted) ? live.fields : null;
  }
}

/** Returns copies of the versions whose text of a `keepBoth` field lost, each name once, by
 * name. */
function copies(rules, base, one, other) {
  const found = new Map();
  for (const field of one.fields.names.filter((name) => rules.of(name) === "keepBoth")) {
    const [text, otherText] = [one, other].map(({ fields }) => fields.field(field)?.content);
    if (!text || !otherText) continue;
    const known = base?.field(field)?.content.stamp;
    if (isSameStamp(known, text.stamp) || isSameStamp(known, otherText.stamp)) continue;
    const winner = newestOf(text, otherText);
    const [lost, side] = winner === text ? [otherText, other] : [text, one];
    if (typeof lost.value !== "string" || equal(lost.value, winner.value)) continue;
    const name = copyName(side.version.name, `~${lost.stamp.device}-${lost.stamp.time}`);
    if (!found.has(name)) found.set(name, { name, fields: withoutStamps(side.version.fields) });
  }
  return [...found.values()].sort((a, b) => compareText(a.name, b.name));
}
