/** All limits of the owner's page, each with its unit and its reason. */
export const limits = Object.freeze({
  /** Timeout of a request whose answer is short. */
  callMilliseconds: 20_000,
  /** Timeout of a page of records, or of a chunk of a file, on a slow line. */
  transferMilliseconds: 120_000,
  /** Timeout of an account's removal, as the relay's own. */
  removalMilliseconds: 600_000,
  /** Interval at which an account that is shown is read again. */
  accountMilliseconds: 5_000,
  /** Interval at which the list of accounts, and the store, are read again. */
  listMilliseconds: 20_000,
  /** Accounts in one answer of the relay: as many as it gives. */
  accountsPerCall: 1_000,
  /** Accounts in the list: a table of more helps nobody, and each has some 300 bytes. */
  accountsMax: 20_000,
  /** Rows on one page of the list. */
  accountsShown: 50,
  /** Bytes of an account's name in UTF-8, as the relay counts them. */
  labelBytes: 255,
  /** Zones in a plan, as the relay counts them. */
  planZones: 100,
  /** Largest limit of a plan that the relay accepts, in bytes or records: 2⁵⁰. */
  planLimit: 2 ** 50,
  /** Age from which a backup, or a check of the store, is shown as too old. */
  upkeepMilliseconds: 7 * 86_400_000,
  /** Bytes of an account that the browser exports: the archive is held by the browser. */
  exportBytes: 4 * 2 ** 30,
  /** Number of passes of an export; a further one is due to a chunk that was removed meanwhile. */
  exportAttempts: 20,
  /** Lifetime of the URL of a finished archive: the browser reads it at once. */
  downloadMilliseconds: 60_000,
});
