import CPostgres
import LockstepModel
import LockstepStorage

/// Setup of a session, and requirements on the server.
enum PostgresSession {
  /// Major version of the oldest supported server: it supports all statements used here.
  static let oldestServer = 13
  /// Number of round trips after which a session's plans are first renewed, doubled each time, and
  /// the maximum interval.
  static let (firstPlans, lastingPlans) = (64, 4_096)

  /// Returns the parameters for libpq besides those of the URL. The owner may set
  /// `application_name`.
  static func parameters(of host: PostgresAddress) -> [PostgresAddress.Parameter] {
    let vanished = Limits.databaseVanishedMilliseconds
    var own = [
      ("client_encoding", "UTF8"), ("tcp_user_timeout", "\(vanished)"), ("keepalives", "1"),
      ("keepalives_idle", "\(vanished / 3_000)"), ("keepalives_interval", "\(vanished / 6_000)"),
      ("keepalives_count", "4"),
    ]
    if host["application_name"] == nil { own.append(("fallback_application_name", "lockstep")) }
    return own.map { PostgresAddress.Parameter(keyword: $0.0, value: $0.1) }
  }

  /// A session that can be used.
  struct Prepared {
    /// Schema of the tables.
    var schema: String
    /// Number of the server's process.
    var backend: Int64
    /// Start of the server, in microseconds since 1970.
    var serverStartedAt: Int64
  }

  /// Reads and sets, in one round trip, everything that a session needs. Behind a pooler nothing
  /// stays set: other programs use the session of the server, too.
  static func prepare(_ connection: PostgresConnection) throws(PostgresFault) -> Prepared {
    let rows = try connection.run(settings, settingsValues.bind(connection.backend))
    let found = rows.first { row in
      (
        version: Int(row.integer(0)), isStandby: row.bool(1), encoding: row.text(2),
        schema: row.isNull(3) ? nil : row.text(3), backend: row.integer(4),
        startedAt: row.integer(5)
      )
    }
    guard let found else {
      throw PostgresFault(cause: .lost, message: "the server returned no version")
    }
    try check(version: found.version, isStandby: found.isStandby, encoding: found.encoding)
    guard let schema = found.schema else {
      throw PostgresFault(
        cause: .refused(state: "3F000"), message: "no schema of the search path exists")
    }
    return Prepared(
      schema: schema, backend: found.backend, serverStartedAt: found.startedAt)
  }

  /// `version`: the server's numeric version, 150018 for 15.18.
  static func check(
    version: Int, isStandby: Bool, encoding: String
  ) throws(PostgresFault) {
    guard version >= oldestServer * 10_000 else {
      throw PostgresFault(
        cause: .unfit,
        message: "PostgreSQL \(version / 10_000) is too old; it must be \(oldestServer) or newer")
    }
    guard encoding == "UTF8" else {
      throw PostgresFault(
        cause: .unfit,
        message: "the database has the encoding \(encoding); make one with UTF8 "
          + "('createdb --template=template0 --encoding=UTF8')")
    }
    guard !isStandby else {
      throw PostgresFault(
        cause: .lost,
        message: "that is a standby, which cannot be written; name the primary, or all hosts "
          + "separated by commas")
    }
  }

  /// Raises `synchronous_commit` to `on` if it is lower: an answer is sent only after its commit is
  /// durable. A stricter setting of the server (`remote_apply`) stays.
  ///
  /// Plans are generic, for any arrays (`force_generic_plan`), and use indexes: otherwise a table
  /// that was empty when its plan was made would be scanned in full each time. With few rows, the
  /// choice of index and of join order is arbitrary too, so plans are renewed while tables may grow
  /// (`PostgresConnection.renewPlans`).
  ///
  /// The timeouts release the locks of a relay that is stopped in the middle of a transaction, or
  /// cut off.
  private static func settings(isLocal: String) -> String {
    """
    set_config('statement_timeout', $1::text, \(isLocal)),
      set_config('lock_timeout', $2::text, \(isLocal)),
      set_config('idle_in_transaction_session_timeout', $3::text, \(isLocal)),
      set_config('synchronous_commit',
        CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')
          THEN 'on' ELSE current_setting('synchronous_commit') END, \(isLocal)),
      set_config('plan_cache_mode', 'force_generic_plan', \(isLocal)),
      set_config('enable_seqscan', 'off', \(isLocal)),
      set_config('enable_hashjoin', 'off', \(isLocal)),
      set_config('enable_mergejoin', 'off', \(isLocal)), set_config('jit', 'off', \(isLocal))
    """
  }

  /// `$7`: number of the process as the peer of the connection told it. Without a name: a pooler
  /// would not know it in another session.
  private static let settings = PostgresStatement(
    "",
    """
    SELECT current_setting('server_version_num')::bigint, pg_is_in_recovery(),
      current_setting('server_encoding'), current_schema()::text, pg_backend_pid()::bigint,
      \(serverStart), set_config('tcp_user_timeout', $4::text, \(isPooled)),
      set_config('tcp_keepalives_idle', $5::text, \(isPooled)),
      set_config('tcp_keepalives_interval', $6::text, \(isPooled)),
      set_config('tcp_keepalives_count', '4', \(isPooled)), \(settings(isLocal: isPooled))
    """)
  private static let isPooled = "pg_backend_pid() <> $7::bigint"

  private static let serverStart =
    "(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint"

  private static var settingsValues: PostgresParameters {
    let vanished = Limits.databaseVanishedMilliseconds
    return timeouts.bind("\(vanished)").bind("\(vanished / 3_000)").bind("\(vanished / 6_000)")
  }

