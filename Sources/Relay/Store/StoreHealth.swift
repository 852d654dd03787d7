import LockstepModel
import LockstepStorage

/// Health of the store, as far as the last commits and reads show it.
struct StoreHealth: Sendable {
  private var commitFault: StorageError?
  private var readFault: StorageError?
  /// Chunks of files are stored separately: without them the relay still does most of its work, so
  /// this does not count as a fault of the store.
  private var chunkFault: StorageError?

  /// nil if the store works.
  var fault: StorageError? { commitFault ?? readFault }

  /// Records a failed commit. Returns true if the store worked before.
  mutating func recordCommitFailure(_ error: StorageError) -> Bool {
    let wasGood = fault == nil
    commitFault = error
    return wasGood
  }

  mutating func recordReadFailure(_ error: StorageError) -> Bool {
    let wasGood = fault == nil
    readFault = error
    return wasGood
  }

  /// Records a successful commit. Returns true if the store did not work before. A commit shows
  /// that reads work too: both need the same files.
  mutating func recordCommitSuccess() -> Bool {
    let wasBad = fault != nil
    commitFault = nil
    readFault = nil
    return wasBad
  }

  mutating func recordReadSuccess() -> Bool {
    guard readFault != nil else { return false }
    readFault = nil
    return fault == nil
  }

  /// Records a failure of the chunk store. Returns true if it worked before.
  mutating func recordChunkFailure(_ error: StorageError) -> Bool {
    defer { chunkFault = error }
    return chunkFault == nil
  }

  /// Records that a file was written and synced. Returns true if that had failed before.
  mutating func recordChunkSuccess() -> Bool {
    defer { chunkFault = nil }
    return chunkFault != nil
  }

  /// Time of the last check of the disk's free bytes, and whether there were too few.
  private var checkedAt: Instant?
  private(set) var isDiskLow = false

  /// Returns true if the disk is due for a check.
  mutating func beginDiskCheck(at instant: Instant) -> Bool {
    if let checkedAt, instant < checkedAt.advanced(milliseconds: Limits.diskCheckMilliseconds) {
      return false
    }
    checkedAt = instant
    return true
  }

  /// Records the result of a check. Returns true if it differs from the last one.
  mutating func recordDiskCheck(isDiskLow: Bool) -> Bool {
    defer { self.isDiskLow = isDiskLow }
    return self.isDiskLow != isDiskLow
  }

  static let diskLow = Refusal(
    .diskLow,
    "The relay's disk is nearly full, and it accepts no new data; existing data can be read and "
      + "deleted. The relay's owner must free space.",
    retryAfterMilliseconds: Limits.diskRetryMilliseconds)

  static func refusal(of fault: StorageError) -> Refusal {
    Refusal(
      .storeUnavailable, "\(fault)", retryAfterMilliseconds: Limits.storeProbeMilliseconds)
  }

  /// The store's result does not fit the request: a bug of the relay.
  static let mismatch = Refusal(.internalError, "The relay has an internal error; try again later.")

  static let unavailable = Refusal(
    .storeUnavailable, "The relay's store is unavailable, and nothing was changed; try again soon.",
    retryAfterMilliseconds: Limits.storeProbeMilliseconds)
}

/// Costs of the store's work, measured by the threads that do it. A node shows them and measures
/// nothing itself.
@usableFromInline
package struct StoreMeasures: Sendable, Hashable {
  /// Histogram bounds in nanoseconds, from 0.1 ms to 10 s: a fast disk syncs within the first of
  /// them, and a client notices the delay long before the last.
  static let durations: [Int64] = [
    100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000,
    100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000,
    10_000_000_000,
  ]

  /// Transactions, from their begin until they were durable, in nanoseconds.
  @usableFromInline package var commits = Histogram(bounds: durations)
  /// Syncs of the write-ahead log alone, in nanoseconds.
  @usableFromInline package var syncs = Histogram(bounds: durations)
  /// Reads alone, of pages of changes and of all else, in nanoseconds.
  @usableFromInline package var fetches = Histogram(bounds: [10_000, 25_000, 50_000] + durations)
  /// Number of requests per transaction.
  @usableFromInline package var batches = Histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256])
  /// Number of accounts in the store.
  @usableFromInline package var accounts = 0
  /// Bytes of the database, and of its write-ahead log; nil if not measured.
  @usableFromInline package var databaseBytes: Int64?
  @usableFromInline package var logBytes: Int64?
  /// Free bytes on the store's disk, for the user that runs the relay; nil if not measured.
  @usableFromInline package var freeBytes: Int64?

  @usableFromInline package init() {}
}

/// Resources that the process uses; nil if not measured, or not reported by the system.
@usableFromInline
package struct ProcessMeasures: Sendable, Hashable {
  @usableFromInline package var residentBytes: Int64?
  /// Processor time of all its threads.
  @usableFromInline package var processorNanoseconds: Int64?
  @usableFromInline package var openDescriptors: Int64?
  @usableFromInline package var mostDescriptors: Int64?

  @usableFromInline package init() {}
}

/// Source of a node's current measurements: the driver's workers have them.
@usableFromInline
package struct MeasureSource: Sendable {
  @usableFromInline package let read: @Sendable () -> StoreMeasures
  @usableFromInline package let readProcess: @Sendable () -> ProcessMeasures
  /// Returns the fault of the store's files, even if there are no saves.
  @usableFromInline package let fault: @Sendable () -> StorageError?
  /// Returns the results of the last backup and the last check of the store.
  @usableFromInline package let upkeep: @Sendable () -> StoreUpkeep
  /// Returns the end of the relay's certificate in milliseconds since the Unix epoch; nil if it has
  /// none.
  @usableFromInline package let certificateEnd: @Sendable () -> Int64?

  @usableFromInline
  package init(
    _ read: @escaping @Sendable () -> StoreMeasures,
    process: @escaping @Sendable () -> ProcessMeasures = { ProcessMeasures() },
    upkeep: @escaping @Sendable () -> StoreUpkeep = { StoreUpkeep() },
    fault: @escaping @Sendable () -> StorageError? = { nil },
    certificateEnd: @escaping @Sendable () -> Int64? = { nil }
  ) {
    self.upkeep = upkeep
    self.fault = fault
    self.certificateEnd = certificateEnd
    self.read = read
    readProcess = process
  }

  /// For a node whose store is not measured.
  @usableFromInline package static let none = MeasureSource { StoreMeasures() }
}
