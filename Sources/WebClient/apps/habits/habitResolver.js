import { equal } from "../../changes/json.js";
import { ask, merged } from "../../changes/resolver.js";
import { sides } from "../merge/newerWins.js";

/**
 * A habit's text is a personal decision, so a conflict is never resolved automatically: the person
 * chooses a version.
 *
 * @type {import("../../changes/resolver.js").Resolver}
 */
export const habitResolver = Object.freeze({
  takesNewestStamp: false,

  resolve(conflict) {
    const isSame = equal(conflict.local.fields ?? null, conflict.server.fields ?? null);
    return isSame ? merged(sides(conflict).newer.fields) : ask;
  },
});
