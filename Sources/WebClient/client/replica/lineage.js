import { VersionVector } from "../../sealing/versionVector.js";
import { keyOf } from "../record.js";

/**
 * Descent of a local change to a record of a sealed zone. It alone decides if the change and the
 * relay's version are in conflict: tags and times there are the relay's word.
 *
 * `base`: the vector of the version whose content is in the entry's `base`. `made`: all versions
 * that the change includes, without itself. `number`: that of the change as a version, once it was
 * frozen; null again if it was changed since. `asked`: the vector of the version that a person is
 * asked about, null if there is none.
 *
 * Entries of other zones have none (undefined). A store has plain objects in the place of vectors.
 *
 * @typedef {{base: VersionVector, made: VersionVector, number: number | null,
 *   asked: VersionVector | null}} Lineage
 */

/** Vector that includes nothing. */
export const noVector = new VersionVector();

/** True if both vectors are the same: a version has one vector, and no other version has it. */
export const areSame = (one, other) => one.covers(other) && other.covers(one);

/** Returns the lineage of a new change that is made on the version of this vector. */
export const lineageOn = (vector) => ({ base: vector, made: vector, number: null, asked: null });

/** Returns the vector of the change itself; null before it has a number. */
export function versionOf(lineage, device) {
  if (!lineage || lineage.number === null) return null;
  return lineage.made.adding({ writer: device, number: lineage.number });
}

/** Returns the lineage of a change that was made on this one, and replaces it. */
export function changedLineage(lineage, device) {
  if (!lineage) return lineage;
  return { ...lineage, made: versionOf(lineage, device) ?? lineage.made, number: null };
}

/** Returns the lineage of the change that resolves the conflict with the version `asked`: it is
 * made on both. */
export function resolvedLineage(lineage) {
  if (!lineage?.asked) return lineage;
  const { asked, made, number } = lineage;
  return { base: asked, made: made.joined(asked), number, asked: null };
}

/** Returns the lineage with the number of the change as a version, which is made at `time`; null if
 * no number is left for it. */
export function numberedLineage(lineage, time) {
  if (lineage.number !== null) return lineage;
  const number = lineage.made.nextNumber(time);
  return number === null ? null : { ...lineage, number };
}

/** Returns the lineage of a new change to the record as it is held; undefined in a zone that is not
 * sealed. */
export function newLineage({ sealing, transaction, device }, { zone, name }) {
  if (!sealing.isSealed(zone)) return undefined;
  const key = keyOf({ zone, name });
  const open = transaction.outbox.open(key)?.lineage;
  if (open) return changedLineage(open, device);
  const sent = versionOf(transaction.outbox.sent(key)?.lineage, device);
  return lineageOn(sent ?? transaction.vector(key) ?? noVector);
}

/** Returns the member of an entry that has its lineage; entries of other zones have none. */
export const withLineage = (lineage) => (lineage ? { lineage } : {});

// stored forms: plain objects

/** Returns the row of a record, or the entry of the outbox, as a store has it. */
export function storedVersions(row) {
  if (!row?.vector && !row?.lineage) return row;
  const stored = { ...row };
  if (row.vector) stored.vector = storedVector(row.vector);
  if (row.lineage) {
    const { base, made, number, asked } = row.lineage;
    stored.lineage = { base: storedVector(base), made: storedVector(made), number,
      asked: asked && storedVector(asked) };
  }
  return stored;
}

/**
 * Returns the row or entry with the vectors that a store has in their stored form.
 *
 * @throws {RangeError} if they are none
 */
export function restoredVersions(stored) {
  if (!stored.vector && !stored.lineage) return stored;
  const row = { ...stored };
  if (stored.vector) row.vector = vectorOf(stored.vector);
  if (stored.lineage) {
    const { base, made, number = null, asked = null } = stored.lineage;
    row.lineage = { base: vectorOf(base), made: vectorOf(made), number,
      asked: asked && vectorOf(asked) };
  }
  return row;
}

const storedVector = ({ entries, floor }) =>
  ({ entries: entries.map(({ writer, number }) => ({ writer, number })), floor });

const vectorOf = ({ entries, floor }) => new VersionVector(entries, floor);
