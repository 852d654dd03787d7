import LockstepModel
import LockstepStorage

/// The combined result of the saves of a commit: the final version of each record, and the sum of
/// each count. One statement per table, for any number of saves.
struct RecordChanges {
  private struct Row {
    var account: AccountID
    var record: Record
    var deletedAt: Int64?
  }

  private struct Zone: Hashable {
    var account: AccountID
    var name: Name
  }

  private var rows: [Row] = []
  private var indices: [SaveBatchPlanner.RecordID: Int] = [:]
  private var live = Tally<Zone>()
  private var uses = Tally<SaveBatchPlanner.Chunk>()
  private var batches: [(id: SaveBatchPlanner.Batch, content: RememberedBatch)] = []
  private(set) var bytes = 0

  /// Returns the record as it will be written; nil if it is unchanged.
  func record(at id: SaveBatchPlanner.RecordID) -> Record? { indices[id].map { rows[$0].record } }

  mutating func put(_ record: Record, of account: AccountID, deletedAt: Int64?) {
    let row = Row(account: account, record: record, deletedAt: deletedAt)
    let id = SaveBatchPlanner.RecordID(account: account, key: record.key)
    bytes += (record.fields?.count ?? 0) + 32 * record.chunks.count + 128
    if let index = indices[id] {
      rows[index] = row
    } else {
      indices[id] = rows.count
      rows.append(row)
    }
  }

  /// Changes the zone's number of live records by `change`.
  mutating func count(_ change: Int, in zone: Name, of account: AccountID) {
    if change != 0 { live.add(change, to: Zone(account: account, name: zone)) }
  }

  /// Changes the number of records that name the chunk by `change`. A chunk with the sum 0 is
  /// written too, because no record may name it in the end.
  mutating func count(_ change: Int, of chunk: SaveBatchPlanner.Chunk) {
    uses.add(change, to: chunk)
  }

  mutating func remember(_ batch: RememberedBatch, as id: SaveBatchPlanner.Batch) {
    batches.append((id, batch))
  }

  func add(to pipeline: inout PostgresPipeline, wall: Int64, lease: Int64) {
    if !rows.isEmpty { pipeline.add(RecordChanges.put, rowParameters) }
    let zones = live.sums.filter { $0.sum != 0 }
    if !zones.isEmpty {
      pipeline.add(RecordChanges.count, RecordChanges.parameters(zones))
      let fewer = zones.filter { $0.sum < 0 }
      if !fewer.isEmpty { pipeline.add(RecordChanges.dropEmpty, RecordChanges.parameters(fewer)) }
    }
    let chunks = uses.sums
    if !chunks.isEmpty {
      pipeline.add(
        RecordChanges.use,
        PostgresParameters().bind(chunks.map(\.key.account.rawValue))
          .bind(chunks.map(\.key.hash.bytes)).bind(chunks.map { Int64($0.sum) }).bind(wall + lease))
    }
    if !batches.isEmpty { pipeline.add(RecordChanges.remember, batchParameters(wall)) }
  }

  private static func parameters(_ zones: [(key: Zone, sum: Int)]) -> PostgresParameters {
    PostgresParameters().bind(zones.map(\.key.account.rawValue)).bind(zones.map(\.key.name.text))
      .bind(zones.map { Int64($0.sum) })
  }

  private var rowParameters: PostgresParameters {
    let records = rows.map(\.record)
    return PostgresParameters().bind(rows.map(\.account.rawValue)).bind(records.map(\.zone.text))
      .bind(records.map(\.name.text)).bind(records.map(\.type.text))
      .bind(records.map(\.modifiedAt)).bind(records.map(\.device.rawValue))
      .bind(records.map(\.tag)).bind(rows.map(\.deletedAt))
      .bind(records.map { RecordRow.column(of: $0.chunks) }).bind(records.map(\.fields))
      .bind(records.map { RecordRow.column(of: $0.includes) })
  }

  private static let put = PostgresStatement(
    "put records",
    """
    INSERT INTO records
      (account, zone, name, type, modified_at, device, tag, deleted_at, chunks, fields,
        includes)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[],
      $6::bigint[], $7::bigint[], $8::bigint[], $9::bytea[], $10::bytea[], $11::bytea[])
    ON CONFLICT (account, zone, name) DO UPDATE SET type = excluded.type,
      modified_at = excluded.modified_at, device = excluded.device, tag = excluded.tag,
      deleted_at = excluded.deleted_at, chunks = excluded.chunks, fields = excluded.fields,
      includes = excluded.includes
    """)
  static let count = PostgresStatement(
    "count live",
    """
    INSERT INTO zones (account, zone, live)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[])
    ON CONFLICT (account, zone) DO UPDATE SET live = zones.live + excluded.live
    """)
  /// Takes the same parameters as `count`, though some are unused.
  static let dropEmpty = PostgresStatement(
    "drop empty zones",
    """
    DELETE FROM zones USING unnest($1::bigint[], $2::text[], $3::bigint[])
      AS fewer (account, zone, change)
    WHERE zones.account = fewer.account AND zones.zone = fewer.zone AND zones.live = 0
    """)
  /// A chunk that no record names any more gets a new lease.
  private static let use = PostgresStatement(
    "use chunks",
    """
    UPDATE chunks SET uses = chunks.uses + change.uses,
      lease_until = CASE chunks.uses + change.uses WHEN 0 THEN $4::bigint
        ELSE chunks.lease_until END
    FROM unnest($1::bigint[], $2::bytea[], $3::bigint[]) AS change (account, hash, uses)
    WHERE chunks.account = change.account AND chunks.hash = change.hash
    """)

  private func batchParameters(_ wall: Int64) -> PostgresParameters {
    let (ids, contents) = (batches.map(\.id), batches.map(\.content))
    return PostgresParameters().bind(ids.map(\.account.rawValue)).bind(ids.map(\.device.rawValue))
      .bind(ids.map(\.id.high)).bind(ids.map(\.id.low)).bind(contents.map(\.firstTag))
      .bind(contents.map(\.words)).bind(contents.map(\.digest)).bind(wall)
  }

  /// Inserts batches in order, because the oldest are deleted first.
  private static let remember = PostgresStatement(
    "remember batches",
    """
    INSERT INTO batches
      (account, device, batch_high, batch_low, first_tag, words, digest, made_at)
    SELECT account, device, batch_high, batch_low, first_tag, words, digest, $8::bigint
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[],
      $7::bytea[]) WITH ORDINALITY
      AS made (account, device, batch_high, batch_low, first_tag, words, digest, place)
    ORDER BY place
    """)
}

/// Sums by key, in the order in which the keys were added.
struct Tally<Key: Hashable> {
  private(set) var sums: [(key: Key, sum: Int)] = []
  private var positions: [Key: Int] = [:]

  mutating func add(_ change: Int, to key: Key) {
    if let position = positions[key] {
      sums[position].sum += change
    } else {
      positions[key] = sums.count
      sums.append((key, change))
    }
  }
}
