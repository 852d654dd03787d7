import { RuleFault, ruleTable } from "../model/mergeRules.js";
import { keysZone } from "../sealing/keyRing.js";
import { isOwnZone } from "./ownZones.js";

/**
 * Returns the apps in code and those of one or several tables of rules.
 *
 * @throws {RuleFault}
 * @param {import("./replica/merging.js").App[]} [apps]
 * @returns {import("./replica/merging.js").App[]}
 */
export function appsOf(rules, apps = []) {
  const tables = [rules].flat().map(ruleTable);
  const zones = new Set(tables.map(({ zone }) => zone));
  if (zones.size < tables.length) throw new RuleFault("two tables of rules are for one zone");
  const others = [...tables, ...apps.filter(({ isOwn }) => !isOwn)];
  const taken = others.find(({ zone }) => isOwnZone(zone));
  if (taken) {
    const { zone } = taken;
    throw new RuleFault(zone === keysZone
      ? `the zone ${zone} is for the account's keys alone; choose another zone`
      : `the zone ${zone} has the rules of one of Lockstep's own apps; choose another zone`);
  }
  const inTables = tables.map(({ zone, types }) => ({ zone, rules: Object.fromEntries(types) }));
  return [...apps, ...inTables];
}
