import LockstepEventLoop
import LockstepModel
import LockstepRelay
import LockstepStorage
import LockstepStorageSQLite

/// Metrics of the threads that write and read the store; any thread may read them.
final class StoreMetrics: Sendable {
  private let measures: Locked<StoreMeasures>

  init(accounts: Int) {
    var measures = StoreMeasures()
    measures.accounts = accounts
    self.measures = Locked(measures)
  }

  /// `store`: its location. `fault`: returns a fault in its files.
  func source(
    of store: StorePlace, fault: @escaping @Sendable () -> StorageError? = { nil }
  ) -> MeasureSource {
    var database: String?
    var directory: String?
    if case .folder(let folder) = store {
      database = folder + "/" + SQLiteZoneStore.databaseName
      directory = folder
    }
    return MeasureSource { [database, directory] in
      var measures = self.measures.withLock { $0 }
      measures.databaseBytes = database.flatMap { ProcessMeter.fileBytes($0) }
      measures.logBytes = database.flatMap { ProcessMeter.fileBytes($0 + "-wal") }
      measures.freeBytes = directory.flatMap(ProcessMeter.freeBytes)
      return measures
    } process: {
      ProcessMeter.read()
    } fault: {
      fault()
    }
  }

  /// Runs and measures `work`, which makes `requests` durable in one transaction.
  func commit<Result>(_ requests: Int, _ work: () -> Result) -> Result {
    let begun = SystemClock.instant()
    let result = work()
    let nanoseconds = SystemClock.instant().nanoseconds - begun.nanoseconds
    measures.withLock { measures in
      measures.commits.observe(nanoseconds)
      measures.batches.observe(Int64(requests))
    }
    return result
  }

  /// Runs and measures `work`, which reads the store for one request. Calls `took` with the result
  /// and the nanoseconds.
  func fetch<Result>(
    _ work: () -> Result, took: (inout Result, Int64) -> Void = { _, _ in }
  ) -> Result {
    let begun = SystemClock.instant()
    var result = work()
    let nanoseconds = SystemClock.instant().nanoseconds - begun.nanoseconds
    measures.withLock { $0.fetches.observe(nanoseconds) }
    took(&result, nanoseconds)
    return result
  }

  /// Records the duration of a sync of the log.
  func synced(_ nanoseconds: Int64) { measures.withLock { $0.syncs.observe(nanoseconds) } }

  func accounts(change: Int) { measures.withLock { $0.accounts += change } }
}
