import { hex, hexBytes } from "./hex.js";

/** Entries of a vector at most. */
export const vectorEntriesMax = 64;
const numberMax = Number.MAX_SAFE_INTEGER;
const numberBytes = 8;
const entryBytes = 16;

const isDevice = (text) => typeof text === "string" && /^[0-9a-f]{16}$/.test(text);

/** True if these are the entries and the floor of a vector. */
function areValid(entries, floor) {
  return Number.isSafeInteger(floor) && floor >= 0 && entries.length <= vectorEntriesMax
    && entries.every(({ device, number }, index) => isDevice(device)
      && Number.isSafeInteger(number) && number > floor
      // Devices have as many digits each, so their texts are in the order of their numbers.
      && (index === 0 || entries[index - 1].device < device));
}

/** @typedef {{device: string, number: number}} Entry device: 16 lowercase hexadecimal digits */

/**
 * Versions of a record that one version was made on, and itself: for each device that has written
 * the record, the newest of its versions that is included. A device computes it and seals it into
 * the record, so that no relay can make one version follow another. It does not change.
 *
 * A version is identified by its device and a number: the version's time, or one more than the
 * greatest number that it includes, if that is later. Numbers are at most 2^53 - 1, although 64
 * bits hold them in a sealed record: JavaScript has no exact numbers above, and all devices must
 * refuse the same records.
 */
export class VersionVector {
  #numbers;

  /**
   * @param {Entry[]=} entries in the order of devices, each once, with numbers greater than
   *   `floor`; at most 64
   * @param {number=} floor number of every device that has no entry: 0 until more devices have
   *   written the record than there are entries
   * @throws {RangeError} if these are not those of a vector
   */
  constructor(entries = [], floor = 0) {
    if (!areValid(entries, floor)) throw new RangeError("these are no entries of a version vector");
    this.#numbers = new Map(entries.map(({ device, number }) => [device, number]));
    this.entries = Object.freeze(
      entries.map(({ device, number }) => Object.freeze({ device, number })));
    this.floor = floor;
    Object.freeze(this);
  }

  /** Number of the newest version of a device that is included. @param {string} device */
  number(device) { return this.#numbers.get(device) ?? this.floor; }

  /**
   * True if the version of this vector includes the version of the other one, or is it.
   *
   * @param {VersionVector} other
   */
  covers(other) {
    return other.floor <= this.floor
      && other.entries.every(({ device, number }) => this.number(device) >= number);
  }

  /**
   * Returns the vector that includes what both include. If these are more than 64 devices, those
   * with the smallest numbers lose their entries, and every device is then taken to have been seen
   * up to the greatest of these numbers.
   *
   * @param {VersionVector} other
   */
  joined(other) {
    const floor = Math.max(this.floor, other.floor);
    const devices = [...new Set([...this.#numbers.keys(), ...other.#numbers.keys()])].sort();
    const entries = devices
      .map((device) => ({ device, number: Math.max(this.number(device), other.number(device)) }))
      .filter(({ number }) => number > floor);
    if (entries.length <= vectorEntriesMax) return new VersionVector(entries, floor);
    const numbers = entries.map(({ number }) => number).sort((left, right) => left - right);
    const raised = numbers[entries.length - vectorEntriesMax - 1];
    return new VersionVector(entries.filter(({ number }) => number > raised), raised);
  }

  /**
   * Returns the vector of a version that a device makes on those that this vector includes; null if
   * there is no number left for it.
   *
   * @param {string} device
   * @param {number} time milliseconds
   * @returns {VersionVector | null}
   * @throws {RangeError} if this is no device, or no whole number
   */
  adding(device, time) {
    const greatest = Math.max(this.floor, ...this.#numbers.values());
    const number = Math.max(time, greatest + 1);
    if (number > numberMax) return null;
    return this.joined(new VersionVector([{ device, number }]));
  }

  /** Returns the floor in 8 bytes, then 16 for each entry: its device and its number. */
  bytes() {
    const bytes = new Uint8Array(numberBytes + entryBytes * this.entries.length);
    const view = new DataView(bytes.buffer);
    const write = (place, number) => {
      view.setUint32(place, Math.floor(number / 2 ** 32));
      view.setUint32(place + 4, number >>> 0);
    };
    write(0, this.floor);
    this.entries.forEach(({ device, number }, index) => {
      const place = numberBytes + entryBytes * index;
      bytes.set(hexBytes(device), place);
      write(place + numberBytes, number);
    });
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
    const count = (bytes.length - numberBytes) / entryBytes;
    if (!Number.isInteger(count) || count < 0) return null;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    // Not exact above 2^53, but then no safe integer either.
    const read = (place) => view.getUint32(place) * 2 ** 32 + view.getUint32(place + 4);
    const entries = Array.from({ length: count }, (_, index) => {
      const place = numberBytes + entryBytes * index;
      const number = place + numberBytes;
      return { device: hex(bytes.subarray(place, number)), number: read(number) };
    });
    const floor = read(0);
    return areValid(entries, floor) ? new VersionVector(entries, floor) : null;
  }
}
