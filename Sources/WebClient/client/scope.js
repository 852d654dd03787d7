import { equal, isObject } from "../json/jsonValue.js";
import { isName } from "../model/name.js";
import { limits } from "./limits.js";
import { WireError } from "./wireError.js";

/**
 * Part of an account that a device may use, as its pairing code has fixed it. Without `zones` it is
 * all zones; null instead of a scope is the whole account.
 *
 * @typedef {{readonly zones?: readonly string[], readonly access: "read" | "write"}} Scope
 */

/** True if the device may read the zone. @param {Scope | null} scope */
export const includes = (scope, zone) => scope?.zones?.includes(zone) ?? true;

/** True if the device may change the zone. @param {Scope | null} scope */
export const includesWrites = (scope, zone) => scope?.access !== "read" && includes(scope, zone);

/** True if both scopes have the same zones, in the relay's order. */
export const haveSameZones = (one, other) => equal(one?.zones ?? null, other?.zones ?? null);

/**
 * Returns the scope in an answer of the relay; null if there is none.
 *
 * @returns {Scope | null}
 * @throws {WireError} for another form, which may limit something that this client does not know
 */
export function readScope(value) {
  if (value === undefined) return null;
  const { zones, access = "write" } = isObject(value) ? value : { access: null };
  if ((zones !== undefined && !areZones(zones)) || !isAccess(access)) {
    throw new WireError("invalid scope of a device");
  }
  return zones === undefined ? { access } : { zones, access };
}

/** True for a scope's list of zones. */
export const areZones = (zones) => Array.isArray(zones) && zones.length > 0
  && zones.length <= limits.scopeZones && Array.from(zones).every(isName);

/** True for a scope's access. */
export const isAccess = (access) => access === "read" || access === "write";

/** Returns one sentence about an edit that the scope does not allow, with the next step. */
export function explanationOfEdit(scope, zone) {
  if (includes(scope, zone)) {
    return "this device was paired to read only; pair it again with a code that lets it change "
      + `the zone ${zone}`;
  }
  return `this device was paired without the zone ${zone}; pair it again with a code that `
    + "includes it";
}
