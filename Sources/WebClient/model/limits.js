/** All limits of names, fields and apps, each with its unit and its reason. */
export const limits = Object.freeze({
  /** Zone, record and type names, in bytes of UTF-8. */
  nameBytes: 255,
  /** One record's fields as canonical JSON, in bytes. */
  recordBytes: 1 << 20,
  /** Rules of fields in the table of one record type, and types in one table. */
  mergeRuleFields: 256,
  mergeRuleTypes: 256,
  /** Age at which the stamp of a removed field, element or member is dropped by a later edit: a
   * device that was away for longer may bring the removed value back. */
  removalStampMilliseconds: 90 * 86_400_000,
  /** One phase of a timer, in milliseconds: a day. A longer one is a typing error. */
  timerMilliseconds: 24 * 3_600_000,
  /** Acts of the timer that one further act names as replaced. */
  replacedActs: 8,
  /** Maximum interval of the long break, in pomodoros, in a person's settings. */
  longBreakEvery: 1_000,
  /** Number of clipboard items that are kept; older ones are removed. */
  clipboardItems: 100,
  /** Maximum amount that one check of a habit adds to a day's count: more is a typing error. */
  habitCount: 1_000_000,
  /** Habit title, in Unicode scalars. */
  habitTitle: 200,
  /** Memo title, in Unicode scalars. */
  memoTitle: 100,
});
