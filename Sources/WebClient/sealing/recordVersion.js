import { is64Bits } from "./hex.js";
import { idBytes, readID, VersionVector, writeID } from "./versionVector.js";

/** True if the writer can make a version of this number on those of the vector. */
const isVersion = ({ writer, number }, made) => is64Bits(writer) && Number.isSafeInteger(number)
  && number > made.number(writer);

/** Writer of the versions of a record that is not sealed: the relay, whose tags are their
 * numbers. */
const relayWriter = "0".repeat(16);

/**
 * Returns the version that a plain record has at this tag, in a zone that is sealed from now on. It
 * includes all with smaller tags: the relay has saved each only over the one before. null: the
 * relay has no record.
 *
 * @param {number} tag
 */
export function plainVersion(tag) {
  if (tag <= 0) return null;
  const made = new VersionVector(tag > 1 ? [{ writer: relayWriter, number: tag - 1 }] : []);
  return new RecordVersion({ writer: relayWriter, number: tag }, made);
}

/**
 * One version of a record: its identity, and the versions that it was made on. A device computes it
 * and seals it into the record, so that no relay can make one version follow another. It does not
 * change.
 *
 * The versions of one writer are no chain: a replica that was restored from a backup may make a
 * second version on the same one as before. So one version includes another only if what it was
 * made on includes it, and not by its number.
 */
export class RecordVersion {
  /**
   * @param {import("./versionVector.js").VersionID} id with a number greater than that of its
   *   writer in `made`
   * @param {VersionVector=} made versions that it was made on, without itself
   * @throws {RangeError} if these are not those of a version
   */
  constructor({ writer, number }, made = new VersionVector()) {
    if (!(made instanceof VersionVector) || !isVersion({ writer, number }, made)) {
      throw new RangeError("this is no version, or not one after those that it was made on");
    }
    this.id = Object.freeze({ writer, number });
    this.made = made;
    Object.freeze(this);
  }

  /** The versions that it was made on, and itself. */
  get vector() { return this.made.adding(this.id); }

  /**
   * True if the other one has the same identity, and was made on the same versions.
   *
   * @param {RecordVersion} other
   */
  isSame(other) {
    return this.id.writer === other.id.writer && this.id.number === other.id.number
      && this.made.covers(other.made) && other.made.covers(this.made);
  }

  /**
   * True if this version was made on the other one, or is it: a partial order.
   *
   * @param {RecordVersion} other
   */
  includes(other) { return this.isSame(other) || this.made.covers(other.vector); }

  /** Returns the writer and the number in 8 bytes each, then the bytes of `made`. */
  bytes() {
    const made = this.made.bytes();
    const bytes = new Uint8Array(idBytes + made.length);
    writeID(bytes, 0, this.id);
    bytes.set(made, idBytes);
    return bytes;
  }

  /**
   * Returns the version whose `bytes` these are; null if they are not those of one.
   *
   * @param {Uint8Array} bytes
   * @returns {RecordVersion | null}
   */
  static ofBytes(bytes) {
    const made = VersionVector.ofBytes(bytes.subarray(idBytes));
    if (made === null) return null;
    const id = readID(bytes, 0);
    return isVersion(id, made) ? new RecordVersion(id, made) : null;
  }
}
