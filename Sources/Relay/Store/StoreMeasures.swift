/// What the store's writing costs, as the thread that writes measures it. A node shows it and
/// measures nothing itself.
public struct StoreMeasures: Sendable, Hashable {
  /// Nanoseconds from 0.1 ms to 10 s: a fast disk syncs within the first of them, and at the last
  /// everybody has long been waiting.
  private static let durations: [Int64] = [
    100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000,
    100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000,
    10_000_000_000,
  ]

  /// Transactions, from their begin to the moment when they were durable, in nanoseconds.
  public var commits = Histogram(bounds: durations)
  /// Syncs of the write-ahead log alone, in nanoseconds.
  public var syncs = Histogram(bounds: durations)
  /// Requests that one transaction did.
  public var batches = Histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256])
  /// Accounts in the store.
  public var accounts = 0

  public init() {}
}

/// Where a node gets the measures of the moment from: a driver's workers have them.
public struct MeasureSource: Sendable {
  public let read: @Sendable () -> StoreMeasures
  public init(_ read: @escaping @Sendable () -> StoreMeasures) { self.read = read }

  /// For a node whose store nobody measures.
  public static let none = MeasureSource { StoreMeasures() }
}
