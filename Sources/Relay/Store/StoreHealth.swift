import LockstepModel
public import LockstepStorage

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

  static let unavailable = Refusal(
    .storeUnavailable, "The relay's store is unavailable, and nothing was changed; try again soon.",
    retryAfterMilliseconds: Limits.storeProbeMilliseconds)
}

/// Costs of the store's work, measured by the threads that do it. A node shows them and measures
/// nothing itself.
public struct StoreMeasures: Sendable, Hashable {
  /// Histogram bounds in nanoseconds, from 0.1 ms to 10 s: a fast disk syncs within the first of
  /// them, and a client notices the delay long before the last.
  static let durations: [Int64] = [
    100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000,
    100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000,
    10_000_000_000,
  ]

  /// Transactions, from their begin until they were durable, in nanoseconds.
  public var commits = Histogram(bounds: durations)
  /// Syncs of the write-ahead log alone, in nanoseconds.
  public var syncs = Histogram(bounds: durations)
  /// Reads alone, of pages of changes and of all else, in nanoseconds.
  public var fetches = Histogram(bounds: [10_000, 25_000, 50_000] + durations)
  /// Number of requests per transaction.
  public var batches = Histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256])
  /// Number of accounts in the store.
  public var accounts = 0
  /// Bytes of the database, and of its write-ahead log; nil if not measured.
  public var databaseBytes: Int64?
  public var logBytes: Int64?
  /// Free bytes on the store's disk, for the user that runs the relay; nil if not measured.
  public var freeBytes: Int64?

  public init() {}
}

/// Resources that the process uses; nil if not measured, or not reported by the system.
public struct ProcessMeasures: Sendable, Hashable {
  public var residentBytes: Int64?
  /// Processor time of all its threads.
  public var processorNanoseconds: Int64?
  public var openDescriptors: Int64?
  public var mostDescriptors: Int64?

  public init() {}
}

/// Source of a node's current measurements: the driver's workers have them.
public struct MeasureSource: Sendable {
  public let read: @Sendable () -> StoreMeasures
  public let readProcess: @Sendable () -> ProcessMeasures
  /// Returns the fault of the store's files, even if there are no saves.
  public let fault: @Sendable () -> StorageError?

  public init(
    _ read: @escaping @Sendable () -> StoreMeasures,
    process: @escaping @Sendable () -> ProcessMeasures = { ProcessMeasures() },
    fault: @escaping @Sendable () -> StorageError? = { nil }
  ) {
    self.fault = fault
    self.read = read
    readProcess = process
  }

  /// For a node whose store is not measured.
  public static let none = MeasureSource { StoreMeasures() }
}
