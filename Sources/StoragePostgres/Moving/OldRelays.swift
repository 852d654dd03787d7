import LockstepModel
import LockstepStorage

/// Relays of versions that know no moves of accounts. They would save to an account that is being
/// moved, and tell the devices of one that has moved to pair again.
package enum OldRelays {
  /// Excludes them from the database before its first move: raises the oldest version that may open
  /// the tables, and ends the sessions of relays that were begun before. A relay of this version
  /// begins another session at once.
  ///
  /// Behind a pooler, a relay outlives the server's sessions: it has to be upgraded first.
  package static func exclude(from address: PostgresAddress) throws(StorageError) {
    let session = try MovingSession(address)
    defer { session.connection.close() }
    let found = try session.run("open") { () throws(PostgresFault) in
      let found = try Schema.zones.find(session.connection)
      if let found { try Schema.zones.check(found) }
      return found
    }
    guard let found, found.version >= Schema.oldestWithMoves else {
      throw .failed(
        path: address.shown, operation: "take part in a move",
        detail: found == nil
          ? "no relay has created its tables there"
          : "start a relay of this version on it once to upgrade its tables")
    }
    // The time is taken once the limit is in force: a session that has read the one before began
    // earlier.
    for statement in [raise, recordTime] {
      try session.run("exclude older relays") { () throws(PostgresFault) in
        var pipeline = PostgresPipeline()
        pipeline.add(.begin)
        pipeline.add(statement)
        let commit = pipeline.add(.commit)
        _ = try session.connection.run(pipeline, commit: commit)
      }
    }
    let names = PostgresParameters().bind(session.relays)
    for _ in 0..<Limits.disconnectChecks {
      let left = try session.run("end the sessions of older relays") { () throws(PostgresFault) in
        try session.connection.run(end, names).count
      }
      if left == 0 { return }
      _ = try session.run("wait for older relays") { () throws(PostgresFault) in
        try session.connection.run(MovingSession.pause)
      }
    }
    throw .inUse(path: address.shown, by: "a relay that may be of an older version")
  }

  private static let raise = PostgresStatement(
    "exclude old relays",
    """
    UPDATE schema_version SET oldest = \(Schema.oldestWithMoves)
    WHERE oldest < \(Schema.oldestWithMoves)
    """)
  private static let recordTime = PostgresStatement(
    "record time of exclusion",
    "UPDATE schema_version SET moves_since = clock_timestamp() WHERE moves_since IS NULL")
  private static let end = PostgresStatement(
    "end old sessions",
    """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND application_name = ANY ($1::text[])
      AND backend_start < (SELECT moves_since FROM schema_version)
    """)
}
