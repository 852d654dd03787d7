/** All limits of names, fields and rules, each with its unit and its reason. */
export const limits = Object.freeze({
  /** Zone, record and type names, in bytes of UTF-8. */
  nameBytes: 255,
  /** One record's fields as canonical JSON, in bytes. */
  recordBytes: 1 << 20,
  /** Chunks of files that one record may name. */
  chunksPerRecord: 4_096,
  /** Rules of fields in the table of one record type, and types in one table. */
  mergeRuleFields: 256,
  mergeRuleTypes: 256,
  /** Age at which the stamp of a removed field, element or member is dropped by a later edit: a
   * device that was away for longer may bring the removed value back. */
  removalStampMilliseconds: 90 * 86_400_000,
});
