import { serialize } from "../../json/jsonValue.js";
import { byteCount } from "../../json/utf8.js";
import { limits } from "../limits.js";

/** Limits of the next batch: fewer records while a record that the relay cannot accept is searched
 * for, and fewer bytes if an intermediary on the path to the relay accepts no more. */
export class BatchBounds {
  records = limits.batchRecords;
  bytes = limits.batchBytes;

  /** Resets the limits, because the path or the relay may have changed. */
  reset() {
    this.records = limits.batchRecords;
    this.bytes = limits.batchBytes;
  }

  saved() { this.records = Math.min(2 * this.records, limits.batchRecords); }

  /** Halves the records after the relay has contentRefused the content of this batch. */
  contentRefused(batch) { this.records = Math.max(1, Math.floor(batch.records.length / 2)); }

  /**
   * Handles an intermediary's refusal of the batch for its size. Smaller batches may pass; a single
   * change that does not pass is set aside, so that others continue.
   *
   * @returns {object | null} the replica's task for the batch; null: the batch stays frozen, and is
   *   sent again
   */
  tooLarge(batch, refusal) {
    const least = limits.smallRequestBytes;
    const bytes = byteCount(serialize(batch));
    const isOneChange = batch.atomic || batch.records.length === 1;
    if (bytes <= least || !(isOneChange || this.bytes > least)) return null;
    this.bytes = Math.max(least, Math.floor(Math.min(this.bytes, bytes) / 2));
    const { id } = batch;
    return isOneChange ? { task: "setAside", id } : { task: "refuseBatch", id, refusal };
  }
}
