import { RuleFault, ruleTable } from "../model/mergeRules.js";

/**
 * Returns the apps of one or several tables of rules.
 *
 * @throws {RuleFault}
 * @returns {import("./replica/merging.js").App[]}
 */
export function appsOf(rules) {
  const tables = [rules].flat().map(ruleTable);
  const zones = new Set(tables.map(({ zone }) => zone));
  if (zones.size < tables.length) throw new RuleFault("two tables of rules are for one zone");
  return tables.map(({ zone, types }) => ({ zone, rules: Object.fromEntries(types) }));
}
