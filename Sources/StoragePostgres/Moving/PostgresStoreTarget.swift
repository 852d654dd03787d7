import LockstepModel
import LockstepStorage

/// Fills an empty database with the content of another store.
///
/// A single transaction would hold back VACUUM on the whole server for as long as the network and
/// the other store take, and a connection lost near its end would lose everything. So each portion
/// is a transaction of its own, and meanwhile the version of the tables is below 0, which prevents
/// relays from opening them. The last transaction restores the version. Only its commit waits until
/// it and all before it are durable.
///
/// After a crash the tables keep the negative version, and the next move empties them.
package final class PostgresStoreTarget: StoreTarget {
  private let session: MovingSession

  /// Throws `inUse` if a relay is connected or another move is in progress. Throws `failed` if
  /// there are accounts already.
  package init(_ address: PostgresAddress) throws(StorageError) {
    session = try MovingSession(address)
    let connection = session.connection
    let isOurs = try session.run("open") { () throws(PostgresFault) in
      try connection.run(PostgresStoreTarget.lock).first { $0.bool(0) } ?? false
    }
    guard isOurs else { throw .inUse(path: address.shown, by: "another move into it") }
    try session.requireNoRelays()
    let accounts = try session.run("open") { () throws(PostgresFault) in
      let found = try Schema.zones.find(connection)
      if (found?.version ?? 0) >= 0 { try Schema.zones.migrate(connection) }
      return try PostgresStoreTarget.begin(connection)
    }
    guard accounts == 0 else {
      let count = accounts == 1 ? "is 1 account" : "are \(accounts) accounts"
      throw .failed(
        path: address.shown, operation: "receive another store",
        detail: "there \(count) in it already, or addresses of accounts that have moved away")
    }
    do throws(StorageError) {
      // A relay that opened the tables before the version changed is connected by now.
      try session.requireNoRelays()
    } catch {
      // Any rows in the tables belong to that relay.
      _ = try session.run("open") { () throws(PostgresFault) in
        try connection.run(PostgresStoreTarget.unblockTables)
      }
      throw error
    }
  }

  package func close() { session.connection.close() }

  /// Returns the chunk store of this store.
  package func makeFiles() throws(StorageError) -> PostgresChunkStore { try session.makeFiles() }

  package func insert(_ rows: StoreRows) throws(StorageError) {
    try session.run("receive another store") { () throws(PostgresFault) in
      var pipeline = PostgresPipeline()
      pipeline.add(.begin)
      pipeline.add(FileStatements.unsynced)
      pipeline.add(StoreRow.insert(into: rows.table), StoreRow.parameters(rows))
      pipeline.add(.commit)
      _ = try session.connection.run(pipeline)
    }
  }

  package func finish(_ totals: StoreTotals, isOlderCopy: Bool) throws(StorageError) {
    let held = try session.run("receive all rows") { () throws(PostgresFault) in
      var pipeline = PostgresPipeline()
      pipeline.add(.begin)
      pipeline.add(PostgresSession.long)
      _ = try session.connection.run(pipeline)
      return try session.totals()
    }
    if let difference = held.difference(from: totals) {
      throw .failed(
        path: session.address.shown, operation: "receive all rows", detail: difference)
    }
    try session.run("receive all rows") { () throws(PostgresFault) in
      var pipeline = PostgresPipeline()
      if isOlderCopy { pipeline.add(StoreOpening.markAsReplaced) }
      pipeline.add(PostgresStoreTarget.unblockTables)
      let commit = pipeline.add(.commit)
      _ = try session.connection.run(pipeline, commit: commit)
    }
  }

  package func abandon() throws(StorageError) {
    try session.run("be emptied again") { () throws(PostgresFault) in
      if session.connection.isInTransaction { _ = try session.connection.run(.rollBack) }
      var pipeline = PostgresPipeline()
      pipeline.add(.begin)
      pipeline.add(PostgresSession.long)
      pipeline.add(PostgresStoreTarget.empty)
      pipeline.add(PostgresStoreTarget.unblockTables)
      let commit = pipeline.add(.commit)
      _ = try session.connection.run(
        pipeline, within: Limits.removalMilliseconds, commit: commit)
    }
  }

  /// Returns the number of existing accounts. If it is 0, empties the tables and prevents others
  /// from opening them.
  private static func begin(_ connection: PostgresConnection) throws(PostgresFault) -> Int64 {
    var start = PostgresPipeline()
    start.add(.begin)
    start.add(PostgresSession.long)
    start.add(Schema.lock)
    start.add(PostgresStatement("", "LOCK TABLE accounts"))
    _ = try connection.run(start, within: Limits.removalMilliseconds)
    let isLeft = (try Schema.zones.find(connection)?.version ?? 0) < 0
    let accounts =
      isLeft
      ? 0
      : try connection.run(known, within: Limits.removalMilliseconds)
        .first { $0.integer(0) } ?? 0
    guard accounts == 0 else {
      _ = try connection.run(.rollBack)
      return accounts
    }
    var pipeline = PostgresPipeline()
    pipeline.add(empty)
    pipeline.add(blockTables)
    let commit = pipeline.add(.commit)
    _ = try connection.run(pipeline, within: Limits.removalMilliseconds, commit: commit)
    return 0
  }

  // MARK: Statements

  /// Held for the lifetime of the session; each schema of a database has a lock of its own.
  private static let lock = PostgresStatement(
    "move lock",
    """
    SELECT pg_try_advisory_lock(hashtextextended('lockstep move ' || current_schema(), 0))
    """)
  private static let blockTables = PostgresStatement(
    "shut tables", "UPDATE schema_version SET version = -abs(version)")
  private static let unblockTables = PostgresStatement(
    "release tables",
    """
    UPDATE schema_version SET version = abs(version), oldest = CASE
      WHEN EXISTS (SELECT 1 FROM departed)
        OR EXISTS (SELECT 1 FROM accounts WHERE moving_until IS NOT NULL)
      THEN greatest(oldest, \(Schema.oldestWithMoves)) ELSE oldest END
    """)
  private static let known = PostgresStatement(
    "known accounts",
    "SELECT (SELECT count(*) FROM accounts) + (SELECT count(*) FROM departed)")
  private static let empty = PostgresStatement(
    "empty tables",
    """
    TRUNCATE \(StoreTable.allCases.map(\.rawValue).joined(separator: ", ")), files, file_parts,
      opening RESTART IDENTITY
    """)
}
