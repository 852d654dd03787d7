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
    try Schema.beginLocked(connection)
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
        PostgresStatement(
          "",
          """
          UPDATE schema_version
          SET version = \(version), oldest = greatest(oldest, \(oldest))
          """))
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
        cause: .damaged, message: "a move into it is in progress, or did not finish")
    }
    guard found.oldest <= version else {
      throw PostgresFault(
        cause: .tooNew(found: found.version, known: version), message: "it is too new")
    }
  }

  /// Begins a transaction in which no other relay changes the tables or begins a run.
  static func beginLocked(_ connection: PostgresConnection) throws(PostgresFault) {
    _ = try connection.run(.begin)
    var pipeline = PostgresPipeline()
    pipeline.add(PostgresSession.long)
    pipeline.add(lock)
    _ = try connection.run(pipeline, within: Limits.removalMilliseconds)
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

extension Schema {
  /// The relay's tables. Each table and each key begins with the account, so that a distributed
  /// database can partition by it; `wake_keys` has only few rows, for all accounts. A request with
  /// a token or a pairing code does not name its account: an index finds it by the hash.
  static let zones = Schema(
    steps: [
      version1, version2, version3, version4, version5, version6, version7, version8,
      version9, version10,
    ],
    oldest: 6)

  /// Oldest version of the program that may use tables from which an account has moved, or moves:
  /// the one that knows `version10`.
  static let oldestWithMoves = 10

  ///     accounts        account · generation · newest (tag) · forgotten (tag) · affairs · label ·
  ///                     plan · made_at · chunk_bytes · run · range_start (tag) ·
  ///                     moving_until · move
  ///     lineage         account · generation · ended_at (tag)
  ///     gaps            account · through_tag · after_tag
  ///     devices         account · device · number · device_name · platform · app_version ·
  ///                     token_hash · last_seen · connected_by · connected_until · scope
  ///     subscriptions   account · device · id · content
  ///     wakes           account · device · content
  ///     wake_keys       made_at · private_key
  ///     pairings        account · number · code_hash · expires_at · scope · wrapped
  ///     zones           account · zone · live
  ///     records         account · zone · name · type · modified_at · device · tag · deleted_at ·
  ///                     chunks · fields · includes
  ///     batches         account · device · batch_high · batch_low · number · made_at · first_tag ·
  ///                     words · digest
  ///     chunks          account · hash · file · bytes · uses · lease_until · doubtful
  ///     files           account · number · owner · bytes · finished_at
  ///     file_parts      account · number · part · bytes
  ///     opening         system_identifier · timeline · accounts_table · run      one row, or none
  ///     listeners       account · relay · node
  ///     relays          relay · seen_at
  ///     departed        account · relay · move · version · cleared
  ///     departed_devices    account · token_hash
  ///     departed_pairings   account · code_hash · expires_at
  ///
  /// See SQLite's tables; these differ as follows. `connected_by` is the relay that a device was
  /// connected to last, and `connected_until` the time when this entry expires. `affairs` counts
  /// changes of an account's devices, plan and subscriptions. `number` is the order of insertion.
  /// `chunks.file` and `files.number` have their top bit inverted, so that the order of a bigint is
  /// the order of the number. `files` and `file_parts` hold the bytes of chunks, see
  /// `PostgresChunkStore`; for `opening` see `StoreOpening`, for `listeners` and `relays`
  /// `ListenerQueries`.
  ///
  /// Texts whose order matters compare as bytes (`"C"`). `fields` may be compressed; PostgreSQL
  /// does that from 2 KB on. It is read as a whole or not at all. PostgreSQL stops compressing
  /// encrypted fields after the first kilobyte; for other fields, the log that is synced and sent
  /// to standbys is several times shorter. The bytes of chunks are mostly encrypted or compressed,
  /// so they are not compressed again (`STORAGE EXTERNAL`), and a part of a chunk is read without
  /// the bytes before it.
  ///
  /// Tables whose rows are often updated without their keys reserve free space in their pages
  /// (`fillfactor`), so that no index is updated. A record's tag is in an index, so free space
  /// would not help it.
  private static let version1 = [
    """
    CREATE TABLE accounts (
      account bigint PRIMARY KEY,
      generation bigint NOT NULL,
      newest bigint NOT NULL DEFAULT 0,
      forgotten bigint NOT NULL DEFAULT 0,
      affairs bigint NOT NULL DEFAULT 0,
      made_at bigint NOT NULL,
      chunk_bytes bigint NOT NULL DEFAULT 0,
      label text NOT NULL,
      plan text
    ) WITH (fillfactor = 50)
    """,
    """
    CREATE TABLE lineage (
      account bigint NOT NULL,
      generation bigint NOT NULL,
      ended_at bigint NOT NULL,
      PRIMARY KEY (account, generation)
    )
    """,
    """
    CREATE TABLE devices (
      account bigint NOT NULL,
      device bigint NOT NULL,
      number bigint GENERATED ALWAYS AS IDENTITY,
      last_seen bigint NOT NULL,
      connected_by bigint,
      connected_until timestamptz,
      token_hash bytea NOT NULL,
      device_name text NOT NULL,
      platform text NOT NULL,
      app_version text NOT NULL,
      PRIMARY KEY (account, device)
    ) WITH (fillfactor = 70)
    """,
    "CREATE UNIQUE INDEX devices_by_token ON devices (token_hash)",
    """
    CREATE TABLE subscriptions (
      account bigint NOT NULL,
      device bigint NOT NULL,
      id text COLLATE "C" NOT NULL,
      content text NOT NULL,
      PRIMARY KEY (account, device, id)
    )
    """,
    """
    CREATE TABLE pairings (
      account bigint NOT NULL,
      number bigint GENERATED ALWAYS AS IDENTITY,
      expires_at bigint NOT NULL,
      code_hash bytea NOT NULL,
      PRIMARY KEY (account, number)
    )
    """,
    "CREATE UNIQUE INDEX pairings_by_code ON pairings (code_hash)",
    "CREATE INDEX pairings_by_expiry ON pairings (expires_at)",
    """
    CREATE TABLE zones (
      account bigint NOT NULL,
      live bigint NOT NULL,
      zone text COLLATE "C" NOT NULL,
      PRIMARY KEY (account, zone)
    ) WITH (fillfactor = 70)
    """,
    """
    CREATE TABLE records (
      account bigint NOT NULL,
      tag bigint NOT NULL,
      modified_at bigint NOT NULL,
      device bigint NOT NULL,
      deleted_at bigint,
      zone text COLLATE "C" NOT NULL,
      name text COLLATE "C" NOT NULL,
      type text NOT NULL,
      chunks bytea,
      fields bytea,
      PRIMARY KEY (account, zone, name)
    )
    """,
    // With the zone in the index, a page of one zone skips the rows of other zones without reading
    // them.
    "CREATE UNIQUE INDEX records_by_tag ON records (account, tag, zone)",
    """
    CREATE INDEX records_by_deletion ON records (deleted_at, account, tag)
      WHERE deleted_at IS NOT NULL
    """,
    """
    CREATE TABLE batches (
      account bigint NOT NULL,
      device bigint NOT NULL,
      batch_high bigint NOT NULL,
      batch_low bigint NOT NULL,
      number bigint GENERATED ALWAYS AS IDENTITY,
      made_at bigint NOT NULL,
      first_tag bigint NOT NULL,
      words text,
      digest bytea NOT NULL,
      PRIMARY KEY (account, device, batch_high, batch_low)
    )
    """,
    "CREATE INDEX batches_by_age ON batches (made_at, number)",
    """
    CREATE TABLE chunks (
      account bigint NOT NULL,
      hash bytea NOT NULL,
      file bigint NOT NULL,
      bytes bigint NOT NULL,
      uses bigint NOT NULL DEFAULT 0,
      lease_until bigint NOT NULL,
      doubtful boolean NOT NULL DEFAULT false,
      PRIMARY KEY (account, hash)
    )
    """,
    "CREATE INDEX chunks_by_file ON chunks (account, file)",
    "CREATE INDEX chunks_unused ON chunks (lease_until, account, hash) WHERE uses = 0",
    """
    CREATE TABLE files (
      account bigint NOT NULL,
      number bigint NOT NULL,
      owner bigint,
      bytes bigint NOT NULL DEFAULT 0,
      finished_at bigint,
      PRIMARY KEY (account, number)
    ) WITH (fillfactor = 90)
    """,
    "CREATE INDEX files_by_owner ON files (owner) WHERE owner IS NOT NULL",
    """
    CREATE TABLE file_parts (
      account bigint NOT NULL,
      number bigint NOT NULL,
      part bigint NOT NULL,
      bytes bytea NOT NULL,
      PRIMARY KEY (account, number, part)
    )
    """,
    "ALTER TABLE file_parts ALTER COLUMN bytes SET STORAGE EXTERNAL",
    """
    CREATE TABLE opening (
      one boolean PRIMARY KEY DEFAULT true CHECK (one),
      system_identifier bigint NOT NULL,
      timeline bigint NOT NULL,
      accounts_table bigint NOT NULL
    )
    """,
  ]

  /// A unique key must begin with the account if rows are partitioned by it. A commit looks up a
  /// hash before it adds one; the chance that two relays draw the same 60 bits at once is accepted.
  private static let version2 = [
    "CREATE INDEX devices_by_token_hash ON devices (token_hash)",
    "DROP INDEX devices_by_token",
    "CREATE INDEX pairings_by_code_hash ON pairings (code_hash)",
    "DROP INDEX pairings_by_code",
  ]

  ///     accounts   … · quota_bytes · quota_records · record_bytes · record_count · batch_count
  ///
  /// As in SQLite's tables. A relay of the version before does not update the counters: while
  /// relays are upgraded one by one, its saves are missing in them.
  ///
  /// A relay of the version before continues in the account's present tag range.
  private static let version3 = [
    "ALTER TABLE opening ADD COLUMN run bigint NOT NULL DEFAULT 0",
    """
    ALTER TABLE accounts ADD COLUMN run bigint NOT NULL DEFAULT 0,
      ADD COLUMN range_start bigint NOT NULL DEFAULT 0
    """,
    """
    CREATE TABLE gaps (
      account bigint NOT NULL,
      through_tag bigint NOT NULL,
      after_tag bigint NOT NULL,
      PRIMARY KEY (account, through_tag)
    )
    """,
    "ALTER TABLE accounts ADD COLUMN quota_bytes bigint",
    "ALTER TABLE accounts ADD COLUMN quota_records bigint",
    "ALTER TABLE accounts ADD COLUMN record_bytes bigint NOT NULL DEFAULT 0",
    "ALTER TABLE accounts ADD COLUMN record_count bigint NOT NULL DEFAULT 0",
    "ALTER TABLE accounts ADD COLUMN batch_count bigint NOT NULL DEFAULT 0",
    """
    UPDATE accounts SET record_bytes = held.bytes, record_count = held.records,
      batch_count = held.batches
    FROM (
      SELECT account, sum(bytes)::bigint AS bytes, sum(records)::bigint AS records,
        sum(batches)::bigint AS batches
      FROM (
        SELECT account, 128 + octet_length(zone) + octet_length(name) + octet_length(type)
          + coalesce(octet_length(fields), 0) + coalesce(octet_length(chunks), 0) AS bytes,
          1 AS records, 0 AS batches FROM records
        UNION ALL SELECT account, 128 + coalesce(octet_length(words), 0), 0, 1 FROM batches
      ) AS rows GROUP BY account) AS held
    WHERE accounts.account = held.account
    """,
  ]

  /// Adds the lost versions on which a record was made. Saves of a relay of the version before
  /// leave the column as it is.
  private static let version4 = ["ALTER TABLE records ADD COLUMN includes bytea"]

  /// Adds registrations for wakes. A relay of the version before leaves the row of a device that it
  /// revokes; such a row is not read.
  private static let version5 = [
    """
    CREATE TABLE wakes (
      account bigint NOT NULL,
      device bigint NOT NULL,
      content text NOT NULL,
      PRIMARY KEY (account, device)
    ) WITH (fillfactor = 70)
    """,
    """
    CREATE TABLE wake_keys (
      made_at bigint PRIMARY KEY,
      private_key bytea NOT NULL
    )
    """,
  ]

  /// Adds the scopes of devices. A relay of a version before would give a device that was paired
  /// for a part of its account all of it, so none may be started any more.
  private static let version6 = [
    "ALTER TABLE devices ADD COLUMN scope text",
    "ALTER TABLE pairings ADD COLUMN scope text",
    "CREATE INDEX records_with_chunks ON records (account, zone) WHERE chunks IS NOT NULL",
  ]

  /// Adds the wrapped keys of pairing codes. A device that joins at a relay of the version before
  /// gets none, as if the code carried none, so such a relay may still run.
  private static let version7 = [
    "ALTER TABLE pairings ADD COLUMN wrapped text"
  ]

  /// Adds `AccountLabel.key` of the labels, as in SQLite's tables. A relay of the version before
  /// adds rows without it, and accepts a label that is in use.
  private static let version8 = [
    "ALTER TABLE accounts ADD COLUMN label_key text COLLATE \"C\"",
    "CREATE INDEX accounts_by_label ON accounts (label_key) WHERE label_key IS NOT NULL",
    """
    CREATE INDEX accounts_without_label_key ON accounts (account)
      WHERE label_key IS NULL AND label <> ''
    """,
  ]

  /// Adds the listeners. A relay of the version before does not register, so it is told of all
  /// commits (`NoticeSender`). The tables are emptied by a crash or a failover of the database; the
  /// relays register again then.
  private static let version9 = [
    """
    CREATE UNLOGGED TABLE listeners (
      account bigint NOT NULL,
      relay bigint NOT NULL,
      node bigint NOT NULL,
      PRIMARY KEY (account, relay, node)
    )
    """,
    "CREATE INDEX listeners_by_relay ON listeners (relay)",
    """
    CREATE UNLOGGED TABLE relays (
      relay bigint PRIMARY KEY,
      seen_at timestamptz NOT NULL
    ) WITH (fillfactor = 50)
    """,
  ]

  /// Adds the residence of accounts (`AccountMove`). A relay of the version before would save to an
  /// account that is being moved, so a move raises `oldest` first (`OldRelays`).
  private static let version10 = [
    "ALTER TABLE schema_version ADD COLUMN moves_since timestamptz",
    """
    ALTER TABLE accounts ADD COLUMN moving_until bigint,
      ADD COLUMN move bigint NOT NULL DEFAULT 0
    """,
    """
    CREATE TABLE departed (
      account bigint PRIMARY KEY,
      move bigint NOT NULL,
      version bigint NOT NULL,
      cleared boolean NOT NULL DEFAULT false,
      relay text NOT NULL
    )
    """,
    "CREATE INDEX departed_uncleared ON departed (account) WHERE NOT cleared",
    """
    CREATE TABLE departed_devices (
      account bigint NOT NULL,
      token_hash bytea NOT NULL,
      PRIMARY KEY (account, token_hash)
    )
    """,
    "CREATE INDEX departed_devices_by_token_hash ON departed_devices (token_hash)",
    """
    CREATE TABLE departed_pairings (
      account bigint NOT NULL,
      expires_at bigint NOT NULL,
      code_hash bytea NOT NULL,
      PRIMARY KEY (account, code_hash)
    )
    """,
    "CREATE INDEX departed_pairings_by_code_hash ON departed_pairings (code_hash)",
  ]
}
