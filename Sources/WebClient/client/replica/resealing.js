import { compareText } from "../../json/utf8.js";
import { isName } from "../../model/name.js";
import { limits } from "../limits.js";
import { keyOf } from "../record.js";
import { saveAgain } from "./sealedVersions.js";
import { storedSeals } from "./sealedZones.js";

// A device that has made new keys saves all records again with them, a few at a time, so that what
// a removed device could open does not stay at the relay as it was. Versions stay what they are, so
// no other device takes them for changes. The stored value is the record up to which that is done:
// `{zone, name}`, or an empty object at the beginning.

export const beginResealing = (state) => setResealing(state, {});

/** True if records are still to be saved again. */
export const isResealing = ({ transaction }) =>
  transaction.value(storedSeals.resealing) !== undefined;

/** Puts a few records into the outbox, which are then saved with the newest keys. */
export function reseal(state) {
  const { sealing, transaction } = state;
  if (!isResealing(state) || state.cursor === null || !transaction.outbox.hasRoomForLost) return;
  const records = following(state, transaction.value(storedSeals.resealing));
  for (const record of records) {
    const isDue = sealing.isSealed(record.zone) && state.mayWrite(record.zone) && record.tag > 0
      && !transaction.outbox.holds(keyOf(record)) && !transaction.isLost(keyOf(record));
    if (isDue) saveAgain(state, record);
  }
  const { zone, name } = records.at(-1) ?? {};
  setResealing(state, records.length < limits.resealRecords ? undefined : { zone, name });
}

/** Returns the first records after this one, by their keys. */
function following({ transaction }, done) {
  const after = isName(done?.zone) && isName(done.name) ? keyOf(done) : "";
  return [...transaction.zones].flatMap((zone) => transaction.allRecords(zone))
    .map((record) => [keyOf(record), record]).filter(([key]) => compareText(key, after) > 0)
    .sort(([one], [other]) => compareText(one, other))
    .slice(0, limits.resealRecords).map(([, record]) => record);
}

const setResealing = ({ transaction }, value) =>
  transaction.setValue(storedSeals.resealing, value);
