/** Every ceiling of names, fields and apps, once, with its unit and its reason. */
export const limits = Object.freeze({
  /** Zone, record and type names, in bytes of UTF-8. */
  nameBytes: 255,
  /** One record's fields as canonical JSON, in bytes. */
  recordBytes: 1 << 20,
  /** Nesting of JSON: deeper input is refused before it can exhaust a stack. */
  jsonDepth: 64,
  /** Nesting of a message: records' fields are as deep as they may be, and it wraps them. */
  messageDepth: 72,
  /** One phase of a timer, in milliseconds: a day. What is longer is a slip of the finger. */
  timerMilliseconds: 24 * 3_600_000,
  /** A long break comes after at most so many pomodoros, where a person sets it. */
  longBreakEvery: 1_000,
  /** Items of the clipboard that stand at a time; older ones go. */
  clipboardItems: 100,
  /** What one check of a habit may add to a day's count: more is a slip of the finger. */
  habitCount: 1_000_000,
  /** A habit's title, in Unicode scalars. */
  habitTitle: 200,
  /** A memo's title, in Unicode scalars. */
  memoTitle: 100,
});
