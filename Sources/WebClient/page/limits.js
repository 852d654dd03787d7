/** Every ceiling of the page, once, with its unit and its reason. */
export const limits = Object.freeze({
  /** How long a notice stands: time to read it and to take something back. */
  noticeMilliseconds: 8_000,
  /** Typing that rests this long is saved. */
  memoRestMilliseconds: 700,
  /** How old the list of devices may be, and how often it is asked for while it is looked at. */
  devicesMilliseconds: 5_000,
  /** How long the copy of what was not sent stands ready: the browser reads it at once. */
  copyMilliseconds: 60_000,
  /** A device's name, in UTF-16 units, as fields take it. */
  deviceName: 100,
});
