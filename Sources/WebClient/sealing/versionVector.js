import { hex, hexBytes, is64Bits } from "./hex.js";

/** Entries of a vector at most. */
export const vectorEntriesMax = 64;
const numberBytes = 8;
/** Bytes of the id of a version. */
export const idBytes = 16;

/** True if these are the entries and the floor of a vector. */
function areValid(entries, floor) {
  return Number.isSafeInteger(floor) && floor >= 0 && entries.length <= vectorEntriesMax
    && entries.every(({ writer, number }, index) => is64Bits(writer)
      && Number.isSafeInteger(number) && number > floor
      // Writers have as many digits each, so their texts are in the order of their numbers.
      && (index === 0 || entries[index - 1].writer < writer));
}

/** Writes a number in 8 bytes. @param {DataView} view */
function writeNumber(view, place, number) {
  view.setUint32(place, Math.floor(number / 2 ** 32));
  view.setUint32(place + 4, number >>> 0);
}

/** Returns the number of 8 bytes; above 2^53 - 1 it is not exact, but no safe integer either. */
const readNumber = (view, place) =>
  view.getUint32(place) * 2 ** 32 + view.getUint32(place + 4);

/**
 * Identity of one version of a record. `writer`: 64 random bits, which a replica draws for its
 * versions, as 16 lowercase hexadecimal digits; not the device's id, which the relay assigns.
 * `number`: 1 to 2^53 - 1; greater than that of every version that its writer made before, and than
 * those that it was made on.
 *
 * @typedef {{writer: string, number: number}} VersionID
 */

/**
 * Writes the id of a version at this place: its writer and its number, 8 bytes each.
 *
 * @param {Uint8Array} bytes
 * @param {number} place
 * @param {VersionID} id
 */
export function writeID(bytes, place, { writer, number }) {
  bytes.set(hexBytes(writer), place);
  writeNumber(new DataView(bytes.buffer, bytes.byteOffset), place + numberBytes, number);
}

/**
 * Returns the id at this place, whose number may be that of no version.
 *
 * @param {Uint8Array} bytes
 * @param {number} place
 * @returns {VersionID}
 */
export const readID = (bytes, place) => ({
  writer: hex(bytes.subarray(place, place + numberBytes)),
  number: readNumber(new DataView(bytes.buffer, bytes.byteOffset), place + numberBytes),
});

/**
 * Set of versions of a record: for each writer of the record, its versions up to a number. It does
 * not change. Numbers are at most 2^53 - 1, although 64 bits hold them in a sealed record:
 * JavaScript has no exact numbers above, and all devices must refuse the same records.
 */
export class VersionVector {
  #numbers;

  /**
   * @param {VersionID[]=} entries in the order of writers, each once, with numbers greater than
   *   `floor`; at most 64
   * @param {number=} floor number of every writer that has no entry: 0 until more writers have
   *   written the record than there are entries
   * @throws {RangeError} if these are not those of a vector
   */
  constructor(entries = [], floor = 0) {
    if (!areValid(entries, floor)) throw new RangeError("these are no entries of a version vector");
    this.#numbers = new Map(entries.map(({ writer, number }) => [writer, number]));
    this.entries = Object.freeze(
      entries.map(({ writer, number }) => Object.freeze({ writer, number })));
    this.floor = floor;
    Object.freeze(this);
  }

  /** Number of the newest version of a writer that is included. @param {string} writer */
  number(writer) { return this.#numbers.get(writer) ?? this.floor; }

  /**
   * True if this vector includes all versions that the other one includes.
   *
   * @param {VersionVector} other
   */
  covers(other) {
    return other.floor <= this.floor
      && other.entries.every(({ writer, number }) => this.number(writer) >= number);
  }

  /**
   * Returns the vector that includes what both include. If these are more than 64 writers, those
   * with the smallest numbers lose their entries, and every writer is then taken to have been seen
   * up to the greatest of these numbers.
   *
   * @param {VersionVector} other
   */
  joined(other) {
    const floor = Math.max(this.floor, other.floor);
    const writers = [...new Set([...this.#numbers.keys(), ...other.#numbers.keys()])].sort();
    const entries = writers
      .map((writer) => ({ writer, number: Math.max(this.number(writer), other.number(writer)) }))
      .filter(({ number }) => number > floor);
    if (entries.length <= vectorEntriesMax) return new VersionVector(entries, floor);
    const numbers = entries.map(({ number }) => number).sort((left, right) => left - right);
    const raised = numbers[entries.length - vectorEntriesMax - 1];
    return new VersionVector(entries.filter(({ number }) => number > raised), raised);
  }

  /**
   * True if an entry includes the version, and not the floor alone, which is a guess.
   *
   * @param {VersionID} id
   */
  names({ writer, number }) { return this.number(writer) >= Math.max(number, this.floor + 1); }

  /** Greatest number of all versions that are included. */
  get greatest() { return Math.max(this.floor, ...this.#numbers.values()); }

  /**
   * Returns the vector that also includes this version.
   *
   * @param {VersionID} id
   * @throws {RangeError} if it is none
   */
  adding(id) { return this.joined(new VersionVector([id])); }

  /**
   * Returns the vector with this number for the writer's versions, or with the floor if that is
   * greater.
   *
   * @param {string} writer
   * @param {number} number
   * @throws {RangeError} if these are above the floor, and those of no version
   */
  setting(writer, number) {
    const others = this.entries.filter((entry) => entry.writer !== writer);
    const vector = new VersionVector(others, this.floor);
    return number > this.floor ? vector.adding({ writer, number }) : vector;
  }

  /** Returns the floor in 8 bytes, then 16 for each entry: its writer and its number. */
  bytes() {
    const bytes = new Uint8Array(numberBytes + idBytes * this.entries.length);
    writeNumber(new DataView(bytes.buffer), 0, this.floor);
    this.entries.forEach((id, index) => writeID(bytes, numberBytes + idBytes * index, id));
    return bytes;
  }

  /**
   * Returns the vector whose `bytes` these are; null if they are not those of one, or if a number
   * is above 2^53 - 1.
   *
   * @param {Uint8Array} bytes
   * @returns {VersionVector | null}
   */
  static ofBytes(bytes) {
    const count = (bytes.length - numberBytes) / idBytes;
    if (!Number.isInteger(count) || count < 0) return null;
    const entries = Array.from(
      { length: count }, (_, index) => readID(bytes, numberBytes + idBytes * index));
    const floor = readNumber(new DataView(bytes.buffer, bytes.byteOffset), 0);
    return areValid(entries, floor) ? new VersionVector(entries, floor) : null;
  }
}
