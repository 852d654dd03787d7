import { isDeleted, merged } from "../../changes/resolver.js";
import { instant, sides } from "../merge/newerWins.js";

/**
 * An item is the newer of its versions. At one instant a delete wins: what a person wanted gone may
 * be a password.
 *
 * @type {import("../../changes/resolver.js").Resolver}
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
