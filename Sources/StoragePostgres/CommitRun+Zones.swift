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
    readAnew()
    allowTime()
    let range = PostgresParameters().bind(id.rawValue).bind(zone.text).bind(end)
    write(ZoneDeleter.release, range.bind(wall + rules.chunkLeaseMilliseconds))
    var entered = accounts.entering(head, of: id)
    let burial = range.bind(entered.newest).bind(device.rawValue).bind(wall)
    let count = try ask { $0.add(ZoneDeleter.bury, burial) }[0].written
    let tombstones =
      count > 0 && count <= Limits.batchRecords
      ? try ask {
        $0.add(ZoneDeleter.buried, PostgresParameters().bind(id.rawValue).bind(entered.newest))
      }[0].all { (row) throws(PostgresFault) in try row.record() } : []
    let deletion = ZoneDeletion(head, entered, count) { tombstones }
    if count > 0 {
      let fewer = PostgresParameters().bind([id.rawValue]).bind([zone.text]).bind([Int64(-count)])
      write(RecordChanges.count, fewer)
      write(RecordChanges.dropEmpty, fewer)
      entered.newest = deletion.token.sequence
      accounts.advance(id, to: entered)
    }
    return .zoneDeleted(deletion)
  }

  func findGround(
    of token: ChangeToken, of id: AccountID
  ) throws(PostgresFault) -> TokenGround {
    TokenGround(
      try ask { $0.add(ZoneQueries.ground, ZoneQueries.ground(of: token, of: id)) }[0])
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
