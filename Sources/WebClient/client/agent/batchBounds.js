import { serialize } from "../../changes/json.js";
import { byteCount } from "../../changes/utf8.js";
import { limits } from "../limits.js";

/** How large the next batch may be: less while a record is sought that the relay cannot take, and
 * where something on the way to the relay takes no more. */
export class BatchBounds {
  records = limits.batchRecords;
  bytes = limits.batchBytes;

  /** The way, or the relay, may be another one by now. */
  reset() {
    this.records = limits.batchRecords;
    this.bytes = limits.batchBytes;
  }

  saved() { this.records = Math.min(2 * this.records, limits.batchRecords); }

  /** The relay blames something in this batch. */
  blamed(batch) { this.records = Math.max(1, Math.floor(batch.records.length / 2)); }

  /**
   * Something on the way refused the batch for its size. Smaller ones may pass; a change that does
   * not, by itself, is set aside, so that the others go on.
   *
   * @returns {object | null} what the replica does with the batch; null: it stays, and goes again
   */
  tooLarge(batch, refusal) {
    const least = limits.smallRequestBytes;
    const bytes = byteCount(serialize(batch));
    const isOneThing = batch.atomic || batch.records.length === 1;
    if (bytes <= least || !(isOneThing || this.bytes > least)) return null;
    this.bytes = Math.max(least, Math.floor(Math.min(this.bytes, bytes) / 2));
    const { id } = batch;
    return isOneThing ? { task: "setAside", id } : { task: "refuseBatch", id, refusal };
  }
}
