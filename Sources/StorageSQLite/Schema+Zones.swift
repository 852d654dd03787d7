extension Schema {
  /// The relay's tables. Each begins with the account, so that a distributed database could
  /// partition by it.
  static let zones = Schema(
    applicationID: 0x4C53_7A6F,
    steps: [zonesVersion1, zonesVersion2, zonesVersion3, zonesVersion4])

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
}
