import Glibc
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

  /// `store`: its location. `fault`: returns a fault in its files. `certificateEnd`: returns the
  /// end of the relay's certificate.
  func source(
    of store: StoreLocation, fault: @escaping @Sendable () -> StorageError? = { nil },
    certificateEnd: @escaping @Sendable () -> Int64? = { nil }
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
    } upkeep: { [directory] in
      directory.map { UpkeepFiles.read(from: $0) } ?? StoreUpkeep()
    } fault: {
      fault()
    } certificateEnd: {
      certificateEnd()
    }
  }

  /// Runs and measures `work`, which makes `requests` durable in one transaction.
  func measureCommit<Result>(_ requests: Int, _ work: () -> Result) -> Result {
    let begun = SystemClock.instant()
    let result = work()
    recordCommit(requests, nanoseconds: SystemClock.instant().nanoseconds - begun.nanoseconds)
    return result
  }

  func recordCommit(_ requests: Int, nanoseconds: Int64) {
    measures.withLock { measures in
      measures.commits.observe(nanoseconds)
      measures.batches.observe(Int64(requests))
    }
  }

  /// Runs and measures `work`, which reads the store for one request. Calls `took` with the result
  /// and the nanoseconds.
  func measureRead<Result>(
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
  func recordSync(_ nanoseconds: Int64) { measures.withLock { $0.syncs.observe(nanoseconds) } }

  func addAccounts(_ change: Int) { measures.withLock { $0.accounts += change } }
}

/// Resources that this process uses, as Linux reports them. Each figure is one call, however many
/// connections are open, because a loop waits for it.
enum ProcessMeter {
  static func read() -> ProcessMeasures {
    var measures = ProcessMeasures()
    measures.residentBytes = ProcessMemory.resident(getpid())
    measures.processorNanoseconds = SystemClock.processorNanoseconds()
    // Linux 6.2 and newer report their number as the folder's size; listing them would take long.
    if let count = fileBytes("/proc/self/fd"), count > 0 { measures.openDescriptors = count }
    var limit = rlimit()
    if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
      measures.mostDescriptors = Int64(clamping: limit.rlim_cur)
    }
    return measures
  }

  /// Returns the bytes of a file, or nil if it does not exist.
  static func fileBytes(_ path: String) -> Int64? {
    var facts = stat()
    return stat(path, &facts) == 0 ? Int64(facts.st_size) : nil
  }

  /// Returns the bytes on a folder's disk that are free for non-root users, or nil if unknown.
  static func freeBytes(of folder: String) -> Int64? {
    var facts = statvfs()
    guard statvfs(folder, &facts) == 0 else { return nil }
    let (bytes, isTooMuch) = UInt64(facts.f_bavail).multipliedReportingOverflow(
      by: UInt64(facts.f_frsize))
    return isTooMuch ? .max : Int64(clamping: bytes)
  }
}
