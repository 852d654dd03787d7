import LockstepModel
import LockstepStorage

/// Notices that the database is not the one that it was, and gives every account a new generation
/// then (docs/protocol.md, "Terms").
///
/// The database remembers what it lay on when it was last opened. Another one now means that it was
/// restored from a backup or a dump, or that a standby took over, which may lack the last commits:
///
///     system_identifier   of the cluster: another one after a dump was read elsewhere
///     timeline            of its log: another one after a promotion or a restore to a moment
///     accounts_table      the table's own number: another one after a dump was read, also here
///
/// Looked at whenever a session is begun, since a server may fail over while relays run. The first
/// relay that notices begins the generations, in one transaction; the others find it done. Where a
/// managed server keeps the first two to itself they are 0 and say nothing.
///
/// What it cannot see is a disk that went back as a whole. Then each token tells (`TagGap`): a run
/// is of the database, and another one begins with each session that a relay begins to write by.
/// What goes back loses all sessions, so each relay begins one anew.
enum StoreOpening {
  struct Place: Hashable {
    var system: Int64
    var timeline: Int64
    var table: Int64

    /// Whether both may be the same. 0 is not known.
    func agrees(with other: Place) -> Bool {
      func agree(_ one: Int64, _ another: Int64) -> Bool {
        one == 0 || another == 0 || one == another
      }
      return agree(system, other.system) && agree(timeline, other.timeline)
        && agree(table, other.table)
    }

    /// What is not known now stays as it was.
    func filled(from former: Place?) -> Place {
      guard let former else { return self }
      return Place(
        system: system == 0 ? former.system : system,
        timeline: timeline == 0 ? former.timeline : timeline,
        table: table == 0 ? former.table : table)
    }
  }

  /// What a server is asked when a session is begun anew: it may be another one by now.
  /// `beginsRun`: it is to be written by.
  static func greeting(
    _ restored: (@Sendable () -> Void)?, beginsRun: Bool = false
  ) -> PostgresConnection.Greeting {
    { connection throws(PostgresFault) in
      try Schema.zones.migrate(connection)
      if try meet(connection, isDeclared: false) { restored?() }
      if beginsRun { try beginRun(connection) }
    }
  }

  /// From here on all relays save in another run.
  static func beginRun(_ connection: PostgresConnection) throws(PostgresFault) {
    let run = try draw(connection).opening
    _ = try connection.run(putRun, PostgresParameters().bind(run))
  }

  /// True where an older copy was put back, or `isDeclared`: the accounts are in new generations
  /// then.
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

  /// Where the tables are now.
  private static func place(
    _ connection: PostgresConnection
  ) throws(PostgresFault) -> Place {
    Place(
      system: try number(system, on: connection), timeline: try number(timeline, on: connection),
      table: try number(table, on: connection))
  }

  /// Whether they are somewhere else than they were, and nobody has noticed yet.
  static func isOlderCopy(_ connection: PostgresConnection) throws(PostgresFault) -> Bool {
    let found = try remembered(connection)
    return try !(found?.agrees(with: place(connection)) ?? true)
  }

  /// Who opens the tables next finds them somewhere else than they were.
  static let disown = PostgresStatement(
    "disown",
    """
    INSERT INTO opening (system_identifier, timeline, accounts_table) VALUES (0, 0, -1)
    ON CONFLICT (one) DO UPDATE SET accounts_table = -1
    """)

  /// A number that nobody had before, and 64 random bits. Both are drawn by the server.
  static func draw(
    _ connection: PostgresConnection
  ) throws(PostgresFault) -> (opening: UInt64, random: UInt64) {
    let drawn = try connection.run(draws).first { row in
      let bytes = row.bytes(1)
      let words = bytes.reduce(into: (0, 0) as (UInt64, UInt64)) { words, byte in
        words = (words.0 << 8 | words.1 >> 56, words.1 << 8 | UInt64(byte))
      }
      // Six bits of them tell which kind of number it is; in the sum of the halves none does.
      return (wall: row.integer(0), random: words.0 ^ (words.1 << 13 | words.1 >> 51))
    }
    guard let drawn else {
      throw PostgresFault(cause: .lost, message: "the server drew no number")
    }
    return (OpeningNumber.draw(wall: drawn.wall, random: drawn.random), drawn.random)
  }

  /// 0 where the server does not tell it.
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
  /// Of the log that is being written, which is told right after a promotion. The first eight
  /// digits of a log file's name.
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
  /// Writes what stands there.
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

  /// In the order of their ids, as every commit locks them.
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
