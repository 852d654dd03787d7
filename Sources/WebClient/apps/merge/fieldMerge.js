import { equal, member, members } from "../../changes/json.js";

/**
 * A three-way merge of JSON objects, field by field: changed on one side, that side's value;
 * changed on both, the newer's. Removing a field is a change like any other. Without a base, all
 * that a side has is its change. What is no JSON object counts as an object without fields.
 */
export function fieldMerge(base, newer, older) {
  const names = new Set([...members(newer), ...members(older)].map(([name]) => name));
  const merged = [];
  for (const name of names) {
    const value = choose(member(base, name), member(newer, name), member(older, name));
    if (value !== undefined) merged.push([name, value]);
  }
  return Object.fromEntries(merged);
}

/** undefined: the field is not there. */
function choose(base, newer, older) {
  return equal(newer, base) ? older : newer;
}
