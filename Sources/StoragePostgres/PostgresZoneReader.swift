import Changes
import Storage

/// A view of a relay's store for another thread than the writer's. Sees what was committed before
/// each `read`, by any relay, and never waits for a commit.
package final class PostgresZoneReader: ZoneReader {
  let connection: PostgresConnection
  private let queries: ZoneQueries

  init(_ address: PostgresAddress) throws(StorageError) {
    let connection = PostgresConnection(address)
    connection.greeting = PostgresZoneStore.greet
    try connection.perform("open") { () throws(PostgresFault) in }
    self.connection = connection
    queries = ZoneQueries(connection)
  }

  package func close() { connection.close() }

  package func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    try queries.read(request)
  }

  /// Where these accounts stand, in one question; one that is gone is missing.
  package func movements(of accounts: [AccountID]) throws(StorageError) -> [AccountMovement] {
    try connection.perform("read") { () throws(PostgresFault) in
      try AccountQueries.movements(of: accounts, on: connection)
    }
  }
}
