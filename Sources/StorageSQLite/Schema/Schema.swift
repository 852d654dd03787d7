import LockstepStorage

/// The versions of a database's tables, and the migration from each to the next.
///
/// `PRAGMA user_version` holds the version, `PRAGMA application_id` the kind of store.
struct Schema {
  /// Four letters that distinguish the file from those of other programs and from the other kind of
  /// store. Source: sqlite.org/fileformat.html, section 1.3.17.
  let applicationID: Int64
  /// The n-th step migrates from version n to n + 1. A released step is never changed.
  let steps: [String]

  var version: Int { steps.count }

  /// Rejects a file that is not a store of this kind, or that a newer program made. Writes nothing.
  func check(_ connection: SQLiteConnection) throws(StorageError) {
    let found = try connection.firstInteger(of: "PRAGMA user_version")
    let application = try connection.firstInteger(of: "PRAGMA application_id")
    if found == 0, application == 0 {
      let tables = try connection.firstInteger(of: "SELECT count(*) FROM sqlite_schema")
      guard tables == 0 else {
        throw connection.corruption("it is the database of another program")
      }
      return
    }
    guard application == applicationID, found > 0 else {
      throw connection.corruption("it is not a store of this kind")
    }
    guard found <= version else {
      throw .tooNew(path: connection.path, found: Int(clamping: found), known: version)
    }
  }

  /// Migrates to the newest version, in one transaction.
  func migrate(_ connection: SQLiteConnection) throws(StorageError) {
    let found = Int(clamping: try connection.firstInteger(of: "PRAGMA user_version"))
    guard found < version else { return }
    let script = steps[found...].joined(separator: "\n")
    do {
      try connection.execute(
        """
        BEGIN IMMEDIATE;
        \(script)
        PRAGMA application_id = \(applicationID);
        PRAGMA user_version = \(version);
        COMMIT;
        """)
    } catch {
      connection.rollBack()
      throw error
    }
  }
}

extension Schema {
  /// The relay's tables. Each begins with the account, so that a distributed database could
  /// partition by it.
  static let zones = Schema(
    applicationID: 0x4C53_7A6F,
    steps: [
      zonesVersion1, zonesVersion2, zonesVersion3, zonesVersion4, zonesVersion5, zonesVersion6,
      zonesVersion7, zonesVersion8, zonesVersion9, zonesVersion10,
    ])
  /// First version that knows moves of accounts.
  static let zonesWithMoves = 10

  ///     accounts   account · generation · newest (tag) · label · made_at
  ///     devices    account · number · device · device_name · platform · app_version · token_hash ·
  ///                last_seen
  ///     pairings   account · number · code_hash · expires_at
  ///     records    account · number · zone · name · type · modified_at · device · tag · fields
  ///     batches    account · number · device · batch_high · batch_low · made_at · first_tag ·
  ///                words · digest
  ///
  /// Ids are 64 random bits, stored as signed integers. Times are milliseconds since the Unix
  /// epoch. `number` is the order of insertion. `fields` is NULL in a tombstone. `RememberedBatch`
  /// defines `words` of a batch.
  private static let zonesVersion1 = """
    CREATE TABLE accounts (
      account INTEGER PRIMARY KEY,
      generation INTEGER NOT NULL,
      newest INTEGER NOT NULL,
      label TEXT NOT NULL,
      made_at INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE devices (
      account INTEGER NOT NULL,
      number INTEGER PRIMARY KEY,
      device INTEGER NOT NULL,
      device_name TEXT NOT NULL,
      platform TEXT NOT NULL,
      app_version TEXT NOT NULL,
      token_hash BLOB NOT NULL,
      last_seen INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX devices_by_account ON devices (account, device);
    CREATE UNIQUE INDEX devices_by_token ON devices (token_hash);

    CREATE TABLE pairings (
      account INTEGER NOT NULL,
      number INTEGER PRIMARY KEY,
      code_hash BLOB NOT NULL,
      expires_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX pairings_by_account ON pairings (account);
    CREATE UNIQUE INDEX pairings_by_code ON pairings (code_hash);
    CREATE INDEX pairings_by_expiry ON pairings (expires_at);

    -- Rows are found by a number and not kept in the order of a key: fields may be large, and a
    -- tree whose inner pages hold them would be deep.
    CREATE TABLE records (
      account INTEGER NOT NULL,
      number INTEGER PRIMARY KEY,
      zone TEXT NOT NULL,
      name TEXT NOT NULL,
      type TEXT NOT NULL,
      modified_at INTEGER NOT NULL,
      device INTEGER NOT NULL,
      tag INTEGER NOT NULL,
      fields BLOB
    ) STRICT;
    CREATE UNIQUE INDEX records_by_name ON records (account, zone, name);
    -- With the zone in it, a page of one zone passes over the others' rows without reading them.
    CREATE UNIQUE INDEX records_by_tag ON records (account, tag, zone);

    -- In the order of time, so that old ones are found at the beginning.
    CREATE TABLE batches (
      account INTEGER NOT NULL,
      number INTEGER PRIMARY KEY,
      device INTEGER NOT NULL,
      batch_high INTEGER NOT NULL,
      batch_low INTEGER NOT NULL,
      made_at INTEGER NOT NULL,
      first_tag INTEGER NOT NULL,
      words TEXT,
      digest BLOB NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX batches_by_id ON batches (account, device, batch_high, batch_low);
    """

