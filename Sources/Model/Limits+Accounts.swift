/// How much one account may take of a relay, and how much of it one commit or read handles.
extension Limits {
  /// Chunks that the records of one batch name together: each is looked up on the thread that does
  /// everybody's commits.
  public static let chunksPerBatch = 4_096
  /// Bytes of records, tombstones and remembered batches that one account keeps. Apart from the
  /// chunks, so that files which take all their room do not stop a timer or a memo.
  public static let recordBytesPerAccount: Int64 = 10 << 30
  /// Records of one account, tombstones among them: many times what a person makes.
  public static let recordsPerAccount: Int64 = 2_000_000
  /// Batches of one account that the relay remembers: one a second for the whole history kept, and
  /// as many again.
  public static let batchesPerAccount: Int64 = 5_000_000
  /// A row in the store takes about as many bytes beyond its names and contents, indexes included.
  public static let rowBytes: Int64 = 128
  /// Records, tombstones, batches and chunks that one commit deletes of a zone or an account: some
  /// milliseconds. Others' commits go between.
  public static let deletedPerCommit = 1_000
  /// Rows of an account that are looked at for one page, or for one portion of a deletion. Where
  /// most of them are other zones' or tombstones, the page is shorter, or empty, with `more`.
  public static let scannedRecords = 8_192
  /// Accounts that strangers make on an open relay, in all.
  public static let accounts = 10_000
  /// Free bytes of the relay's disk below which it takes nothing new, where its owner says nothing
  /// else: room for the log to be moved and for deletions, and for what comes between two looks.
  public static let diskFloorBytes: Int64 = 512 << 20
  /// How often that is looked at, and when whoever is refused for it comes back.
  public static let diskLookMilliseconds: Int64 = 1_000
  public static let diskRetryMilliseconds: Int64 = 60_000
}
