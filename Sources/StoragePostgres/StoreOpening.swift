import LockstepModel
import LockstepStorage

/// Detects that the database was replaced, and then gives every account a new generation
/// (docs/protocol.md, "Terms").
///
/// The database stores three identifiers of its last opening. If one has changed, the database was
/// restored from a backup or a dump, or a standby took over, which may lack the last commits:
///
///     system_identifier   of the cluster: changes if a dump is read into another cluster
///     timeline            of its log: changes with a promotion or a point-in-time restore
///     accounts_table      the table's own number: changes if a dump is read, also into this one
///
/// They are checked whenever a session is begun, because a server may fail over while relays run.
/// The first relay that detects the change begins the generations, in one transaction; the others
/// find it done. A managed server may hide the first two; they are 0 then and are not compared.
///
/// Limit: a disk that was reset as a whole is not detected here. It is detected by the tokens of
/// devices (`TagGap`): a run belongs to the database, and each session in which a relay begins to
/// write begins another run. A reset loses all sessions, so each relay begins a new one.
enum StoreOpening {
  struct Place: Hashable {
    var system: Int64
    var timeline: Int64
    var table: Int64

    /// Returns true if both may be the same. 0 means unknown.
    func agrees(with other: Place) -> Bool {
      func agree(_ one: Int64, _ another: Int64) -> Bool {
        one == 0 || another == 0 || one == another
      }
      return agree(system, other.system) && agree(timeline, other.timeline)
        && agree(table, other.table)
    }

    /// Returns a copy in which unknown values keep their former value.
    func filled(from former: Place?) -> Place {
      guard let former else { return self }
      return Place(
        system: system == 0 ? former.system : system,
        timeline: timeline == 0 ? former.timeline : timeline,
        table: table == 0 ? former.table : table)
    }
  }

  /// Returns the setup of a new session: the server may have been replaced. `beginsRun`: the
  /// session will write.
  static func greeting(
    _ restored: (@Sendable () -> Void)?, beginsRun: Bool = false
  ) -> PostgresConnection.Greeting {
    { connection throws(PostgresFault) in
      try Schema.zones.migrate(connection)
      if try meet(connection, isDeclared: false) { restored?() }
      if beginsRun { try beginRun(connection) }
    }
  }

  /// Begins another run, for the saves of all relays.
  static func beginRun(_ connection: PostgresConnection) throws(PostgresFault) {
    let run = try draw(connection).opening
    _ = try connection.run(putRun, PostgresParameters().bind(run))
  }

  /// Returns true if an older copy was put back, or with `isDeclared`: the accounts are then in new
  /// generations.
  static func meet(
    _ connection: PostgresConnection, isDeclared: Bool
  ) throws(PostgresFault) -> Bool {
    let place = try place(connection)
    let found = try remembered(connection)
    if let found, found.agrees(with: place), !isDeclared { return false }
    _ = try connection.run(.begin)
    var pipeline = PostgresPipeline()
    pipeline.add(PostgresSession.long)
    pipeline.add(Schema.lock)
    _ = try connection.run(pipeline, within: Limits.removalMilliseconds)
    // Another relay may have been faster.
    let former = try remembered(connection)
    let isRestored = isDeclared || former.map { !$0.agrees(with: place) } ?? false
    if isRestored { try beginGenerations(connection) }
    var last = PostgresPipeline()
    let now = place.filled(from: former)
    last.add(
      put, PostgresParameters().bind(now.system).bind(now.timeline).bind(now.table))
    let commit = last.add(.commit)
    _ = try connection.run(last, commit: commit)
    return isRestored
  }

  /// Returns the present identifiers of the tables.
  private static func place(
    _ connection: PostgresConnection
  ) throws(PostgresFault) -> Place {
    Place(
      system: try number(system, on: connection), timeline: try number(timeline, on: connection),
      table: try number(table, on: connection))
  }

  /// Returns true if the identifiers have changed and no relay has handled it yet.
  static func isOlderCopy(_ connection: PostgresConnection) throws(PostgresFault) -> Bool {
    let found = try remembered(connection)
    return try !(found?.agrees(with: place(connection)) ?? true)
  }

  /// Changes the stored identifiers, so that the next opening detects a replaced database.
  static let disown = PostgresStatement(
    "disown",
    """
    INSERT INTO opening (system_identifier, timeline, accounts_table) VALUES (0, 0, -1)
    ON CONFLICT (one) DO UPDATE SET accounts_table = -1
    """)

