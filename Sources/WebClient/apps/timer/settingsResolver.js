import { merged } from "../../changes/resolver.js";
import { changeOutlivesDelete } from "../merge/changeOutlivesDelete.js";
import { fieldMerge } from "../merge/fieldMerge.js";
import { sides } from "../merge/newerWins.js";

/**
 * Merges the timer's settings field by field. A change outlives a delete.
 *
 * @type {import("../../changes/resolver.js").Resolver}
 */
export const settingsResolver = Object.freeze({
  takesNewestStamp: false,

  resolve(conflict) {
    const standing = changeOutlivesDelete(conflict);
    if (standing) return standing;
    const { newer, older } = sides(conflict);
    return merged(fieldMerge(conflict.base?.fields, newer.fields, older.fields));
  },
});
