import { keysInRing, keysZone, ringRecord } from "../../sealing/keyRing.js";
import { ZoneSet } from "../../sealing/zoneSet.js";
import { keyOf } from "../record.js";
import { EditError } from "./editing.js";
import { checkedSeals, writeSeals } from "./sealing.js";

// Zones that another device of the account seals from now on, as the record of the keys says.

/** Seals the zones that another device of the account has sealed. If a change of one of them is on
 * its way to the relay, they wait for its answer; nothing more of them is sent until then. Returns
 * true if the device reads the account from its beginning. */
export function sealFurtherZones(state) {
  const further = furtherZones(state);
  if (!further) return false;
  const { sealing } = state;
  const options = { replacesPlain: true };
  try {
    const keys = checkedSeals(state, sealing.held.sealing(further).storedValue, options);
    writeSeals(state, keys, options);
  } catch (error) {
    if (!(error instanceof EditError)) throw error;
    sealing.awaited = further;
    return false;
  }
  sealing.awaited = ZoneSet.empty;
  return true;
}

/** Seals the zones that wait for answers. Returns true as `sealFurtherZones`. */
export const sealAwaitedZones = (state) =>
  !state.sealing.awaited.isEmpty && sealFurtherZones(state);

/** Returns the zones that the record of the keys seals, if there are more than this device's keys
 * do; otherwise null. */
function furtherZones({ sealing: { held }, transaction }) {
  const ring = transaction.record(keyOf({ zone: keysZone, name: ringRecord }));
  if (!held?.account || !ring?.fields) return null;
  // A record that newer keys have made is read once these have come.
  const { keys } = keysInRing(ring.fields, held.account.current);
  return keys && !held.sealed.includes(keys.sealed) ? keys.sealed : null;
}
