extension Schema {
  /// A device's tables.
  static let replica = Schema(applicationID: 0x4C53_7265, steps: [replicaVersion1])

  ///     identity   relay · account · device · token · device_name          one row, or none
  ///     place      cursor                                                  one row, or none
  ///     records    zone · name · type · modified_at · device · tag · fields
  ///     outbox     number · zone · name · type · modified_at · stamp_trusted · group_number ·
  ///                state · batch_high · batch_low · code · detail · retry_after · relay_time ·
  ///                fields
  ///     versions   number · role · zone · name · type · modified_at · device · tag · fields
  ///     notes      key · value
  ///
  /// `versions` holds what an entry of the outbox refers to: the relay's version that it was made
  /// on (role 0), the one that a person has to choose against (role 1), and what time made of it
  /// (role 2). `state` is a word of `OutboxRow`. `fields` is NULL where something is deleted.
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
}
