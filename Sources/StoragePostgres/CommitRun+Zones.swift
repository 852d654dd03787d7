import LockstepModel
import LockstepStorage

/// Turns a zone's records into tombstones, in portions, one per commit.
extension CommitRun {
  func deleteZone(
    _ zone: Name, through: ChangeToken?, by device: DeviceID, of id: AccountID
  ) throws(PostgresFault) -> CommitResult {
    guard accounts.isMember(device, of: id), let head = accounts[id]?.head else {
      return .refused(StoreRefusals.revokedDevice)
    }
    let ground = try through.flatMap { (token) throws(PostgresFault) in
      try findGround(of: token, of: id)
    }
    let end: ChangeTag
    do throws(Refusal) {
      end = try head.end(
        ofDeleting: zone, through: through,
        endedAt: through?.generation == head.generation ? nil : ground?.endedAt,
        gap: through.flatMap { token in
          head.gap(of: token, in: accounts.run ?? head.run) { ground?.gap(at: $0) }
        })
    } catch {
      return .refused(error)
    }
    return try delete(ZonePortion(after: 0, end: end), of: zone, by: device, of: id)
  }

  /// Deletes the first records of the portion; the result says what is left.
  func delete(
    _ portion: ZonePortion, of zone: Name, by device: DeviceID, of id: AccountID
  ) throws(PostgresFault) -> CommitResult {
    guard accounts.isMember(device, of: id), let head = accounts[id]?.head else {
      return .refused(StoreRefusals.revokedDevice)
    }
    readAnew()
    let scanned = try ask {
      $0.add(
        ZoneQueries.scanned, PostgresParameters().bind(id.rawValue).bind(portion.after))
    }[0].first { $0.integer(0) }
    let range = PostgresParameters().bind(id.rawValue).bind(zone.text).bind(portion.after)
      .bind(min(portion.end, scanned ?? .max)).bind(Int64(rules.deletedPerCommit))
    write(ZoneDeleter.release, range.bind(wall + rules.chunkLeaseMilliseconds))
    var entered = accounts.entering(head, of: id)
    let burial = range.bind(entered.newest).bind(device.rawValue).bind(wall)
    let found = try ask { $0.add(ZoneDeleter.bury, burial) }[0].first { row in
      (count: Int(row.integer(0)), last: row.integer(1), bytes: row.integer(2))
    }
    let (count, last, bytes) = found ?? (0, 0, 0)
    let rest = portion.rest(
      scanned: scanned, deleted: count, last: last, limit: rules.deletedPerCommit)
    let tombstones =
      count > 0 && count <= Limits.batchRecords
      ? try ask {
        $0.add(ZoneDeleter.buried, PostgresParameters().bind(id.rawValue).bind(entered.newest))
      }[0].all { (row) throws(PostgresFault) in try row.record() } : []
    let deletion = ZoneDeletion(head, entered, count, rest: rest) { tombstones }
    if count > 0 {
      let fewer = PostgresParameters().bind([id.rawValue]).bind([zone.text]).bind([Int64(-count)])
      write(RecordChanges.count, fewer)
      write(RecordChanges.dropEmpty, fewer)
      entered.newest = deletion.token.sequence
      accounts.advance(id, to: entered)
      accounts.grow(id, by: AccountUse(bytes: -bytes))
    }
    return .zoneDeleted(deletion)
  }

  func findGround(
    of token: ChangeToken, of id: AccountID
  ) throws(PostgresFault) -> TokenRange {
    TokenRange(
      try ask { $0.add(ZoneQueries.ground, ZoneQueries.ground(of: token, of: id)) }[0])
  }
}

/// SQL statements. Those that scan a zone are planned at each execution, for the tables as they are
/// then: a plan for an empty table would compare each row with each other row.
private enum ZoneDeleter {
  /// Decrements the use counts of the chunks that the records name, once for each record and chunk.
  static let release = PostgresStatement(
    "",
    """
    WITH live AS MATERIALIZED (
      SELECT name, chunks FROM records
      WHERE account = $1::bigint AND zone = $2::text AND tag > $3::bigint AND tag <= $4::bigint
        AND fields IS NOT NULL
      ORDER BY tag LIMIT $5::bigint),
    named AS (
      SELECT hash, count(*) AS uses FROM (
        SELECT DISTINCT name, substr(chunks, 32 * place + 1, 32) AS hash
        FROM live, generate_series(0, octet_length(chunks) / 32 - 1) AS place
        WHERE chunks IS NOT NULL
      ) AS pairs GROUP BY hash)
    UPDATE chunks SET uses = chunks.uses - named.uses,
      lease_until = CASE chunks.uses - named.uses WHEN 0 THEN $6::bigint
        ELSE chunks.lease_until END
    FROM named WHERE chunks.account = $1::bigint AND chunks.hash = named.hash
    """)
  /// Assigns rising tags in the order in which the records were saved.
  static let bury = PostgresStatement(
    "",
    """
    WITH live AS MATERIALIZED (
      SELECT name, tag, octet_length(fields) + coalesce(octet_length(chunks), 0) AS bytes,
        row_number() OVER (ORDER BY tag) AS place
      FROM records
      WHERE account = $1::bigint AND zone = $2::text AND tag > $3::bigint AND tag <= $4::bigint
        AND fields IS NOT NULL
      ORDER BY tag LIMIT $5::bigint),
    buried AS (
      UPDATE records SET fields = NULL, chunks = NULL, tag = $6::bigint + live.place,
        device = $7::bigint, modified_at = $8::bigint, deleted_at = $8::bigint
      FROM live
      WHERE records.account = $1::bigint AND records.zone = $2::text AND records.name = live.name)
    SELECT count(*), coalesce(max(tag), 0)::bigint, coalesce(sum(bytes), 0)::bigint FROM live
    """)
  static let buried = PostgresStatement(
    "buried",
    """
    SELECT \(RecordRow.columns) FROM records WHERE account = $1::bigint AND tag > $2::bigint
    ORDER BY tag
    """)
}