  private static var timeouts: PostgresParameters {
    PostgresParameters()
      .bind("\(Limits.databaseStatementMilliseconds)").bind("\(Limits.databaseLockMilliseconds)")
      .bind("\(Limits.databaseAnswerMilliseconds)")
  }

  // MARK: Poolers

  /// Settings of one transaction behind a pooler, and a check of the server. A pooler keeps its
  /// connection with the relay while the server is started again, reset, or replaced by a standby:
  /// then the transaction fails with `replacedServerState`, so that a new session looks for lost
  /// commits and begins another run (`StoreOpening`).
  static func pooledSettings(serverStartedAt: Int64) -> PostgresPipeline.Step {
    PostgresPipeline.Step(statement: pooled, parameters: timeouts.bind(serverStartedAt))
  }

  /// SQLSTATE of a division by zero.
  static let replacedServerState = "22012"

  /// SQLSTATEs of a statement that is not prepared in the session, or already by another program.
  static let unknownStatementStates = ["26000", "42P05"]
  static let unknownStatementMessage =
    "the pooler does not know prepared statements; remove prepared_statements=on from the address, "
    + "or raise the pooler's max_prepared_statements (PgBouncer 1.21 or newer)"

  private static let pooled = PostgresStatement(
    "pooled settings",
    "SELECT 1 / (\(serverStart) = $4::bigint)::integer, \(settings(isLocal: "true"))")

  /// Identity of a database on a running server. Only the start of the server tells a copy of its
  /// files, which may run beside it, from the original.
  struct DatabaseIdentity: Hashable {
    var startedAt: Int64
    var database: Int64
    /// Text for errors.
    var text: String
  }

  static func identity(_ connection: PostgresConnection) throws(PostgresFault) -> DatabaseIdentity {
    let rows = try connection.run(identityQuery)
    let found = rows.first { row in
      DatabaseIdentity(
        startedAt: row.integer(0), database: row.integer(1),
        text: "database '\(row.text(2))', schema '\(connection.schema)', on the server that was "
          + "started at \(row.text(3))")
    }
    guard let found else {
      throw PostgresFault(cause: .lost, message: "the server returned no database")
    }
    return found
  }

  /// Returns sixteen digits, which are the same on all nodes of a database that fails over.
  static func busName(_ connection: PostgresConnection) throws(PostgresFault) -> String {
    let rows = try connection.run(storeName)
    let name = rows.first { "\($0.integer(0)) \($0.text(1)) \(connection.schema)" } ?? ""
    return HexText.text(StableHash.of(name))
  }

  private static let storeName = PostgresStatement(
    "store name", "SELECT system_identifier, current_database()::text FROM opening")
  private static let identityQuery = PostgresStatement(
    "identity",
    """
    SELECT \(serverStart), oid::bigint,
      datname::text, to_char(pg_postmaster_start_time() AT TIME ZONE 'UTC',
        'YYYY-MM-DD HH24:MI:SS.US') || ' UTC'
    FROM pg_database WHERE datname = current_database()
    """)

  /// For a transaction that scans a whole account, or all of them.
  static let long = PostgresStatement(
    "long",
    """
    SELECT set_config('statement_timeout', '\(Limits.removalMilliseconds)', true),
      set_config('lock_timeout', '\(Limits.removalMilliseconds)', true),
      set_config('idle_in_transaction_session_timeout', '\(Limits.removalMilliseconds)', true)
    """)

  // MARK: Refused connections

  /// Parses libpq's verbose message about a failed connection: `connection to server at "h" …
  /// failed: FATAL:  28P01: password authentication failed …`. The SQLSTATE precedes the server's
  /// message, in any language.
  static func fault(ofConnecting words: String) -> PostgresFault {
    let bytes = Array(words.utf8)
    let isStateByte = { (byte: UInt8) in
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }
    for end in bytes.indices.dropFirst(8)
    where bytes[end] == UInt8(ascii: ":") && bytes[end - 6] == UInt8(ascii: " ")
      && bytes[end - 7] == UInt8(ascii: " ") && bytes[end - 5..<end].allSatisfy(isStateByte)
    {
      let state = String(decoding: bytes[end - 5..<end], as: UTF8.self)
      let rest = bytes[(end + 1)...].prefix { $0 != UInt8(ascii: "\n") }
      let message = String(decoding: rest.drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)
      // PgBouncer's message for parameters of a session.
      if message.hasPrefix("unsupported startup parameter") {
        return PostgresFault(
          cause: .unfit,
          message: "\(message); a pooler forwards no such settings: make them for the relay's user "
            + "instead (ALTER ROLE … SET …)")
      }
      return PostgresFault(cause: .refused(state: state), message: message)
    }
    let lines = words.split(separator: "\n")
    // The server requires a password, and none is configured.
    guard !words.contains("fe_sendauth") else {
      return PostgresFault(cause: .refused(state: "28P01"), message: String(lines.last ?? ""))
    }
    return PostgresFault(cause: .lost, message: lines.joined(separator: "; "))
  }
}

extension PostgresAddress {
  /// One address for each host; only this address if it names one host, or leaves it to the
  /// environment.
  var hosts: [PostgresAddress] {
    guard let list = self["host"], list.contains(",") else { return [self] }
    let names = list.split(separator: ",", omittingEmptySubsequences: false)
    let ports = (self["port"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
    return names.enumerated().map { index, name in
      let port = ports.count == names.count ? ports[index] : ports.first ?? ""
      return setting("host", to: String(name)).setting("port", to: String(port))
    }
  }
}
