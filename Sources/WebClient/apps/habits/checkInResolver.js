import { member, setting } from "../../changes/json.js";
import { merged } from "../../changes/resolver.js";
import { changeOutlivesDelete } from "../merge/changeOutlivesDelete.js";
import { greaterNumbers } from "../merge/greater.js";
import { sides } from "../merge/newerWins.js";

/**
 * One day of a habit. Each device counts what was done on it, and what was taken back, for itself
 * alone, so that nothing is counted twice and nothing is lost in whatever order the counts meet.
 *
 * @type {import("../../changes/resolver.js").Resolver}
 */
export const checkInResolver = Object.freeze({
  /** "Done" or "not done" stands as it was said last, also where somebody had said so before. */
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
