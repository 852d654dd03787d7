import { base64url, base64urlBytes } from "../../sealing/base64url.js";
import { RecordVersion } from "../../sealing/recordVersion.js";
import { idBytes, readID, VersionVector, writeID } from "../../sealing/versionVector.js";
import { keyOf } from "../record.js";

/**
 * Descent of a local change to a record of a sealed zone. It alone decides if the change and the
 * relay's version are in conflict: tags and times there are the relay's word.
 *
 * `base`: the version whose content is in the entry's `base`, null if there is none. `made`: all
 * versions that the change includes, without itself. `id`: that of the change as a version, once it
 * was frozen; null again if it was changed since. It is the id of `base` if the change only saves
 * that version again. `given`: the ids that this replica has given to the change since `base`,
 * oldest first, at most `limits.givenIds`; another one of the same writer shows that the storage
 * was set back. `asked`: the version that a person is asked about, null if there is none.
 * `isMerge`: the change is a merge of versions in `made`, and nothing was edited since: all that it
 * has is in every version that includes those.
 *
 * Entries of other zones have none (undefined).
 *
 * @typedef {import("../../sealing/versionVector.js").VersionID} VersionID
 * @typedef {{base: RecordVersion | null, made: VersionVector, id: VersionID | null,
 *   given: VersionID[], asked: RecordVersion | null, isMerge: boolean}} Lineage
 */

/** Vector that includes nothing. */
export const noVector = new VersionVector();

/** Returns the lineage of a new change that is made on this version; null: of a new record. */
export const lineageOn = (version) => ({
  base: version, made: version?.vector ?? noVector, id: null, given: [], asked: null,
  isMerge: false,
});

/** Returns the lineage of a change that only saves this version again. */
export const repeatedLineage = (version) => ({
  base: version, made: version?.made ?? noVector, id: version?.id ?? null, given: [], asked: null,
  isMerge: false,
});

/** Returns the change itself as a version; null before it has an id. */
export const versionOf = (lineage) =>
  (lineage?.id ? new RecordVersion(lineage.id, lineage.made) : null);

/** True if the change only saves its base again. */
export function isRepeated(lineage) {
  const { id = null, base = null } = lineage ?? {};
  return id !== null && base !== null && id.writer === base.id.writer
    && id.number === base.id.number;
}

/** True if the change has only what versions in `made` have, or its base. */
export const isOfVersions = (lineage) => lineage.isMerge || isRepeated(lineage);

/** True if the change is more than its base with other fields: it was frozen, or replaces changes
 * that were. */
export function isOwnVersion({ base, made, id }) {
  const known = base?.vector ?? noVector;
  return id !== null || !made.covers(known) || !known.covers(made);
}

/** Returns the lineage of a change that was made on this one, and replaces it. */
export function changedLineage(lineage) {
  if (!lineage) return lineage;
  const made = versionOf(lineage)?.vector ?? lineage.made;
  return { ...lineage, made, id: null, isMerge: false };
}

/** Returns the lineage of the change that resolves the conflict with the version `asked`: it is
 * made on both. */
export function resolvedLineage(lineage) {
  if (!lineage?.asked) return lineage;
  const { asked, made } = lineage;
  return { ...lineage, base: asked, made: made.joined(asked.vector), asked: null };
}

/** Returns the lineage of a new change to the record as it is held; undefined in a zone that is not
 * sealed. */
export function newLineage({ sealing, transaction }, { zone, name }) {
  if (!sealing.isSealed(zone)) return undefined;
  const key = keyOf({ zone, name });
  const open = transaction.outbox.open(key)?.lineage;
  if (open) return changedLineage(open);
  const sent = versionOf(transaction.outbox.sent(key)?.lineage);
  return lineageOn(sent ?? transaction.version(key));
}

/** Returns the member of an entry that has its lineage; entries of other zones have none. */
export const withLineage = (lineage) => (lineage ? { lineage } : {});

// stored forms: texts

const lengthBytes = 2;

/** Returns the row of a record, or the entry of the outbox, as a store has it. */
export function storedVersions(row) {
  if (!row?.version && !row?.lineage) return row;
  const stored = { ...row };
  if (row.version) stored.version = base64url(row.version.bytes());
  if (row.lineage) stored.lineage = base64url(bytesOfLineage(row.lineage));
  return stored;
}

/**
 * Returns the row or entry with the versions that a store has in their stored form.
 *
 * @throws {RangeError} if they are none
 */
export function restoredVersions(stored) {
  if (!stored.version && !stored.lineage) return stored;
  const row = { ...stored };
  if (stored.version) row.version = required(bytesIn(stored.version), RecordVersion.ofBytes);
  if (stored.lineage) row.lineage = lineageOfBytes(bytesIn(stored.lineage));
  return row;
}

/** Returns five parts, each behind its length in 2 bytes: base, vector, id, given ids and asked
 * version; none has no bytes. A sixth part, of no bytes, stands for a merge. */
function bytesOfLineage({ base, made, id, given, asked, isMerge }) {
  const ids = given.flatMap((it) => [...bytesOfID(it)]);
  const parts = [base?.bytes(), made.bytes(), id && bytesOfID(id), ids, asked?.bytes(),
    ...(isMerge ? [[]] : [])].map((part) => part ?? []);
  return Uint8Array.from(parts.flatMap((part) => [part.length >> 8, part.length & 255, ...part]));
}

function bytesOfID(id) {
  const bytes = new Uint8Array(idBytes);
  writeID(bytes, 0, id);
  return bytes;
}

function lineageOfBytes(bytes) {
  let rest = bytes;
  const part = () => {
    const length = (rest[0] << 8) | rest[1];
    const read = rest.subarray(lengthBytes, lengthBytes + length);
    if (rest.length < lengthBytes + length) throw notOfLineage();
    rest = rest.subarray(lengthBytes + length);
    return read;
  };
  const [base, made, id, given, asked] = Array.from({ length: 5 }, part);
  const isMerge = rest.length > 0;
  if (isMerge && (part().length > 0 || rest.length > 0)) throw notOfLineage();
  const orNull = (it, read) => (it.length === 0 ? null : required(it, read));
  const vector = required(made, VersionVector.ofBytes);
  return {
    base: orNull(base, RecordVersion.ofBytes), made: vector,
    id: orNull(id, (it) => idOfBytes(it, vector)),
    given: idsOfBytes(given),
    asked: orNull(asked, RecordVersion.ofBytes),
    isMerge,
  };
}

/** Returns the id of a version on those that `made` includes; null if the bytes are none. */
function idOfBytes(bytes, made) {
  return bytes.length === idBytes ? new RecordVersion(readID(bytes, 0), made).id : null;
}

function idsOfBytes(bytes) {
  return Array.from({ length: Math.ceil(bytes.length / idBytes) }, (_, index) => {
    const part = bytes.subarray(index * idBytes, (index + 1) * idBytes);
    return required(part, (id) => idOfBytes(id, noVector));
  });
}

const notOfLineage = () => new RangeError("the stored versions of a record are not readable");

function bytesIn(text) {
  const bytes = typeof text === "string" ? base64urlBytes(text) : null;
  if (bytes === null) throw notOfLineage();
  return bytes;
}

function required(bytes, read) {
  const value = read(bytes);
  if (value === null) throw notOfLineage();
  return value;
}
