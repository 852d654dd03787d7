/** All limits of the apps, each with its unit and its reason. */
export const limits = Object.freeze({
  /** One phase of a timer, in milliseconds: a day. A longer one is a typing error. */
  timerMilliseconds: 24 * 3_600_000,
  /** Acts of the timer that one further act names as replaced. */
  replacedActs: 8,
  /** Maximum interval of the long break, in pomodoros, in a person's settings. */
  longBreakEvery: 1_000,
  /** Number of clipboard items that are kept; older ones are removed. */
  clipboardItems: 100,
  /** Pinned items of the clipboard: half of all, so that there is always room for a history. */
  clipboardPins: 50,
  /** Small picture of an image in an item, as a `data:` URL, in UTF-16 units: a hundred of them are
   * less than 3 MiB. */
  thumbnailLength: 24 * 1_024,
  /** Maximum amount that one check of a habit adds to a day's count: more is a typing error. */
  habitCount: 1_000_000,
  /** Habit title, in Unicode scalars. */
  habitTitle: 200,
  /** Memo title, in Unicode scalars. */
  memoTitle: 100,
});