  ///     accounts        … · plan · forgotten (tag) · chunk_bytes
  ///     lineage         account · generation · ended_at (tag)
  ///     subscriptions   account · device · id · content
  ///     zones           account · zone · live
  ///     records         … · chunks · deleted_at
  ///     chunks          account · hash · file · bytes · uses · lease_until · doubtful
  ///     opening         number                                             one row, or none
  ///
  /// `plan` and `content` are the texts of `Plan.storedText` and `Subscription.storedText`.
  /// `forgotten` is the greatest tag of a tombstone that was dropped. `live` counts a zone's
  /// records that are no tombstones; a zone without any has no row. `chunks` of a record holds the
  /// concatenated hashes of its chunks, or is NULL, and `uses` counts the records that name a
  /// chunk. `deleted_at` is the time when the relay accepted the deletion, NULL in a live record.
  /// `lineage`, `opening` and `doubtful` serve to detect and repair the restore of an older copy of
  /// the store.
  private static let zonesVersion2 = """
    ALTER TABLE accounts ADD COLUMN plan TEXT;
    ALTER TABLE accounts ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE accounts ADD COLUMN chunk_bytes INTEGER NOT NULL DEFAULT 0;

    CREATE TABLE lineage (
      account INTEGER NOT NULL,
      generation INTEGER NOT NULL,
      ended_at INTEGER NOT NULL,
      PRIMARY KEY (account, generation)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE subscriptions (
      account INTEGER NOT NULL,
      device INTEGER NOT NULL,
      id TEXT NOT NULL,
      content TEXT NOT NULL,
      PRIMARY KEY (account, device, id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE zones (
      account INTEGER NOT NULL,
      zone TEXT NOT NULL,
      live INTEGER NOT NULL,
      PRIMARY KEY (account, zone)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO zones
      SELECT account, zone, count(*) FROM records WHERE fields IS NOT NULL GROUP BY account, zone;

    ALTER TABLE records ADD COLUMN chunks BLOB;
    ALTER TABLE records ADD COLUMN deleted_at INTEGER;
    -- Nobody wrote down when a record was deleted. It was no later than the last batch, and where
    -- all batches are forgotten it was longer ago than anything is kept.
    UPDATE records SET deleted_at = (SELECT coalesce(max(made_at), 0) FROM batches)
      WHERE fields IS NULL;
    CREATE INDEX records_by_deletion ON records (deleted_at, account, tag)
      WHERE deleted_at IS NOT NULL;

    CREATE TABLE chunks (
      account INTEGER NOT NULL,
      hash BLOB NOT NULL,
      file INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      uses INTEGER NOT NULL,
      lease_until INTEGER NOT NULL,
      doubtful INTEGER NOT NULL,
      PRIMARY KEY (account, hash)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX chunks_by_file ON chunks (account, file);
    CREATE INDEX chunks_unused ON chunks (lease_until, account, hash) WHERE uses = 0;

    CREATE TABLE opening (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      number INTEGER NOT NULL
    ) STRICT;
    """

