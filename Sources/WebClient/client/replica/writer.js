import { hex } from "../../sealing/hex.js";
import { limits } from "../limits.js";
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
    lineage = { ...changedLineage(lineage), isMerge: lineage.isMerge };
  }
  if (lineage.id) return { ...entry, lineage };
  const id = nextID(state, lineage.made, randomBytes);
  if (!id) return null;
  const given = [...lineage.given, id].slice(-limits.givenIds);
  return { ...entry, lineage: { ...lineage, id, given } };
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

/** Returns the lineage of a change, which does not include what the replica has forgotten. If the
 * relay's version includes one of the replica's that is neither in the base nor the change as it
 * was frozen, the storage was set back; the numbers that it has given since say nothing then of the
 * forgotten ones, although they may be greater. */
export function lineageWithoutForks(state, entry, { vector }) {
  let lineage = entry.lineage ?? lineageOn(null);
  for (const writer of new Set(lineage.given.map((id) => id.writer))) {
    const { base, made, id, given } = lineage;
    const number = vector.number(writer);
    const known = base?.vector.number(writer) ?? 0;
    const isGiven = given.some((it) => it.writer === writer && it.number === number);
    if (isGiven || number <= known || !vector.names({ writer, number })) continue;
    if (state.sealing.writer?.id === writer) setWriter(state, null);
    const isForked = id?.writer === writer && !isRepeated(lineage);
    lineage = { ...lineage, made: made.setting(writer, known), id: isForked ? null : id,
      given: given.filter((it) => it.writer !== writer), isMerge: false };
  }
  return lineage;
}

/** True if the version includes the change of this lineage. */
export function includesChange({ sealing }, version, lineage) {
  if (lineage.isMerge && version.vector.covers(lineage.made)) return true;
  const own = versionOf(lineage);
  if (!own) return false;
  if (own.isSame(version)) return true;
  if (!version.includes(own)) return false;
  // What the numbers of a replica say that was set back, and a number of a writer without an entry,
  // is a guess.
  return isRepeated(lineage)
    || (own.id.writer === sealing.writer?.id && version.made.names(own.id));
}
