import { member, setting } from "../../changes/json.js";
import { merged } from "../../changes/resolver.js";
import { changeOutlivesDelete } from "../merge/changeOutlivesDelete.js";
import { greaterNumbers } from "../merge/greater.js";
import { sides } from "../merge/newerWins.js";

/**
 * Resolver for one day of a habit. Each device counts only what was done and undone on itself, so
 * nothing is counted twice and nothing is lost, whatever the merge order.
 *
 * @type {import("../../changes/resolver.js").Resolver}
 */
export const checkInResolver = Object.freeze({
  /** The latest "done" or "not done" wins, also if it repeats an earlier value. */
  takesNewestStamp: true,

  resolve(conflict) {
    const standing = changeOutlivesDelete(conflict);
    if (standing) return standing;
    const { newer, older } = sides(conflict);
    const counts = {};
    for (const name of ["counts", "undone"]) {
      const greatest = greaterNumbers(member(newer.fields, name), member(older.fields, name));
      if (greatest !== undefined) counts[name] = greatest;
    }
    return merged(setting(newer.fields, counts));
  },
});
