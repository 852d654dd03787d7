import LockstepModel
import LockstepStorage

/// The versions of the tables, and the migration from each to the next.
///
///     schema_version    version · oldest                                     one row
///
/// A version below 0 marks tables that are being filled with another store's rows
/// (`PostgresStoreTarget`): nothing else opens them, even if the move did not end.
///
/// `oldest` is the oldest version of the program that can work with these tables. Relays of two
/// versions run side by side while they are upgraded one by one, so a step only adds what a program
/// of the version before ignores: a table, an index, a column with a default. Any other change
/// takes two releases: the first one stops using something, the next one removes it, and raises
/// `oldest` to itself.
///
/// Relays that start at the same time take turns, by a lock that ends with the transaction.
struct Schema {
  /// The n-th step migrates from version n to n + 1, statement by statement. A released step is
  /// never changed.
  let steps: [[String]]
  /// Oldest version of the program that can use the tables of the last step.
  let oldest: Int

  var version: Int { steps.count }

  /// Creates or upgrades the tables if they are older; throws if they are too new. Returns true if
  /// there were none.
  @discardableResult
  func migrate(_ connection: PostgresConnection) throws(PostgresFault) -> Bool {
    // Usually there is nothing to do, and then no lock is taken.
    if let found = try find(connection) {
      try check(found)
      if found.version >= version { return false }
    }
    _ = try connection.run(.begin)
    var pipeline = PostgresPipeline()
    pipeline.add(PostgresSession.long)
    pipeline.add(Schema.lock)
    _ = try connection.run(pipeline, within: Limits.removalMilliseconds)
    let found = try find(connection)
    if let found { try check(found) }
    let from = found?.version ?? 0
    var steps = PostgresPipeline()
    if found == nil {
      steps.add(Schema.makeVersion)
      steps.add(Schema.insertVersion)
    }
    for step in self.steps.dropFirst(from) {
      for statement in step { steps.add(PostgresStatement("", statement)) }
    }
    if from < version {
      steps.add(
        PostgresStatement("", "UPDATE schema_version SET version = \(version), oldest = \(oldest)"))
    }
    let commit = steps.add(.commit)
    _ = try connection.run(steps, within: Limits.removalMilliseconds, commit: commit)
    return found == nil
  }

  /// Returns nil if there are no tables yet.
  func find(
    _ connection: PostgresConnection
  ) throws(PostgresFault) -> (version: Int, oldest: Int)? {
    let isThere = try connection.run(Schema.exists).first { $0.bool(0) } ?? false
    guard isThere else { return nil }
    let rows = try connection.run(Schema.select)
    return rows.first { (version: Int($0.integer(0)), oldest: Int($0.integer(1))) }
  }

  func check(_ found: (version: Int, oldest: Int)) throws(PostgresFault) {
    guard found.version > 0 else {
      throw PostgresFault(
        cause: .damaged, message: "a move into it is under way, or did not come to its end")
    }
    guard found.oldest <= version else {
      throw PostgresFault(
        cause: .tooNew(found: found.version, known: version), message: "it is too new")
    }
  }

  /// Held until the end of the transaction; each schema of a database has a lock of its own.
  static let lock = PostgresStatement(
    "schema lock",
    """
    SELECT pg_advisory_xact_lock(hashtextextended('lockstep ' || current_schema(), 0)) IS NULL
    """)
  /// Looks only in the current schema, if the search path has several. Reads the catalog's rows:
  /// `to_regclass` uses a cache, and would miss a table that was created during the wait.
  private static let exists = PostgresStatement(
    "schema exists",
    """
    SELECT EXISTS (
      SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace
      WHERE pg_class.relname = 'schema_version' AND pg_namespace.nspname = current_schema())
    """)
  private static let select = PostgresStatement(
    "schema version", "SELECT version::bigint, oldest::bigint FROM schema_version")
  private static let makeVersion = PostgresStatement(
    "", "CREATE TABLE schema_version (version integer NOT NULL, oldest integer NOT NULL)")
  private static let insertVersion = PostgresStatement(
    "", "INSERT INTO schema_version VALUES (0, 0)")
}
