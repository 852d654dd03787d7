import { byteCount } from "../../json/utf8.js";
import { namesUnsealedFiles } from "../../model/fileReference.js";
import { vaultZone } from "../../sealing/wrappedVaultKey.js";
import { limits } from "../limits.js";
import { fingerprint, isFingerprint, keyOf, standsForLost } from "../record.js";
import { isRepeated, versionOf } from "./lineage.js";
import { heldBackTest, isGrouped, parked, recordOf } from "./outbox.js";
import { restampAll } from "./stamps.js";
import { identified } from "./writer.js";

/**
 * Choice of the next batch. Entries are frozen under a batch id before they are sent, so that the
 * same batch is sent again after a crash or a lost answer.
 */

/** Bytes of a record in a batch besides its fields: names, stamps and punctuation. */
const overheadBytes = 340;
/** Bytes of a hash in quotes, and a comma. */
const chunkBytes = 67;
/** Bytes for mutations; leaves room for the batch's own members. */
const batchBytes = limits.batchBytes - (4 << 10);

/**
 * @param {{id: string, records: number, bytes: number, blockedZones: string[],
 *   randomBytes: (count: number) => Uint8Array}} offer `randomBytes`: for the ids of versions in
 *   sealed zones
 * @returns {{id: string, zone: string, atomic: boolean, records: object[]} | null}
 */
export function freezeBatch(state, offer, clock) {
  const { transaction } = state;
  const frozen = transaction.outbox.frozen;
  if (frozen) return requestOf(state, frozen.id, frozen.entries);
  restampAll(state, clock);
  if (!clock.isTrusted) return null;
  const chosen = chooseIdentified(state, offer);
  if (chosen.length === 0) return null;
  const sent = chosen.map((entry) => ({
    ...entry, includes: includesOf(state, entry), state: { kind: "sent", batch: offer.id },
  }));
  for (const entry of sent) transaction.putEntry(entry);
  return requestOf(state, offer.id, sent);
}

/** Returns the changes to send, in a sealed zone with their ids as versions. Parks those that a
 * sealed zone cannot send. */
function chooseIdentified(state, offer) {
  // Each turn but the last parks a change.
  for (;;) {
    const identities = choose(state, offer).map((entry) => identify(state, entry, offer));
    const refused = identities.filter(({ detail }) => detail);
    if (refused.length === 0) return identities.map(({ entry }) => entry);
    for (const { entry, detail } of refused) parkUnsent(state, entry, detail);
  }
}

/** Returns the change with its id as a version, or the `detail` of the reason that it cannot be
 * sent. */
function identify(state, entry, { randomBytes }) {
  // The vault names its chunks in a way of its own. A page saves such a version only again.
  const isVaults = entry.zone === vaultZone && isRepeated(entry.lineage);
  if (state.sealing.isSealed(entry.zone) && !isVaults && namesUnsealedFiles(entry)) {
    return { entry,
      detail: "the zone is sealed, and a file of the record is not; attach the file again" };
  }
  const made = identified(state, entry, randomBytes);
  // Only a program that gives the greatest number at once leads to that.
  if (!made) return { entry, detail: "the record can have no further versions; copy it" };
  return { entry: made };
}

/** Parks a change that waits. Others of its group go on without it. */
function parkUnsent(state, entry, detail) {
  if (isGrouped(entry)) {
    ungroup(state, state.transaction.outbox.entries()
      .filter(({ group, number }) => group === entry.group && number !== entry.number));
  }
  state.transaction.putEntry(parked(entry, { code: "badRequest", detail }));
}

/** Returns the lost versions that the entry includes, for the relay; none unless the relay has lost
 * some, and in sealed zones, whose records name all that they include (`RecordVersion`). */
function includesOf(state, entry) {
  if (!state.restore || state.sealing.isSealed(entry.zone)) return [];
  const own = fingerprint(entry);
  const known = state.transaction.ancestors(keyOf(entry)).filter(isFingerprint);
  return [...known, own].slice(-limits.includes);
}

function choose(state, offer) {
  const entries = state.transaction.outbox.entries();
  const isHeldBack = heldBackTest(state);
  const first = entries.find(
    (entry) => entry.state.kind === "waiting" && !offer.blockedZones.includes(entry.zone)
      && state.mayWrite(entry.zone) && !state.isSetAside(entry) && !isHeldBack(entry),
  );
  if (!first) return [];
  if (!isGrouped(first)) {
    return gather(state, entries.filter((entry) => !isHeldBack(entry)), first, offer);
  }
  const members = entries.filter(
    (entry) => entry.group === first.group && entry.state.kind === "waiting",
  );
  const bytes = members.reduce((sum, entry) => sum + cost(state, entry), 0);
  if (members.length <= limits.batchRecords && bytes <= batchBytes) return members;
  return ungroup(state, members).slice(0, 1);
}

/** Splits a group that cannot be one batch: its members are sent one after the other. The
 * copies have the smaller numbers and go first, so that no content is overwritten before it is
 * saved. */
function ungroup(state, members) {
  const alone = members.map((member) => ({ ...member, group: null }));
  for (const member of alone) state.transaction.putEntry(member);
  return alone;
}

function gather(state, entries, first, offer) {
  const most = Math.max(1, Math.min(offer.records, limits.batchRecords));
  const bytesMax = Math.min(offer.bytes, batchBytes);
  const gathered = [];
  let bytes = 0;
  for (const entry of entries) {
    if (entry.number < first.number || entry.state.kind !== "waiting") continue;
    if (entry.zone !== first.zone || isGrouped(entry) || state.isSetAside(entry)) continue;
    bytes += cost(state, entry);
    if (gathered.length > 0 && bytes > bytesMax) break;
    gathered.push(entry);
    if (gathered.length === most) break;
  }
  return gathered;
}

function cost({ sealing }, entry) {
  // A name may need an escape for every byte.
  const names = 2 * (byteCount(entry.name) + byteCount(entry.type));
  return sealing.relaySize(entry) + names + overheadBytes
    + (entry.chunks?.length ?? 0) * chunkBytes;
}

function requestOf(state, id, entries) {
  const { zone } = entries[0];
  const seal = state.sealing.seal(zone);
  const records = entries.map(seal ? (entry) => sealedMutationOf(state, seal, entry) : mutationOf);
  return { id, zone, atomic: isGrouped(entries[0]), records };
}

/** Returns the mutation with the sealed record. The same change has the same seal each time. */
function sealedMutationOf({ device }, seal, entry) {
  const version = versionOf(entry.lineage);
  const sealed = seal.seal({ ...recordOf(entry, device, 0), version }, device);
  // The relay sees no deletion, and is told nothing of versions that it has lost.
  return mutationOf({ ...entry, ...sealed, base: { tag: entry.base?.tag ?? 0 }, includes: [] });
}

function mutationOf({ name, type, fields, chunks, modifiedAt, base, includes }) {
  const mutation = { name, type, modifiedAt, baseTag: base?.tag ?? 0 };
  if (base && standsForLost(base)) mutation.unlessDeleted = true;
  if (includes?.length > 0) mutation.includes = includes;
  if (fields === null) return { ...mutation, deleted: true };
  return chunks?.length > 0 ? { ...mutation, fields, chunks } : { ...mutation, fields };
}
