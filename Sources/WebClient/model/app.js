import { ruleResolver } from "./ruleResolver.js";

/**
 * Rules of an app: `resolvers` by record type, and `rules` (`MergeRules`) by record type. A type
 * may be in both: its code then decides conflicts, and its table says how the stamps of its fields
 * are kept. A type that is only in `rules` is decided by the table.
 */

/** True if the app has a rule for the record type. */
export const knowsType = (app, type) => isIn(app.resolvers, type) || isIn(app.rules, type);

const isIn = (table, type) => table !== undefined && Object.hasOwn(table, type);

/** Returns the merge rules of a record type as data; undefined if its rule needs no stamps.
 * @returns {import("./mergeRules.js").MergeRules | undefined} */
export const rulesOf = (app, type) => (isIn(app?.rules, type) ? app.rules[type] : undefined);

const resolvers = new WeakMap();

/** Returns the rule for a record type; undefined for an unknown type.
 * @returns {import("./resolver.js").Resolver | undefined} */
export function resolverOf(app, type) {
  if (isIn(app?.resolvers, type)) return app.resolvers[type];
  const rules = rulesOf(app, type);
  if (!rules) return undefined;
  if (!resolvers.has(rules)) resolvers.set(rules, ruleResolver(rules));
  return resolvers.get(rules);
}
