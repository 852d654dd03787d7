import LockstepModel
import LockstepStorage

/// A read-only view of a relay's store for another thread than the writer's. Each `read` returns
/// all that any relay committed before it, and never waits for a commit.
package final class PostgresZoneReader: ZoneReader {
  let connection: PostgresConnection
  private let queries: ZoneQueries

  /// `relay`: the relay that reads.
  init(
    _ address: PostgresAddress, relay: UInt64, greeting: @escaping PostgresConnection.Greeting
  ) throws(StorageError) {
    let connection = PostgresConnection(address)
    connection.greeting = greeting
    try connection.perform("open") { () throws(PostgresFault) in }
    self.connection = connection
    queries = ZoneQueries(connection, relay: relay)
  }

  package func close() { connection.close() }

  package func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    try queries.read(request)
  }
}
