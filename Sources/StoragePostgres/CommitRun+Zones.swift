import Changes
import Storage

/// Makes tombstones of all of a zone at once.
extension CommitRun {
  func deleteZone(
    _ zone: Name, through: ChangeToken?, by device: DeviceID, of id: AccountID
  ) throws(PostgresFault) -> CommitResult {
    guard accounts.isMember(device, of: id), let head = accounts[id]?.head else {
      return .refused(StoreRefusals.revokedDevice)
    }
    let endedAt = try through.flatMap { (token) throws(PostgresFault) in
      try ending(of: token, in: head, of: id)
    }
    let end: ChangeTag
    do throws(Refusal) {
      end = try head.end(ofDeleting: zone, through: through, endedAt: endedAt)
    } catch {
      return .refused(error)
    }
    readAnew()
    allowTime()
    let range = PostgresParameters().bind(id.rawValue).bind(zone.text).bind(end)
    write(ZoneDeleter.release, range.bind(wall + rules.chunkLeaseMilliseconds))
    let burial = range.bind(head.newest).bind(device.rawValue).bind(wall)
    let count = try ask { $0.add(ZoneDeleter.bury, burial) }[0].written
    let tombstones =
      count > 0 && count <= Limits.batchRecords
      ? try ask {
        $0.add(ZoneDeleter.buried, PostgresParameters().bind(id.rawValue).bind(head.newest))
      }[0].all { (row) throws(PostgresFault) in try row.record() } : []
    let deletion = ZoneDeletion(head, count) { tombstones }
    if count > 0 {
      let fewer = PostgresParameters().bind([id.rawValue]).bind([zone.text]).bind([Int64(-count)])
      write(RecordChanges.count, fewer)
      write(RecordChanges.dropEmpty, fewer)
      accounts.advance(id, to: deletion.token.sequence)
    }
    return .zoneDeleted(deletion)
  }

  private func ending(
    of token: ChangeToken, in head: AccountHead, of id: AccountID
  ) throws(PostgresFault) -> ChangeTag? {
    if token.generation == head.generation { return nil }
    let asked = PostgresParameters().bind(id.rawValue).bind(Int64(token.generation))
    return try ask { $0.add(ZoneQueries.lineage, asked) }[0].first { $0.integer(0) }
  }
}

/// The statements. Those that go through a whole zone are planned each time, for the tables as they
/// are then: what fits an empty one would compare each row with each.
private enum ZoneDeleter {
  /// The records let go of the pieces that they name, each record once of each piece.
  static let release = PostgresStatement(
    "",
    """
    WITH named AS (
      SELECT hash, count(*) AS uses FROM (
        SELECT DISTINCT name, substr(chunks, 32 * place + 1, 32) AS hash
        FROM records, generate_series(0, octet_length(chunks) / 32 - 1) AS place
        WHERE account = $1::bigint AND zone = $2::text AND tag <= $3::bigint
          AND chunks IS NOT NULL
      ) AS pairs GROUP BY hash)
    UPDATE chunks SET uses = chunks.uses - named.uses,
      lease_until = CASE chunks.uses - named.uses WHEN 0 THEN $4::bigint
        ELSE chunks.lease_until END
    FROM named WHERE chunks.account = $1::bigint AND chunks.hash = named.hash
    """)
  /// Tags rise in the order in which the records were saved.
  static let bury = PostgresStatement(
    "",
    """
    WITH live AS MATERIALIZED (
      SELECT name, row_number() OVER (ORDER BY tag) AS place FROM records
      WHERE account = $1::bigint AND zone = $2::text AND tag <= $3::bigint
        AND fields IS NOT NULL)
    UPDATE records SET fields = NULL, chunks = NULL, tag = $4::bigint + live.place,
      device = $5::bigint, modified_at = $6::bigint, deleted_at = $6::bigint
    FROM live
    WHERE records.account = $1::bigint AND records.zone = $2::text AND records.name = live.name
    """)
  static let buried = PostgresStatement(
    "buried",
    """
    SELECT \(RecordRow.columns) FROM records WHERE account = $1::bigint AND tag > $2::bigint
    ORDER BY tag
    """)
}