  ///     accounts   … · run · range_start (tag)
  ///     gaps       account · through_tag · after_tag
  ///
  /// `gaps` holds the tag ranges that an account skipped (`TagGap`), and `run` the run of its last
  /// save: they detect a store that was reset as a whole to an earlier state.
  ///
  ///     accounts   … · quota_bytes · quota_records · record_bytes · record_count · batch_count
  ///
  /// `quota_bytes` and `quota_records` are the plan's, NULL if it has none. `record_bytes`,
  /// `record_count` and `batch_count` are the account's `AccountUse`.
  private static let zonesVersion3 = """
    ALTER TABLE accounts ADD COLUMN run INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE accounts ADD COLUMN range_start INTEGER NOT NULL DEFAULT 0;

    CREATE TABLE gaps (
      account INTEGER NOT NULL,
      through_tag INTEGER NOT NULL,
      after_tag INTEGER NOT NULL,
      PRIMARY KEY (account, through_tag)
    ) STRICT, WITHOUT ROWID;

    ALTER TABLE accounts ADD COLUMN quota_bytes INTEGER;
    ALTER TABLE accounts ADD COLUMN quota_records INTEGER;
    ALTER TABLE accounts ADD COLUMN record_bytes INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE accounts ADD COLUMN record_count INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE accounts ADD COLUMN batch_count INTEGER NOT NULL DEFAULT 0;
    UPDATE accounts SET
      record_count = (SELECT count(*) FROM records WHERE records.account = accounts.account),
      batch_count = (SELECT count(*) FROM batches WHERE batches.account = accounts.account),
      record_bytes = (
        SELECT coalesce(sum(128 + length(CAST(zone AS BLOB)) + length(CAST(name AS BLOB))
          + length(CAST(type AS BLOB)) + coalesce(length(fields), 0)
          + coalesce(length(chunks), 0)), 0)
        FROM records WHERE records.account = accounts.account)
        + (SELECT coalesce(sum(128 + coalesce(length(words), 0)), 0)
        FROM batches WHERE batches.account = accounts.account);
    """

  ///     records    … · includes
  ///
  /// `includes` holds the fingerprints of lost versions on which the record was made, 8 bytes each
  /// (`Record.includes`), or NULL.
  private static let zonesVersion4 = """
    ALTER TABLE records ADD COLUMN includes BLOB;
    """

  /// Version from which on a store may have a commit log.
  static let commitLogVersion = 5

  ///     opening    … · logged
  ///
  /// `logged` is the last sequence of the commit log that the tables contain (`CommitLogFile`).
  private static let zonesVersion5 = """
    ALTER TABLE opening ADD COLUMN logged INTEGER NOT NULL DEFAULT 0;
    """

  /// Version from which on devices may have registrations for wakes.
  static let wakesVersion = 6

  ///     wakes      account · device · content
  ///     wake_keys  made_at · private_key
  ///
  /// `wakes` has a row for each device with registrations for wakes: the text of
  /// `DeviceWakes.storedText`. `wake_keys` holds the relay's keys for push services (`WakeKey`).
  private static let zonesVersion6 = """
    CREATE TABLE wakes (
      account INTEGER NOT NULL,
      device INTEGER NOT NULL,
      content TEXT NOT NULL,
      PRIMARY KEY (account, device)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE wake_keys (
      made_at INTEGER PRIMARY KEY,
      private_key BLOB NOT NULL
    ) STRICT;
    """

  /// Version from which on devices may have a scope.
  static let scopesVersion = 7

  ///     devices    … · scope
  ///     pairings   … · scope
  ///
  /// `scope` is the text of `DeviceScope.storedText`, NULL for the whole account. Few records name
  /// chunks; the index finds those of a zone.
  private static let zonesVersion7 = """
    ALTER TABLE devices ADD COLUMN scope TEXT;
    ALTER TABLE pairings ADD COLUMN scope TEXT;
    CREATE INDEX records_with_chunks ON records (account, zone) WHERE chunks IS NOT NULL;
    """

  /// Version from which on pairing codes may carry wrapped keys.
  static let wrappedKeysVersion = 8

  ///     pairings   … · wrapped
  ///
  /// `wrapped` is the text of `NewPairing.wrapped`, NULL if the code carries no keys.
  private static let zonesVersion8 = """
    ALTER TABLE pairings ADD COLUMN wrapped TEXT;
    """

  ///     accounts   … · label_key
  ///
  /// `label_key` is `AccountLabel.key` of the label, NULL if it has none. It is also NULL in rows
  /// from before this version and in those of another store, until the next account with a label
  /// is created. Not unique: accounts from before may share a label. The second index finds the
  /// rows whose labels are compared one by one.
  private static let zonesVersion9 = """
    ALTER TABLE accounts ADD COLUMN label_key TEXT;
    CREATE INDEX accounts_by_label ON accounts (label_key) WHERE label_key IS NOT NULL;
    CREATE INDEX accounts_without_label_key ON accounts (account)
      WHERE label_key IS NULL AND label <> '';
    """

