import LockstepModel
import LockstepStorage

/// Queries on the chunks of files.
enum ChunkQueries {
  static func chunk(
    _ hash: ChunkHash, of account: AccountID, on connection: PostgresConnection
  ) throws(PostgresFault) -> ReadResult {
    let parameters = PostgresParameters().bind(account.rawValue).bind(hash.bytes)
    let found = try connection.run(chunk, parameters).first { row in
      StoredChunk(
        file: ChunkFile(account: account, columnValue: row.integer(0)),
        bytes: Int(clamping: row.integer(1)))
    }
    return found.map { .chunk($0) } ?? .refused(StoreRefusals.unknownChunk)
  }

  /// Returns the chunks as far as live records of these zones name them.
  static func named(
    _ hashes: [ChunkHash], in zones: [Name], of account: AccountID,
    on connection: PostgresConnection
  ) throws(PostgresFault) -> ReadResult {
    let parameters = PostgresParameters().bind(account.rawValue).bind(hashes.map(\.bytes))
      .bind(zones.map(\.text))
    var chunks = [StoredChunk?](repeating: nil, count: hashes.count)
    for (place, chunk) in try connection.run(named, parameters).all({ row in
      (
        Int(clamping: row.integer(0)) - 1,
        StoredChunk(
          file: ChunkFile(account: account, columnValue: row.integer(1)),
          bytes: Int(clamping: row.integer(2)))
      )
    }) where chunks.indices.contains(place) { chunks[place] = chunk }
    return .namedChunks(chunks)
  }

  static func uses(
    of files: [ChunkFile], on connection: PostgresConnection
  ) throws(PostgresFault) -> ReadResult {
    let parameters = PostgresParameters().bind(files.map(\.account.rawValue))
      .bind(files.map(\.columnValue))
    var uses = [FileUse](repeating: .none, count: files.count)
    let found = try connection.run(fileUses, parameters).all { row in
      (place: Int(row.integer(0)) - 1, isUnverified: row.bool(1))
    }
    for use in found where uses.indices.contains(use.place) {
      uses[use.place] = use.isUnverified ? .unverified : .verified
    }
    return .fileUses(uses)
  }

  private static let chunk = PostgresStatement(
    "chunk",
    "SELECT file, bytes FROM chunks WHERE account = $1::bigint AND hash = $2::bytea")
  /// A record's list is a sequence of hashes of 32 bytes. The records are read before the chunks: a
  /// device of these zones must not learn by the time of the answer whether the account has a chunk
  /// for others.
  static let named = PostgresStatement(
    "named chunks",
    """
    WITH named AS MATERIALIZED (
      SELECT asked.hash, asked.place
      FROM unnest($2::bytea[]) WITH ORDINALITY AS asked (hash, place)
      WHERE asked.hash IN (
        SELECT substring(records.chunks FROM 32 * number + 1 FOR 32)
        FROM records CROSS JOIN LATERAL
          generate_series(0, octet_length(records.chunks) / 32 - 1) AS number
        WHERE records.account = $1::bigint AND records.zone = ANY ($3::text[])
          AND records.chunks IS NOT NULL AND records.fields IS NOT NULL))
    SELECT named.place, chunks.file, chunks.bytes
    FROM named JOIN chunks ON chunks.account = $1::bigint AND chunks.hash = named.hash
    WHERE NOT chunks.doubtful
    """)
  private static let fileUses = PostgresStatement(
    "file uses",
    """
    SELECT asked.place, chunks.doubtful
    FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS asked (account, file, place)
    JOIN chunks ON chunks.account = asked.account AND chunks.file = asked.file
    """)
}

