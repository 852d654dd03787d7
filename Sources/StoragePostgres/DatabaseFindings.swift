import LockstepModel
import LockstepStorage

/// Read-only diagnosis of a relay's database.
package struct DatabaseFindings: Sendable, Hashable {
  /// Version of the server, in the server's notation.
  package let server: String
  /// Number of accounts; nil if no relay has created its tables yet.
  package let accounts: Int?
  /// True if the next relay that begins a session will treat the database as an older copy that was
  /// put back.
  package let isOlderCopy: Bool
  /// Server settings that are off, although without them a crash of the machine loses or damages
  /// committed data.
  package let lossy: [String]
  /// Number of sessions that the server allows to non-administrators, and number of those that are
  /// free now.
  package let connections: Int
  package let freeConnections: Int

  /// Throws the same errors as opening the store.
  package init(_ address: PostgresAddress) throws(StorageError) {
    let connection = PostgresConnection(address)
    defer { connection.close() }
    self = try connection.perform("open") { () throws(PostgresFault) in
      try DatabaseFindings(connection)
    }
  }

  private init(_ connection: PostgresConnection) throws(PostgresFault) {
    let found = try Schema.zones.find(connection)
    if let found { try Schema.zones.check(found) }
    let told = try connection.run(DatabaseFindings.settings).first { row in
      (
        server: row.text(0), lossy: row.text(1), connections: Int(row.integer(2)),
        taken: Int(row.integer(3))
      )
    }
    guard let told else {
      throw PostgresFault(cause: .lost, message: "the server did not tell its settings")
    }
    server = told.server
    lossy = told.lossy.split(separator: ",").map(String.init)
    connections = told.connections
    freeConnections = max(0, told.connections - told.taken)
    guard found != nil else {
      (accounts, isOlderCopy) = (nil, false)
      return
    }
    accounts = try connection.run(AccountQueries.total).first { Int($0.integer(0)) }
    isOlderCopy = try StoreOpening.isOlderCopy(connection)
  }

  /// `numbackends` is visible to every user, and counts this session too.
  private static let settings = PostgresStatement(
    "settings told",
    """
    SELECT current_setting('server_version'),
      concat_ws(',',
        CASE WHEN current_setting('fsync') = 'off' THEN 'fsync' END,
        CASE WHEN current_setting('full_page_writes') = 'off' THEN 'full_page_writes' END),
      current_setting('max_connections')::bigint
        - current_setting('superuser_reserved_connections')::bigint,
      (SELECT sum(numbackends) - 1 FROM pg_stat_database)::bigint
    """)
}
