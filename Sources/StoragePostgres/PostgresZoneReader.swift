import LockstepModel
import LockstepStorage

/// A view of a relay's store for another thread than the writer's. Sees what was committed before
/// each `read`, by any relay, and never waits for a commit.
package final class PostgresZoneReader: ZoneReader {
  let connection: PostgresConnection
  private let queries: ZoneQueries

  /// `relay`: for which it reads.
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