  /// Returns a number that was never used before, and 64 random bits. The server draws both.
  static func draw(
    _ connection: PostgresConnection
  ) throws(PostgresFault) -> (opening: UInt64, random: UInt64) {
    let drawn = try connection.run(draws).first { row in
      let bytes = row.bytes(1)
      let words = bytes.reduce(into: (0, 0) as (UInt64, UInt64)) { words, byte in
        words = (words.0 << 8 | words.1 >> 56, words.1 << 8 | UInt64(byte))
      }
      // Six bits of the UUID are its version and variant; the combined halves contain no fixed
      // bits.
      return (wall: row.integer(0), random: words.0 ^ (words.1 << 13 | words.1 >> 51))
    }
    guard let drawn else {
      throw PostgresFault(cause: .lost, message: "the server drew no number")
    }
    return (OpeningNumber.draw(wall: drawn.wall, random: drawn.random), drawn.random)
  }

  /// Returns 0 if the server does not provide the number.
  private static func number(
    _ statement: PostgresStatement, on connection: PostgresConnection
  ) throws(PostgresFault) -> Int64 {
    do throws(PostgresFault) {
      return try connection.run(statement).first { $0.integer(0) } ?? 0
    } catch {
      if error.endsSession { throw error }
      return 0
    }
  }

  private static func remembered(
    _ connection: PostgresConnection
  ) throws(PostgresFault) -> Place? {
    try connection.run(select).first { row in
      Place(system: row.integer(0), timeline: row.integer(1), table: row.integer(2))
    }
  }

  // MARK: Generations

  private static func beginGenerations(_ connection: PostgresConnection) throws(PostgresFault) {
    let opening = try draw(connection).opening
    var last: AccountID?
    while true {
      let accounts = try connection.run(
        last == nil ? firstAccounts : nextAccounts,
        last == nil ? PostgresParameters() : PostgresParameters().bind(last?.rawValue ?? 0)
      ).all { row in
        (
          id: AccountID(rawValue: row.bits(0)), head: AccountHead(row, from: 1),
          earlier: row.text(4).split(separator: ",").compactMap { UInt32($0) }
        )
      }
      guard let end = accounts.last else { break }
      last = end.id
      let next = accounts.map { $0.head.restored($0.id, opening: opening, earlier: $0.earlier) }
      let ids = accounts.map(\.id.rawValue)
      var pipeline = PostgresPipeline()
      pipeline.add(
        endGenerations,
        PostgresParameters().bind(ids).bind(accounts.map { Int64($0.head.generation) })
          .bind(accounts.map(\.head.newest)))
      pipeline.add(
        begin,
        PostgresParameters().bind(ids).bind(next.map { Int64($0.generation) })
          .bind(next.map(\.newest)))
      _ = try connection.run(pipeline)
    }
    _ = try connection.run(doubt, within: Limits.removalMilliseconds)
  }

  // MARK: Statements

  private static let system = PostgresStatement(
    "system identifier", "SELECT system_identifier FROM pg_control_system()")
  /// Timeline of the log that is being written, which is correct right after a promotion. It is the
  /// first eight digits of a log file's name.
  private static let timeline = PostgresStatement(
    "timeline",
    "SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint")
  private static let table = PostgresStatement(
    "accounts table", "SELECT 'accounts'::regclass::oid::bigint")
  private static let draws = PostgresStatement(
    "draw",
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, uuid_send(gen_random_uuid())")
  private static let select = PostgresStatement(
    "opening", "SELECT system_identifier, timeline, accounts_table FROM opening")
  /// Rewrites the row unchanged.
  static let rewrite = PostgresStatement("rewrite opening", "UPDATE opening SET one = true")
  private static let putRun = PostgresStatement(
    "put run", "UPDATE opening SET run = $1::bigint WHERE one")
  private static let put = PostgresStatement(
    "put opening",
    """
    INSERT INTO opening (system_identifier, timeline, accounts_table)
    VALUES ($1::bigint, $2::bigint, $3::bigint)
    ON CONFLICT (one) DO UPDATE SET system_identifier = excluded.system_identifier,
      timeline = excluded.timeline, accounts_table = excluded.accounts_table
    """)

  /// Reads accounts in the order of their ids, in which every commit locks them.
  private static func portion(_ name: String, _ condition: String) -> PostgresStatement {
    PostgresStatement(
      name,
      """
      SELECT account, generation, newest, forgotten,
        coalesce((SELECT string_agg(generation::text, ',') FROM lineage
          WHERE lineage.account = accounts.account), '')
      FROM accounts \(condition) ORDER BY account LIMIT \(Limits.restoredAccounts) FOR UPDATE
      """)
  }
  private static let firstAccounts = portion("first accounts", "")
  private static let nextAccounts = portion("next accounts", "WHERE account > $1::bigint")
  private static let endGenerations = PostgresStatement(
    "end generations",
    "INSERT INTO lineage SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])")
  private static let begin = PostgresStatement(
    "begin generations",
    """
    UPDATE accounts SET generation = next.generation, newest = next.newest,
      run = (SELECT run FROM opening WHERE one)
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS next (account, generation, newest)
    WHERE accounts.account = next.account
    """)
  private static let doubt = PostgresStatement(
    "doubt", "UPDATE chunks SET doubtful = true WHERE NOT doubtful")
}
