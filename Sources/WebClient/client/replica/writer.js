import { hex } from "../../sealing/hex.js";
import { isRepeated, changedLineage, lineageOn, versionOf } from "./lineage.js";
import { storedSeals } from "./sealedZones.js";

// This replica as the writer of versions. Its id is its own as long as it knows all numbers that it
// has given. If it meets a greater one, its storage was set back, or copied to another browser: it
// then takes a new id.

/**
 * A writer: its id, and the greatest number that it has given.
 *
 * @typedef {{id: string, greatest: number}} Writer
 * @typedef {import("../../sealing/versionVector.js").VersionID} VersionID
 */

const idBytes = 8;
/** Numbers leave gaps of random length, up to this, so that a replica that was set back hardly ever
 * gives a number twice. */
const stepMax = 2 ** 20;

/** Returns the change with its id as a version, in a sealed zone; null if its record has no numbers
 * left. */
export function identified(state, entry, randomBytes) {
  const { sealing } = state;
  if (!sealing.isSealed(entry.zone)) return entry;
  let lineage = entry.lineage ?? lineageOn(null);
  if (lineage.id && !isRepeated(lineage) && lineage.id.writer !== sealing.writer?.id) {
    lineage = changedLineage(lineage);
  }
  const id = lineage.id ?? nextID(state, lineage.made, randomBytes);
  return id && { ...entry, lineage: { ...lineage, id } };
}

/** Returns the id of a new version on those that `made` includes; null if no number is left. */
function nextID(state, made, randomBytes) {
  const { writer } = state.sealing;
  const id = (writer && numbered(writer, made, randomBytes))
    ?? numbered({ id: hex(randomBytes(idBytes)), greatest: 0 }, made, randomBytes);
  if (id) setWriter(state, { id: id.writer, greatest: id.number });
  return id;
}

/** @returns {VersionID | null} */
function numbered({ id, greatest }, made, randomBytes) {
  const [high, middle, low] = randomBytes(3);
  const step = 1 + ((high << 16) | (middle << 8) | low) % stepMax;
  const number = Math.max(greatest, made.greatest) + step;
  return Number.isSafeInteger(number) ? { writer: id, number } : null;
}

function setWriter({ sealing, transaction }, writer) {
  sealing.writer = writer;
  transaction.setValue(storedSeals.writer, writer ?? undefined);
}

/** Gives up this replica's id as a writer if the version includes one of its versions that it does
 * not know. */
export function noteOwnVersions(state, { vector }) {
  const { writer } = state.sealing;
  if (writer && vector.names({ writer: writer.id, number: writer.greatest + 1 })) {
    setWriter(state, null);
  }
}

/** Handles a version of the refused change's writer, this replica, which the change was not made
 * on: the storage was set back, and the replica has given the change a greater number. Returns the
 * waiting change, which then does not include what it refused. The id may have been given up
 * before, for another change of the same answer. */
export function withoutFork(state, waiting, refused, { vector }) {
  const own = versionOf(refused.lineage);
  if (!own || isRepeated(refused.lineage)) return waiting;
  const { writer } = own.id;
  const number = vector.number(writer);
  const isFork = vector.names({ writer, number }) && number > own.made.number(writer)
    && number < own.id.number;
  if (!isFork) return waiting;
  if (state.sealing.writer?.id === writer) setWriter(state, null);
  const put = waiting.lineage
    ? { ...waiting, lineage: { ...waiting.lineage, made: own.made, id: null } } : waiting;
  state.transaction.putEntry(put);
  return put;
}

/** True if the version includes the change of this lineage. */
export function includesChange({ sealing }, version, lineage) {
  const own = versionOf(lineage);
  if (!own) return false;
  if (own.isSame(version)) return true;
  if (!version.includes(own)) return false;
  // What the numbers of a replica say that was set back, and a number of a writer without an entry,
  // is a guess.
  return isRepeated(lineage)
    || (own.id.writer === sealing.writer?.id && version.made.names(own.id));
}
