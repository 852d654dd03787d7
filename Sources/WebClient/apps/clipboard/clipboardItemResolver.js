import { isDeleted, merged } from "../../model/resolver.js";
import { instant, sides } from "../mergeRules.js";

/**
 * Keeps the newer version of an item. If both have the same timestamp, a delete wins: the removed
 * text may be a password.
 *
 * @type {import("../../model/resolver.js").Resolver}
 */
export const clipboardItemResolver = Object.freeze({
  takesNewestStamp: true,

  resolve(conflict) {
    const { local, server } = conflict;
    const isTie = instant(local) === instant(server);
    if (isTie && (isDeleted(local) || isDeleted(server))) return merged(null);
    return merged(sides(conflict).newer.fields);
  },
});
