/// Limits of one account on a relay, and of the work in one commit or read for it.
extension Limits {
  /// Chunks that the records of one batch name together: each is looked up on the thread that makes
  /// the commits of all accounts.
  public static let chunksPerBatch = 4_096
  /// Bytes of records, tombstones and remembered batches that one account keeps. Counted apart from
  /// chunks, so that files at their limit do not block a timer or a memo.
  public static let recordBytesPerAccount: Int64 = 10 << 30
  /// Records of one account, tombstones included: many times what a person makes.
  public static let recordsPerAccount: Int64 = 2_000_000
  /// Batches of one account that the relay remembers: twice the number that one batch a second
  /// makes in the whole history kept.
  public static let batchesPerAccount: Int64 = 5_000_000
  /// Approximate bytes of a row in the store beyond its names and contents, indexes included.
  public static let rowBytes: Int64 = 128
  /// Records, tombstones, batches and chunks of a zone or an account that one commit deletes: some
  /// milliseconds. Commits of other accounts run in between.
  public static let deletedPerCommit = 1_000
  /// Rows of an account that are scanned for one page, or for one portion of a deletion. If most of
  /// them are tombstones or of other zones, the page is shorter, or empty, with `more`.
  public static let scannedRecords = 8_192
  /// Accounts that unknown clients create on an open relay, in total.
  public static let accounts = 10_000
  /// Free bytes on the relay's disk below which it accepts no new data, unless its owner sets
  /// another value: room for the log checkpoint and for deletions, and for writes between two
  /// checks.
  public static let diskFloorBytes: Int64 = 512 << 20
  /// Interval of that check, and the retry delay for clients that are refused for it.
  public static let diskLookMilliseconds: Int64 = 1_000
  public static let diskRetryMilliseconds: Int64 = 60_000
}
