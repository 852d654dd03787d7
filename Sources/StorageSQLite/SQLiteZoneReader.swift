import LockstepStorage

/// A read-only view of a relay's store for another thread than the writer's. Each `read` returns
/// all that was committed before it, and never waits for a commit.
package final class SQLiteZoneReader: ZoneReader {
  let connection: SQLiteConnection
  private let queries: ZoneQueries

  /// `run`: the run of the writer.
  init(path: String, run: UInt64) throws(StorageError) {
    connection = try SQLiteConnection(path: path, role: .reader, schema: .zones)
    queries = try ZoneQueries(connection, run: run)
  }

  deinit { close() }

  package func close() { connection.close() }

  package func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    try queries.read(request)
  }
}
