/** All limits of the page, each with its unit and its reason. */
export const limits = Object.freeze({
  /** Display time of a notice: enough to read it and to undo the action. */
  noticeMilliseconds: 8_000,
  /** Pause in typing after which the text is saved. */
  memoRestMilliseconds: 700,
  /** Maximum age of the list of devices, and the interval of its refresh while it is shown. */
  devicesMilliseconds: 5_000,
  /** Lifetime of the URL of the copy of unsent changes: the browser reads it at once. */
  copyMilliseconds: 60_000,
  /** Zones that are offered for a limited device: as many as the relay accepts in a scope. */
  zonesOfCode: 16,
  /** Length of a device's name, in UTF-16 units, as form fields count it. */
  deviceName: 100,
});
