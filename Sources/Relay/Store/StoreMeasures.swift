public import LockstepStorage

/// What the store's work costs, as the threads that do it measure it. A node shows it and measures
/// nothing itself.
public struct StoreMeasures: Sendable, Hashable {
  /// Nanoseconds from 0.1 ms to 10 s: a fast disk syncs within the first of them, and at the last
  /// everybody has long been waiting.
  static let durations: [Int64] = [
    100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000,
    100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000,
    10_000_000_000,
  ]

  /// Transactions, from their begin to the moment when they were durable, in nanoseconds.
  public var commits = Histogram(bounds: durations)
  /// Syncs of the write-ahead log alone, in nanoseconds.
  public var syncs = Histogram(bounds: durations)
  /// Reads alone, of pages of changes and of all else, in nanoseconds.
  public var fetches = Histogram(bounds: [10_000, 25_000, 50_000] + durations)
  /// Requests that one transaction did.
  public var batches = Histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256])
  /// Accounts in the store.
  public var accounts = 0
  /// Of the database, and of its write-ahead log; nil where nobody looked.
  public var databaseBytes: Int64?
  public var logBytes: Int64?
  /// Free on the disk that the store is on, for who runs the relay; nil where nobody looked.
  public var freeBytes: Int64?

  public init() {}
}

/// What the process takes of its machine; nil is what nobody measures, or the system does not tell.
public struct ProcessMeasures: Sendable, Hashable {
  public var residentBytes: Int64?
  /// Of all its threads together.
  public var processorNanoseconds: Int64?
  public var openDescriptors: Int64?
  public var mostDescriptors: Int64?

  public init() {}
}

/// Where a node gets the measures of the moment from: a driver's workers have them.
public struct MeasureSource: Sendable {
  public let read: @Sendable () -> StoreMeasures
  public let readProcess: @Sendable () -> ProcessMeasures
  /// What is wrong with the store's files, whether or not anybody saves.
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

  /// For a node whose store nobody measures.
  public static let none = MeasureSource { StoreMeasures() }
}
