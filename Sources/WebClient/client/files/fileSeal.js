import { fileBlockBytes, ZoneSeal } from "../../sealing/zoneSeal.js";
import { limits } from "../limits.js";
import { FileError } from "./fileError.js";

/** Seals and opens the content of files of one zone; of one that is not sealed, as it is. */
export class FileSeal {
  #zone;
  #seal;

  /**
   * @param {string} zone
   * @param {import("../../sealing/sealingKeys.js").SealingKeys | null} keys
   */
  constructor(zone, keys) {
    const zoneKeys = keys?.zoneKeys(zone) ?? null;
    this.#zone = zone;
    this.#seal = zoneKeys && new ZoneSeal(zoneKeys);
  }

  /** Bytes of a file in each of its chunks but the last, if it is cut at fixed places. */
  get blockBytes() { return this.#seal ? fileBlockBytes : limits.chunkBytes; }

  /** First value of the division by content. @returns {bigint} */
  get chunkSeed() { return this.#seal?.chunkSeed ?? 0n; }

  /** The member `seal` of a reference, in an object; an empty object if the zone is not sealed. */
  get member() {
    return this.#seal ? { seal: { zone: this.#zone, key: this.#seal.keyId } } : {};
  }

  /** @param {Uint8Array} block at least one byte */
  sealed(block) { return this.#seal ? this.#seal.sealBlock(block) : block; }

  /**
   * Returns a function that gives the block in a chunk of a reference.
   *
   * @param {{seal?: {zone: string, key: string}}} reference
   * @returns {(chunk: Uint8Array) => Uint8Array}
   * @throws {FileError} if this device does not have the keys; so does the function, if the chunk
   *   was not sealed with them
   */
  opener({ seal }) {
    if (!seal) return (chunk) => chunk;
    if (seal.zone !== this.#zone) throw new FileError("damaged");
    if (!this.#seal) throw new FileError("noKeys");
    return (chunk) => {
      const { bytes, fault } = this.#seal.openBlock(chunk, seal.key);
      if (bytes) return bytes;
      throw new FileError(fault.kind === "unknownKey" ? "noKeys" : "damaged");
    };
  }
}
