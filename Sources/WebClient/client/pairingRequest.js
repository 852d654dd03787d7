import { isObject } from "../json/jsonValue.js";
import { limits } from "./limits.js";
import { EditError } from "./replica/editing.js";
import { areZones, isAccess } from "./scope.js";

/**
 * Returns the body of a request for a pairing code. For what is missing, the relay has a default:
 * zones and access of the device that asks, and the usual lifetime of a code.
 *
 * @param {{zones?: string[], access?: "read" | "write", expiresIn?: number}} options
 * @throws {EditError} if an option is unknown or wrong: the code would let in more than was meant
 */
export function pairingRequest(options) {
  if (!isObject(options)) throw new EditError("badScope", form);
  const { zones, access, expiresIn, ...others } = options;
  const isGood = Object.keys(others).length === 0 && isMissingOr(areZones, zones)
    && isMissingOr(isAccess, access) && isMissingOr(isLifetime, expiresIn);
  if (!isGood) throw new EditError("badScope", form);
  return Object.fromEntries(Object.entries({ zones, access, expiresIn })
    .filter(([, value]) => value !== undefined));
}

const isMissingOr = (isGood, value) => value === undefined || isGood(value);

const isLifetime = (seconds) => Number.isSafeInteger(seconds)
  && seconds >= limits.pairingSecondsMin && seconds <= limits.pairingSecondsMax;

const form = `a code is for {zones?, access?, expiresIn?}: 1 to ${limits.scopeZones} names of `
  + `zones, "read" or "write", and ${limits.pairingSecondsMin} to ${limits.pairingSecondsMax} `
  + "seconds";