  ///     accounts            … · affairs · moving_until · move
  ///     departed            account · relay · move · version · cleared
  ///     departed_devices    account · token_hash
  ///     departed_pairings   account · code_hash · expires_at
  ///
  /// The residence of accounts (`AccountMove`). `affairs` counts the moves of an account, and in a
  /// database also its other membership changes.
  private static let zonesVersion10 = """
    ALTER TABLE accounts ADD COLUMN affairs INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE accounts ADD COLUMN moving_until INTEGER;
    ALTER TABLE accounts ADD COLUMN move INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX accounts_moving ON accounts (account) WHERE moving_until IS NOT NULL;

    CREATE TABLE departed (
      account INTEGER PRIMARY KEY,
      relay TEXT NOT NULL,
      move INTEGER NOT NULL,
      version INTEGER NOT NULL,
      cleared INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX departed_uncleared ON departed (account) WHERE cleared = 0;

    CREATE TABLE departed_devices (
      account INTEGER NOT NULL,
      token_hash BLOB NOT NULL
    ) STRICT;
    CREATE INDEX departed_devices_by_account ON departed_devices (account);
    CREATE INDEX departed_devices_by_token ON departed_devices (token_hash);

    CREATE TABLE departed_pairings (
      account INTEGER NOT NULL,
      code_hash BLOB NOT NULL,
      expires_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX departed_pairings_by_account ON departed_pairings (account);
    CREATE INDEX departed_pairings_by_code ON departed_pairings (code_hash);
    """
}

extension Schema {
  /// A device's tables.
  static let replica = Schema(
    applicationID: 0x4C53_7265,
    steps: [
      replicaVersion1, replicaVersion2, replicaVersion3, replicaVersion4, replicaVersion5,
      replicaVersion6, replicaVersion7, replicaVersion8,
    ])

  ///     identity   relay · account · device · token · device_name          one row, or none
  ///     place      cursor                                                  one row, or none
  ///     records    zone · name · type · modified_at · device · tag · fields
  ///     outbox     number · zone · name · type · modified_at · stamp_trusted · group_number ·
  ///                state · batch_high · batch_low · code · detail · retry_after · relay_time ·
  ///                fields
  ///     versions   number · role · zone · name · type · modified_at · device · tag · fields
  ///     notes      key · value
  ///
  /// `versions` holds the versions that an outbox entry refers to: the relay's version that the
  /// edit was based on (role 0), the version that the user has to choose against (role 1), the
  /// version that due edits made (role 2), the stamp of the version that was sent first (role 3),
  /// and the lost versions that the entry includes (role 4). `state` is a word of `OutboxTable`.
  /// `fields` is NULL for a deletion.
  private static let replicaVersion1 = """
    CREATE TABLE identity (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      relay TEXT NOT NULL,
      account INTEGER NOT NULL,
      device INTEGER NOT NULL,
      token TEXT NOT NULL,
      device_name TEXT NOT NULL
    ) STRICT;

    CREATE TABLE place (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      cursor TEXT NOT NULL
    ) STRICT;

    CREATE TABLE records (
      zone TEXT NOT NULL,
      name TEXT NOT NULL,
      type TEXT NOT NULL,
      modified_at INTEGER NOT NULL,
      device INTEGER NOT NULL,
      tag INTEGER NOT NULL,
      fields BLOB
    ) STRICT;
    CREATE UNIQUE INDEX records_by_name ON records (zone, name);
    CREATE INDEX records_by_type ON records (zone, type, name);

    CREATE TABLE outbox (
      number INTEGER PRIMARY KEY,
      zone TEXT NOT NULL,
      name TEXT NOT NULL,
      type TEXT NOT NULL,
      modified_at INTEGER NOT NULL,
      stamp_trusted INTEGER NOT NULL,
      group_number INTEGER,
      state TEXT NOT NULL,
      batch_high INTEGER,
      batch_low INTEGER,
      code TEXT,
      detail TEXT,
      retry_after INTEGER,
      relay_time INTEGER,
      fields BLOB
    ) STRICT;

    CREATE TABLE versions (
      number INTEGER NOT NULL,
      role INTEGER NOT NULL,
      zone TEXT NOT NULL,
      name TEXT NOT NULL,
      type TEXT NOT NULL,
      modified_at INTEGER NOT NULL,
      device INTEGER NOT NULL,
      tag INTEGER NOT NULL,
      fields BLOB
    ) STRICT;
    CREATE UNIQUE INDEX versions_by_number ON versions (number, role);

    CREATE TABLE notes (
      key TEXT PRIMARY KEY,
      value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    """

