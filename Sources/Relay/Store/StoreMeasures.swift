public import LockstepStorage

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
