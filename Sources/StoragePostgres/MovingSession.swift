import LockstepModel
import LockstepStorage

/// A session that moves a store from or to this database. It is not reconnected: its open
/// transaction would be lost with the connection, so nothing is repeated in another session.
final class MovingSession {
  let connection: PostgresConnection
  let address: PostgresAddress
  /// Application names of relays' sessions.
  private let relays: [String]

  /// Application name that distinguishes its sessions from those of relays.
  private static let name = "lockstep migrate"

  init(_ address: PostgresAddress) throws(StorageError) {
    relays = ["lockstep", address["application_name"] ?? "lockstep"]
    self.address = address.setting("application_name", to: MovingSession.name)
    connection = PostgresConnection(self.address)
    try connection.perform("open") { () throws(PostgresFault) in }
  }

  /// `operation`: the text for the error, as in "failed to read".
  func work<Value>(
    _ operation: String, _ body: () throws(PostgresFault) -> Value
  ) throws(StorageError) -> Value {
    do throws(PostgresFault) {
      return try body()
    } catch {
      throw StorageError(error, path: address.shown, operation: operation)
    }
  }

  /// Throws `inUse` if relays, or `lockstep account`, are connected to the database and stay so.
  /// Waits a moment, because the server needs time to end the session of a relay that has just
  /// stopped.
  func refuseRelays() throws(StorageError) {
    var found = try holders()
    for _ in 0..<Limits.leavingLooks where !found.isEmpty {
      _ = try work("wait for relays to leave") { () throws(PostgresFault) in
        try connection.run(MovingSession.pause)
      }
      found = try holders()
    }
    guard let first = found.first else { return }
    let others = found.count > 1 ? ", and \(found.count - 1) more" : ""
    throw .inUse(path: address.shown, by: "a relay (\(first)\(others))")
  }

  private func holders() throws(StorageError) -> [String] {
    try work("look who uses it") { () throws(PostgresFault) in
      try connection.run(MovingSession.others, PostgresParameters().bind(relays)).all { row in
        "process \(row.integer(0)) of the server" + (row.isNull(1) ? "" : ", from \(row.text(1))")
      }
    }
  }

  /// Returns the chunk store of the store that is moved.
  func makeFiles() throws(StorageError) -> PostgresChunkStore {
    try PostgresChunkStore(address, greeting: nil)
  }

  /// Counts the rows of all tables.
  func totals() throws(PostgresFault) -> StoreTotals {
    var pipeline = PostgresPipeline()
    for table in StoreTable.allCases {
      pipeline.add(PostgresStatement("", "SELECT count(*) FROM \(table.rawValue)"))
    }
    let tombstones = pipeline.add(
      PostgresStatement("", "SELECT count(*) FROM records WHERE deleted_at IS NOT NULL"))
    let bytes = pipeline.add(
      PostgresStatement("", "SELECT coalesce(sum(bytes), 0)::bigint FROM chunks"))
    let rows = try connection.run(pipeline, within: Limits.removalMilliseconds)
    var totals = StoreTotals()
    for (place, table) in StoreTable.allCases.enumerated() {
      totals[table] = rows[place].first { $0.integer(0) } ?? 0
    }
    totals.tombstones = rows[tombstones].first { $0.integer(0) } ?? 0
    totals.chunkBytes = rows[bytes].first { $0.integer(0) } ?? 0
    return totals
  }

  /// For a transaction that waits as long as the other store takes.
  static let patient = PostgresStatement(
    "patient", "SELECT set_config('idle_in_transaction_session_timeout', '0', true)")
  private static let pause = PostgresStatement("pause", "SELECT pg_sleep(0.1)")
  private static let others = PostgresStatement(
    "other sessions",
    """
    SELECT pid::bigint, host(client_addr) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND application_name = ANY($1::text[])
    ORDER BY pid
    """)
}