  ///     records    zone · name · type · modified_at · device · tag · mark · chunks · fields
  ///     versions   … · chunks
  ///
  /// `mark` is the number of the last snapshot that named the record, or -1 if the relay lost the
  /// record. It precedes `fields`, which may be large, so that it is read and changed without them.
  /// `chunks` holds the hashes of the record's chunks, 32 bytes each, or NULL.
  private static let replicaVersion2 = """
    CREATE TABLE records_2 (
      zone TEXT NOT NULL,
      name TEXT NOT NULL,
      type TEXT NOT NULL,
      modified_at INTEGER NOT NULL,
      device INTEGER NOT NULL,
      tag INTEGER NOT NULL,
      mark INTEGER NOT NULL DEFAULT 0,
      chunks BLOB,
      fields BLOB
    ) STRICT;
    INSERT INTO records_2
      SELECT zone, name, type, modified_at, device, tag, 0, NULL, fields FROM records;
    DROP TABLE records;
    ALTER TABLE records_2 RENAME TO records;
    CREATE UNIQUE INDEX records_by_name ON records (zone, name);
    CREATE INDEX records_by_type ON records (zone, type);
    CREATE INDEX records_lost ON records (zone, name) WHERE mark = -1;

    ALTER TABLE versions ADD COLUMN chunks BLOB;
    """

  ///     chunks       hash · file · bytes · idle_since
  ///     chunk_uses   hash · uses
  ///
  /// `chunks` holds the chunks of files that are stored in the home; `file` is the number of the
  /// file that holds the chunk. `chunk_uses` counts the held records that name a chunk, stored in
  /// the home or not. Records with chunks have an index of their own, so that other records cost
  /// nothing.
  private static let replicaVersion3 = """
    CREATE TABLE pieces (
      hash BLOB PRIMARY KEY,
      file INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      idle_since INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX pieces_by_file ON pieces (file);

    CREATE TABLE piece_uses (
      hash BLOB PRIMARY KEY,
      uses INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX records_with_pieces ON records (zone, name) WHERE chunks IS NOT NULL;
    INSERT INTO piece_uses
      WITH RECURSIVE named (record, place, chunks) AS (
        SELECT rowid, 1, chunks FROM records WHERE chunks IS NOT NULL
        UNION ALL
        SELECT record, place + 32, chunks FROM named WHERE place + 32 < length(chunks)
      )
      SELECT substr(chunks, place, 32) AS hash, count(DISTINCT record) FROM named GROUP BY hash;
    """

  ///     records    … · ancestors
  ///
  /// `ancestors` holds the fingerprints of versions that the record has replaced, 8 bytes each,
  /// oldest first, or NULL. It is read only after a restore of the relay.
  private static let replicaVersion4 = """
    ALTER TABLE records ADD COLUMN ancestors BLOB;
    """

  ///     identity   … · scope
  ///
  /// `scope` is the text of `DeviceScope.storedText`, NULL for the whole account.
  private static let replicaVersion5 = """
    ALTER TABLE identity ADD COLUMN scope TEXT;
    """

  ///     records    … · vector
  ///
  /// `vector` belongs to a version of a sealed zone; it is NULL in other zones, and for a version
  /// that the relay has not acknowledged.
  private static let replicaVersion6 = """
    ALTER TABLE records ADD COLUMN vector BLOB;
    """

  ///     records    … · version
  ///
  /// `version` holds the bytes of a `RecordVersion` instead of its vector.
  private static let replicaVersion7 = """
    ALTER TABLE records RENAME COLUMN vector TO version;
    UPDATE records SET version = NULL WHERE version IS NOT NULL;
    """

  ///     outbox     … · lineage
  ///
  /// `lineage` holds the bytes of `OutboxEntry.lineage`, which were a row of `versions` (role 5):
  /// each save in a sealed zone then wrote to one more table and its index.
  private static let replicaVersion8 = """
    ALTER TABLE outbox ADD COLUMN lineage BLOB;
    UPDATE outbox SET lineage =
      (SELECT fields FROM versions WHERE number = outbox.number AND role = 5);
    DELETE FROM versions WHERE role = 5;
    """
}
