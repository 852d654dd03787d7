import LockstepStorage

@testable import LockstepStorageSQLite

/// Commits with the writer, and reads with the reader.
final class StoreAndReader: ZoneStore {
  let writer: SQLiteZoneStore
  private let reader: SQLiteZoneReader
  private let short: SQLiteShortCommits

  init(
    _ directory: String, _ rules: StoreRules, run: UInt64 = 0, usesCommitLog: Bool = false
  ) throws {
    writer = try SQLiteZoneStore(
      directory: directory, rules: rules, run: run, usesCommitLog: usesCommitLog)
    reader = try writer.makeReader()
    short = SQLiteShortCommits(writer)
  }

  func close() {
    reader.close()
    writer.close()
  }

  func commit(_ requests: [CommitRequest], wall: Int64) throws(StorageError) -> [CommitResult] {
    if requests.count == 1, let result = short.commit(requests[0], wall: wall) {
      return [result]
    }
    return try writer.commit(requests, wall: wall)
  }

  func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    try reader.read(request)
  }

  func performMaintenance() throws(StorageError) { try writer.performMaintenance() }
}
