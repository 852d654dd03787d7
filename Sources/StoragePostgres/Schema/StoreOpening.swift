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
  struct ClusterIdentity: Hashable {
    var system: Int64
    var timeline: Int64
    var table: Int64

    /// Returns true if both may be the same. 0 means unknown.
    func agrees(with other: ClusterIdentity) -> Bool {
      func agree(_ one: Int64, _ another: Int64) -> Bool {
        one == 0 || another == 0 || one == another
      }
      return agree(system, other.system) && agree(timeline, other.timeline)
        && agree(table, other.table)
    }

    /// Returns a copy in which unknown values keep their previous value.
    func completed(from previous: ClusterIdentity?) -> ClusterIdentity {
      guard let previous else { return self }
      return ClusterIdentity(
        system: system == 0 ? previous.system : system,
        timeline: timeline == 0 ? previous.timeline : timeline,
        table: table == 0 ? previous.table : table)
    }
  }

  /// Returns the setup of a new session: the server may have been replaced. `beginsRun`: the
  /// session will write.
  static func sessionSetup(
    _ restored: (@Sendable () -> Void)?, beginsRun: Bool = false
  ) -> PostgresConnection.SessionSetup {
    { connection throws(PostgresFault) in
      try Schema.zones.migrate(connection)
      if try detectRestore(connection, isDeclared: false) { restored?() }
      if beginsRun { try beginRun(connection) }
    }
  }

  /// Begins another run, for the saves of all relays. The lock lets the numbers of relays that
  /// begin at the same time be written in the order in which they were drawn.
  static func beginRun(_ connection: PostgresConnection) throws(PostgresFault) {
    try Schema.beginLocked(connection)
    let run = try drawNumber(connection).opening
    var last = PostgresPipeline()
    last.add(putRun, PostgresParameters().bind(run))
    let commit = last.add(.commit)
    _ = try connection.run(last, commit: commit)
  }

  /// Returns true if an older copy was put back, or with `isDeclared`: the accounts are then in new
  /// generations.
  static func detectRestore(
    _ connection: PostgresConnection, isDeclared: Bool
  ) throws(PostgresFault) -> Bool {
    let identity = try clusterIdentity(connection)
    let found = try storedIdentity(connection)
    if let found, found.agrees(with: identity), !isDeclared { return false }
    try Schema.beginLocked(connection)
    // Another relay may have been faster.
    let previous = try storedIdentity(connection)
    let isRestored = isDeclared || previous.map { !$0.agrees(with: identity) } ?? false
    if isRestored { try beginGenerations(connection) }
    var last = PostgresPipeline()
    let now = identity.completed(from: previous)
    last.add(
      put, PostgresParameters().bind(now.system).bind(now.timeline).bind(now.table))
    let commit = last.add(.commit)
    _ = try connection.run(last, commit: commit)
    return isRestored
  }

  /// Returns the present identifiers of the tables.
  private static func clusterIdentity(
    _ connection: PostgresConnection
  ) throws(PostgresFault) -> ClusterIdentity {
    ClusterIdentity(
      system: try number(system, on: connection), timeline: try number(timeline, on: connection),
      table: try number(table, on: connection))
  }

  /// Returns true if the identifiers have changed and no relay has handled it yet.
  static func isOlderCopy(_ connection: PostgresConnection) throws(PostgresFault) -> Bool {
    let found = try storedIdentity(connection)
    return try !(found?.agrees(with: clusterIdentity(connection)) ?? true)
  }

  /// Changes the stored identifiers, so that the next opening detects a replaced database.
  static let markAsReplaced = PostgresStatement(
    "disown",
    """
    INSERT INTO opening (system_identifier, timeline, accounts_table) VALUES (0, 0, -1)
    ON CONFLICT (one) DO UPDATE SET accounts_table = -1
    """)

  /// Returns a number that was never used before, and 64 random bits. The server draws both.
  static func drawNumber(
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
      throw PostgresFault(cause: .lost, message: "the server returned no random number")
    }
    return (OpeningNumber.make(wall: drawn.wall, random: drawn.random), drawn.random)
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

  private static func storedIdentity(
    _ connection: PostgresConnection
  ) throws(PostgresFault) -> ClusterIdentity? {
    try connection.run(select).first { row in
      ClusterIdentity(system: row.integer(0), timeline: row.integer(1), table: row.integer(2))
    }
  }

  // MARK: Generations

  private static func beginGenerations(_ connection: PostgresConnection) throws(PostgresFault) {
    let opening = try drawNumber(connection).opening
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
    _ = try connection.run(markChunksUnverified, within: Limits.removalMilliseconds)
    // Those that were used since the copy was made would admit a device once more.
    _ = try connection.run(deletePairings)
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
  private static let markChunksUnverified = PostgresStatement(
    "doubt", "UPDATE chunks SET doubtful = true WHERE NOT doubtful")
  private static let deletePairings = PostgresStatement("delete all codes", "DELETE FROM pairings")
}

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
    let settings = try connection.run(DatabaseFindings.settingsQuery).first { row in
      (
        server: row.text(0), lossy: row.text(1), connections: Int(row.integer(2)),
        taken: Int(row.integer(3))
      )
    }
    guard let settings else {
      throw PostgresFault(cause: .lost, message: "the server returned no settings")
    }
    server = settings.server
    lossy = settings.lossy.split(separator: ",").map(String.init)
    connections = settings.connections
    freeConnections = max(0, settings.connections - settings.taken)
    guard found != nil else {
      (accounts, isOlderCopy) = (nil, false)
      return
    }
    accounts = try connection.run(AccountQueries.total).first { Int($0.integer(0)) }
    isOlderCopy = try StoreOpening.isOlderCopy(connection)
  }

  /// `numbackends` is visible to every user, and counts this session too.
  private static let settingsQuery = PostgresStatement(
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
