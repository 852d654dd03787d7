import { member, setting } from "../../json/jsonValue.js";
import { merged } from "../../model/resolver.js";
import { changeOutlivesDelete, greaterNumbers, sides } from "../../model/mergeParts.js";

/**
 * Resolver for one day of a habit. Each device counts only what was done and undone on itself, so
 * nothing is counted twice and nothing is lost, whatever the merge order.
 *
 * @type {import("../../model/resolver.js").Resolver}
 */
export const checkInResolver = Object.freeze({
  /** The latest "done" or "not done" wins, also if it repeats an earlier value. */
  takesNewestStamp: true,

  resolve(conflict) {
    const resolution = changeOutlivesDelete(conflict);
    if (resolution) return resolution;
    const { newer, older } = sides(conflict);
    const counts = {};
    for (const name of ["counts", "undone"]) {
      const greatest = greaterNumbers(member(newer.fields, name), member(older.fields, name));
      if (greatest !== undefined) counts[name] = greatest;
    }
    return merged(setting(newer.fields, counts));
  },
});
