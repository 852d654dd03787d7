import { limits } from "../limits.js";
import { classFor, ContentCuts, sizeClasses } from "./contentCuts.js";
import { FileError } from "./fileError.js";

export { contentParts, fixedParts };

/**
 * Returns the blocks of a file of one length; the last one has the rest.
 *
 * @param {Blob} blob
 * @param {number} blockBytes
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function* fixedParts(blob, blockBytes) {
  for (let start = 0; start < blob.size; start += blockBytes) {
    yield await read(blob, start, Math.min(blob.size, start + blockBytes));
  }
}

/**
 * Returns the chunks of a file, cut as its content suggests.
 *
 * @param {Blob} blob
 * @param {ContentCuts} cuts
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function* contentParts(blob, cuts) {
  for (let start = 0; start < blob.size;) {
    const bytes = await read(blob, start, Math.min(blob.size, start + limits.fileReadBytes));
    const isRest = start + bytes.length === blob.size;
    let place = 0;
    while (place < bytes.length && (isRest || bytes.length - place >= cuts.most)) {
      const length = cuts.length(bytes.subarray(place));
      yield bytes.subarray(place, place + length);
      place += length;
    }
    start += place;
  }
}

/** Returns the cuts for each class of sizes that a file may have, in the order of the tries.
 * @param {bigint} seed @param {number} bytes */
export const cutsFor = (seed, bytes) =>
  sizeClasses.slice(classFor(bytes)).map((sizes) => new ContentCuts(seed, sizes));

async function read(blob, start, end) {
  let buffer;
  try {
    buffer = await blob.slice(start, end).arrayBuffer();
  } catch (error) {
    throw new FileError("unreadable", undefined, { cause: error });
  }
  if (buffer.byteLength !== end - start) throw new FileError("unreadable");
  return new Uint8Array(buffer);
}
