import LockstepEventLoop
import LockstepModel
import LockstepRelay
import LockstepStorage
import LockstepStorageSQLite

/// Measures on the threads that write and read the store, read by whoever shows them.
final class StoreMetrics: Sendable {
  private let measures: Locked<StoreMeasures>

  init(accounts: Int) {
    var measures = StoreMeasures()
    measures.accounts = accounts
    self.measures = Locked(measures)
  }

  /// `store`: where it is; `fault`: what is wrong with its files.
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

  /// Does `work`, which makes `requests` durable in one transaction.
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

  /// Does `work`, which reads the store for one request, and tells the result how many nanoseconds
  /// it took.
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

  /// The log was synced, for so many nanoseconds.
  func synced(_ nanoseconds: Int64) { measures.withLock { $0.syncs.observe(nanoseconds) } }

  func accounts(change: Int) { measures.withLock { $0.accounts += change } }
}
