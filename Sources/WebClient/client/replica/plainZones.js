import { plainVersion } from "../../sealing/recordVersion.js";
import { keyOf } from "../record.js";
import { lineageOn, versionOf } from "./lineage.js";
import { recordOf, waiting } from "./outbox.js";

// Zones that were plain before. A device that gets keys of such a zone keeps its records, reads the
// account again, and saves sealed what the relay does not have sealed yet. Other devices may do the
// same at the same time, and may have saved plain records meanwhile. So a plain record is a version
// like any other: the relay's tags, which ordered the versions until then, are its numbers
// (`plainVersion`).

const missing = (record) => ({ ...record, tag: 0 });

/** Gives the records and changes of a plain zone versions. None of them is on its way to the
 * relay. */
export function makeSealed({ transaction, device }, zone) {
  for (const record of transaction.allRecords(zone)) {
    const key = keyOf(record);
    if (transaction.outbox.open(key)) continue;
    if (record.deleted) transaction.removeRecord(key);
    else transaction.put(record, 0, [], plainVersion(record.tag));
  }
  for (const old of transaction.outbox.entries().filter((entry) => entry.zone === zone)) {
    const entry = sealedEntry(old);
    if (entry.fields === null && (entry.base?.deleted ?? true)) {
      // No device has the record.
      transaction.removeEntry(old);
      transaction.removeRecord(keyOf(old));
    } else {
      transaction.putEntry(entry);
      transaction.put(recordOf(entry, device, 0));
    }
  }
}

function sealedEntry(old) {
  const { base, state } = old;
  const lineage = lineageOn(base && plainVersion(base.tag));
  const entry = { ...old, lineage, base: base && missing(base), firstSent: null, includes: [] };
  if (state.kind !== "asking") return entry;
  const asked = plainVersion(state.server.tag);
  if (!asked) return { ...entry, state: waiting };
  return { ...entry, lineage: { ...lineage, asked },
    state: { kind: "asking", server: missing(state.server) } };
}

/** True if what the device holds includes this plain record. */
export function includesPlain({ transaction }, record) {
  const id = plainVersion(record.tag)?.id;
  if (!id) return true;
  const key = keyOf(record);
  const { lineage } = transaction.outbox.open(key) ?? transaction.outbox.sent(key) ?? {};
  const held = lineage ? versionOf(lineage)?.vector ?? lineage.made
    : transaction.version(key)?.vector;
  return held?.names(id) ?? false;
}
