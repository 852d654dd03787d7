extension Schema {
  /// A device's tables.
  static let replica = Schema(
    applicationID: 0x4C53_7265,
    steps: [replicaVersion1, replicaVersion2, replicaVersion3, replicaVersion4])

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
}
