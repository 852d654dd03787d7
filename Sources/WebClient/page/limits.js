/** All limits of the page, each with its unit and its reason. */
export const limits = Object.freeze({
  /** Display time of a notice: enough to read it and to undo the action. */
  noticeMilliseconds: 8_000,
  /** Pause in typing after which the text is saved. */
  memoRestMilliseconds: 700,
  /** Former versions of one memo that this browser keeps. */
  versionsOfMemo: 20,
  /** Former versions of all memos, in UTF-16 units: 4 MiB in the browser's store. */
  versionsLength: 2 * 1_024 * 1_024,
  /** Time in which the edits of one device are one version. */
  versionMilliseconds: 5 * 60_000,
  /** Drafts that this browser keeps: a draft is there until its memo is saved. */
  drafts: 50,
  /** Part of a memo that is read as markdown, in UTF-16 units: the rest is shown as it is. */
  previewLength: 50_000,
  /** Text of a search, in UTF-16 units: each word is searched in everything. */
  searchLength: 200,
  /** Rows of memos that are made at once: a person searches rather than scrolls further. */
  memoRows: 100,
  /** Tags that are offered as filters: the search finds the others. */
  offeredTags: 40,
  /** Lines of a text that a comparison shows: the rest is not made. */
  comparedLines: 2_000,
  /** Maximum age of the list of devices, and the interval of its refresh while it is shown. */
  devicesMilliseconds: 5_000,
  /** Interval in which the list of devices is read while a code is shown: the new device is named,
   * and its code is hidden, almost at once. */
  arrivalMilliseconds: 1_000,
  /** Wait for the first sync of an account that was just joined, before its views are shown: a
   * person waits so long without a doubt that something happens. */
  joinedMilliseconds: 4_000,
  /** Tries for a default name that no other device has: two devices may join at once. */
  nameTries: 3,
  /** Lifetime of the URL of a file to keep: the browser reads it at once. */
  copyMilliseconds: 60_000,
  /** One image of the clipboard, in bytes, as the service worker has it for what is shared: a photo
   * of a phone; larger files belong to the vault. */
  imageBytes: 16_000_000,
  /** Longer side of the small picture of an image, in pixels: twice the width that is shown. */
  thumbnailPixels: 160,
  /** Images that wait in this browser to be sent. */
  waitingImages: 20,
  /** Pause before an image is sent again that the relay did not accept. */
  imageRetryMilliseconds: 30_000,
  /** Contents of images that a page keeps in memory, so that a copy needs no second download. */
  keptImages: 4,
  /** Zones that are offered for a limited device: as many as the relay accepts in a scope. */
  zonesOfCode: 16,
  /** Age of a countdown's end up to which a page that waited for it announces it: browsers run the
   * timers of a hidden page once a minute. */
  alertLateMilliseconds: 90_000,
  /** The same for a page that was opened or connected later; and the age of an end from which on a
   * page that was asleep reads first what it has missed. */
  alertPromptMilliseconds: 5_000,
  /** Delay of a page that is hidden, and of one that may not sound yet, so that another page of
   * this browser that can do more announces the end. */
  alertYieldMilliseconds: 400,
  /** Pause in moving the slider of the volume after which it is saved. */
  volumeRestMilliseconds: 400,
  /** Wait for the browser to let the page sound; the person is told in another way then. */
  audioMilliseconds: 500,
  /** Way of a finger from which on it swipes a row, in CSS pixels: less is an unsteady tap. */
  swipeBeginPixels: 12,
  /** Way from which on letting go acts; a third of a narrow row is enough. */
  swipeActPixels: 112,
  /** Width at the screen's edges where swipes belong to the system. */
  swipeEdgePixels: 24,
  /** Interval in which the ages in a view of the habits are written anew. */
  drawMilliseconds: 30_000,
  /** Habits of which one browser reminds. */
  habitReminders: 100,
  /** Titles in one reminder; further ones are counted. */
  remindedTitles: 3,
  /** Interval in which reminders are checked: their times are in whole minutes. */
  reminderMilliseconds: 60_000,
  /** Files that wait to be sent at once. */
  vaultTransfers: 50,
  /** Wait before an upload without a connection is tried again; earlier if the connection is
   * back. */
  transferRetryMilliseconds: 30_000,
  /** Files of the vault that are listed: it is meant for a few. */
  vaultRows: 200,
  /** Chunks of files of which the relay is asked if it has them. */
  checkedChunks: 65_536,
  /** Pause after a change before the relay is asked for missing content, and the interval while
   * some is missing. */
  missingPauseMilliseconds: 500,
  missingMilliseconds: 30_000,
  /** Former versions of one file that this browser knows, and of all files, in UTF-16 units: 4 MiB
   * in the browser's store. */
  versionsOfFile: 20,
  fileHistoryLength: 2 * 1_024 * 1_024,
  /** Length of a device's name, in UTF-16 units, as form fields count it. */
  deviceName: 100,
});
