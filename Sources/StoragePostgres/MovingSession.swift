import LockstepModel
import LockstepStorage

/// A session that moves a store, from here or to here. It is begun once: what it has open would be
/// lost with it, so nothing is repeated in another one.
final class MovingSession {
  let connection: PostgresConnection
  let address: PostgresAddress
  /// Names that relays' sessions have.
  private let relays: [String]

  /// By which its sessions are told from those of relays.
  private static let name = "lockstep migrate"

  init(_ address: PostgresAddress) throws(StorageError) {
    relays = ["lockstep", address["application_name"] ?? "lockstep"]
    self.address = address.setting("application_name", to: MovingSession.name)
    connection = PostgresConnection(self.address)
    try connection.perform("open") { () throws(PostgresFault) in }
  }

  /// `operation`: what failed, should it fail, as in "failed to read".
  func work<Value>(
    _ operation: String, _ body: () throws(PostgresFault) -> Value
  ) throws(StorageError) -> Value {
    do throws(PostgresFault) {
      return try body()
    } catch {
      throw StorageError(error, path: address.shown, operation: operation)
    }
  }

  /// Throws `inUse` where relays, or `lockstep account`, are connected to the database and stay so:
  /// the server takes a moment to part with one that has just stopped.
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

  /// The chunks of files of the store that is moved.
  func makeFiles() throws(StorageError) -> PostgresChunkStore {
    try PostgresChunkStore(address, greeting: nil)
  }

  /// Rows of all tables.
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
