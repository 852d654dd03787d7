import { equal } from "../../json/jsonValue.js";
import { ask, merged } from "../../model/resolver.js";
import { sides } from "../mergeRules.js";

/**
 * A habit's text is a personal decision, so a conflict is never resolved automatically: the person
 * chooses a version.
 *
 * @type {import("../../model/resolver.js").Resolver}
 */
export const habitResolver = Object.freeze({
  takesNewestStamp: false,

  resolve(conflict) {
    const isSame = equal(conflict.local.fields ?? null, conflict.server.fields ?? null);
    return isSame ? merged(sides(conflict).newer.fields) : ask;
  },
});
