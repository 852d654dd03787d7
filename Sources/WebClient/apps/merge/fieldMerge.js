import { equal, member, members } from "../../changes/json.js";

/**
 * Three-way merge of JSON objects, field by field. A field changed on one side takes that side's
 * value; a field changed on both takes the newer value. Removing a field counts as a change.
 * Without a base, every field of a side counts as changed. A value that is not a JSON object counts
 * as an object without fields.
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

/** Returns undefined if the merged object does not have the field. */
function choose(base, newer, older) {
  return equal(newer, base) ? older : newer;
}