/// The statements of `PostgresChunkStore`. All of them lock a file's row before they write its
/// parts, so that removal of a file and appends to it exclude each other.
enum FileStatements {
  static let now = PostgresStatement(
    "now", "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
  static let own = PostgresStatement("own", "SELECT pg_advisory_lock($1::bigint) IS NULL")
  static let owners = PostgresStatement(
    "owners",
    "SELECT DISTINCT owner FROM files WHERE owner IS NOT NULL AND owner <> $1::bigint")
  static let lockOwner = PostgresStatement(
    "lock owner", "SELECT pg_try_advisory_xact_lock($1::bigint)")
  static let removeOwned = PostgresStatement(
    "remove owned",
    """
    WITH gone AS (DELETE FROM files WHERE owner = $1::bigint RETURNING account, number)
    DELETE FROM file_parts USING gone
    WHERE file_parts.account = gone.account AND file_parts.number = gone.number
    """)

  /// For a transaction that need not be durable.
  static let unsynced = PostgresStatement(
    "hasty", "SELECT set_config('synchronous_commit', 'off', true)")
  static let begin = PostgresStatement(
    "begin file",
    """
    INSERT INTO files (account, number, owner) VALUES ($1::bigint, $2::bigint, $3::bigint)
    ON CONFLICT DO NOTHING
    """)
  static let addPart = PostgresStatement(
    "add part",
    """
    WITH file AS (
      SELECT account, number FROM files
      WHERE account = $1::bigint AND number = $2::bigint AND owner = $5::bigint FOR UPDATE)
    INSERT INTO file_parts (account, number, part, bytes)
    SELECT account, number, $3::bigint, $4::bytea FROM file
    """)
  static let finish = PostgresStatement(
    "finish file",
    """
    WITH file AS (
      UPDATE files SET owner = NULL, bytes = $6::bigint,
        finished_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
      WHERE account = $1::bigint AND number = $2::bigint AND owner = $5::bigint
      RETURNING account, number),
    last AS (
      INSERT INTO file_parts (account, number, part, bytes)
      SELECT account, number, $3::bigint, $4::bytea FROM file WHERE octet_length($4::bytea) > 0)
    SELECT 1::bigint FROM file
    """)

  static let isWhole = PostgresStatement(
    "is whole",
    """
    SELECT 1::bigint FROM files
    WHERE account = $1::bigint AND number = $2::bigint AND owner IS NULL
    """)
  /// Reads the parts from the third to the fourth parameter, and of their bytes those from the
  /// fifth to the sixth parameter.
  static let parts = PostgresStatement(
    "parts",
    """
    SELECT substr(bytes,
        greatest($5::bigint - part * \(Limits.chunkPortionBytes), 0)::integer + 1,
        least($6::bigint - part * \(Limits.chunkPortionBytes), \(Limits.chunkPortionBytes))::integer
          - greatest($5::bigint - part * \(Limits.chunkPortionBytes), 0)::integer)
    FROM file_parts
    WHERE account = $1::bigint AND number = $2::bigint AND part >= $3::bigint
      AND part <= $4::bigint
    ORDER BY part
    """)

  // Two statements each: the second one sees the parts that were added while the first one waited.
  static let remove = PostgresStatement(
    "remove files",
    """
    DELETE FROM files USING unnest($1::bigint[], $2::bigint[]) AS named (account, number)
    WHERE files.account = named.account AND files.number = named.number
    """)
  static let removeParts = PostgresStatement(
    "remove parts",
    """
    DELETE FROM file_parts USING unnest($1::bigint[], $2::bigint[]) AS named (account, number)
    WHERE file_parts.account = named.account AND file_parts.number = named.number
    """)
  static let removeAll = PostgresStatement(
    "remove all files", "DELETE FROM files WHERE account = $1::bigint")
  static let removeAllParts = PostgresStatement(
    "remove all parts", "DELETE FROM file_parts WHERE account = $1::bigint")
  static let list = PostgresStatement(
    "list files",
    """
    SELECT account, number FROM files
    WHERE (account, number) >= ($1::bigint, $2::bigint) AND account <= $3::bigint
      AND finished_at < $4::bigint
    ORDER BY account, number LIMIT $5::bigint
    """)
}
