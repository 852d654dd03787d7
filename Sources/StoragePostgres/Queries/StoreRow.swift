import LockstepModel
import LockstepStorage

/// Row formats of a store that is moved.
enum StoreRow {
  /// Returns the columns of a table in the order in which they are read and written here.
  static func columns(of table: StoreTable) -> String {
    switch table {
    case .accounts:
      "account, generation, newest, forgotten, label, plan, made_at, chunk_bytes, quota_bytes, "
        + "quota_records, record_bytes, record_count, batch_count, run, range_start, affairs, "
        + "moving_until, move"
    case .lineage: "account, generation, ended_at"
    case .gaps: "account, after_tag, through_tag"
    case .devices:
      "account, device, device_name, platform, app_version, token_hash, last_seen, scope"
    case .pairings: "account, code_hash, expires_at, scope, wrapped"
    case .subscriptions: "account, device, id, content"
    case .wakes: "account, device, content"
    case .wakeKeys: "made_at, private_key"
    case .zones: "account, zone, live"
    case .records: "account, deleted_at, \(RecordRow.columns)"
    case .batches: "account, device, batch_high, batch_low, made_at, first_tag, words, digest"
    case .chunks: "account, hash, file, bytes, uses, lease_until, doubtful"
    case .departed: "account, relay, move, version, cleared"
    case .departedDevices: "account, token_hash"
    case .departedPairings: "account, code_hash, expires_at"
    }
  }

  // MARK: Reading

  static func account(_ row: PostgresRow) throws(PostgresFault) -> ExportedAccount {
    guard var plan = Plan(storedText: row.isNull(5) ? nil : row.text(5)) else {
      throw PostgresFault(cause: .damaged, message: "a plan has an invalid format")
    }
    plan.bytes = row.isNull(8) ? nil : row.integer(8)
    plan.records = row.isNull(9) ? nil : row.integer(9)
    var head = AccountHead(row, from: 1)
    head.run = row.bits(13)
    head.rangeStart = row.integer(14)
    return ExportedAccount(
      id: AccountID(rawValue: row.bits(0)), head: head, label: row.text(4),
      plan: plan, madeAt: row.integer(6), chunkBytes: row.integer(7),
      use: AccountUse(
        bytes: row.integer(10), records: row.integer(11), batches: row.integer(12)),
      version: row.integer(15), movingUntil: row.isNull(16) ? nil : row.integer(16),
      move: row.bits(17))
  }

  static func generation(_ row: PostgresRow) -> EndedGeneration {
    EndedGeneration(
      account: AccountID(rawValue: row.bits(0)),
      generation: UInt32(truncatingIfNeeded: row.integer(1)), endedAt: row.integer(2))
  }

  static func gap(_ row: PostgresRow) -> ExportedGap {
    ExportedGap(
      account: AccountID(rawValue: row.bits(0)),
      gap: TagGap(after: row.integer(1), through: row.integer(2)))
  }

  static func device(_ row: PostgresRow) throws(PostgresFault) -> ExportedDevice {
    let description = DeviceDescription(
      deviceName: row.text(2), platform: row.text(3), appVersion: row.text(4))
    return ExportedDevice(
      account: AccountID(rawValue: row.bits(0)),
      device: NewDevice(
        id: DeviceID(rawValue: row.bits(1)), description: description, tokenHash: row.bytes(5)),
      scope: try row.scope(7), lastSeen: row.integer(6))
  }

  static func pairing(_ row: PostgresRow) throws(PostgresFault) -> ExportedPairing {
    ExportedPairing(
      account: AccountID(rawValue: row.bits(0)),
      pairing: NewPairing(
        codeHash: row.bytes(1), expiresAt: row.integer(2), scope: try row.scope(3),
        wrapped: row.isNull(4) ? nil : row.text(4)))
  }

  static func subscription(_ row: PostgresRow) throws(PostgresFault) -> ExportedSubscription {
    guard let subscription = Subscription(id: try row.name(2), storedText: row.text(3)) else {
      throw PostgresFault(
        cause: .damaged, message: "a subscription has an invalid format")
    }
    return ExportedSubscription(
      account: AccountID(rawValue: row.bits(0)), device: DeviceID(rawValue: row.bits(1)),
      subscription: subscription)
  }

  static func wakes(_ row: PostgresRow) throws(PostgresFault) -> ExportedWakes {
    ExportedWakes(id: row.sleeperID, wakes: try row.wakes(2))
  }

  static func wakeKey(_ row: PostgresRow) -> WakeKey { row.wakeKey }

  static func count(_ row: PostgresRow) throws(PostgresFault) -> LiveCount {
    LiveCount(
      account: AccountID(rawValue: row.bits(0)), zone: try row.name(1), live: row.integer(2))
  }

  static func record(_ row: PostgresRow) throws(PostgresFault) -> ExportedRecord {
    ExportedRecord(
      account: AccountID(rawValue: row.bits(0)), record: try row.record(at: 2),
      deletedAt: row.isNull(1) ? nil : row.integer(1))
  }

  static func batch(_ row: PostgresRow) -> ExportedBatch {
    ExportedBatch(
      account: AccountID(rawValue: row.bits(0)), device: DeviceID(rawValue: row.bits(1)),
      id: BatchID(high: row.bits(2), low: row.bits(3)), madeAt: row.integer(4),
      batch: RememberedBatch(
        digest: row.bytes(7), firstTag: row.integer(5), words: row.isNull(6) ? nil : row.text(6)))
  }

  static func chunk(_ row: PostgresRow) throws(PostgresFault) -> ExportedChunk {
    let file = ChunkFile(account: AccountID(rawValue: row.bits(0)), columnValue: row.integer(2))
    return ExportedChunk(
      hash: try row.hash(1), stored: StoredChunk(file: file, bytes: Int(clamping: row.integer(3))),
      uses: row.integer(4), leaseUntil: row.integer(5), isUnverified: row.bool(6))
  }

  static func departure(_ row: PostgresRow) -> ExportedDeparture {
    ExportedDeparture(
      account: AccountID(rawValue: row.bits(0)),
      departure: Departure(
        relay: row.text(1), move: row.bits(2), version: row.integer(3), isCleared: row.bool(4)))
  }

  static func departedDevice(_ row: PostgresRow) -> DepartedDevice {
    DepartedDevice(account: AccountID(rawValue: row.bits(0)), tokenHash: row.bytes(1))
  }

  static func departedPairing(_ row: PostgresRow) -> DepartedPairing {
    DepartedPairing(
      account: AccountID(rawValue: row.bits(0)), codeHash: row.bytes(1), expiresAt: row.integer(2))
  }

  // MARK: Writing

  /// Returns one statement that inserts all rows.
  static func insert(into table: StoreTable) -> PostgresStatement {
    let columns = columns(of: table)
    let types =
      switch table {
      case .accounts:
        "bigint bigint bigint bigint text text bigint bigint bigint bigint bigint bigint bigint "
          + "bigint bigint bigint bigint bigint"
      case .lineage, .gaps: "bigint bigint bigint"
      case .devices: "bigint bigint text text text bytea bigint text"
      case .pairings: "bigint bytea bigint text text"
      case .subscriptions: "bigint bigint text text"
      case .wakes: "bigint bigint text"
      case .wakeKeys: "bigint bytea"
      case .zones: "bigint text bigint"
      case .records:
        "bigint bigint text text text bigint bigint bigint bytea bytea bytea"
      case .batches: "bigint bigint bigint bigint bigint bigint text bytea"
      case .chunks: "bigint bytea bigint bigint bigint bigint bigint"
      case .departed: "bigint text bigint bigint bigint"
      case .departedDevices: "bigint bytea"
      case .departedPairings: "bigint bytea bigint"
      }
    let places = types.split(separator: " ").enumerated()
      .map { "$\($0.offset + 1)::\($0.element)[]" }.joined(separator: ", ")
    // Rows get their numbers in this order.
    let read = columns.replacing("doubtful", with: "doubtful <> 0")
      .replacing("cleared", with: "cleared <> 0")
    return PostgresStatement(
      "move \(table.rawValue)",
      """
      INSERT INTO \(table.rawValue) (\(columns))
      SELECT \(read) FROM unnest(\(places)) WITH ORDINALITY AS moved (\(columns), place)
      ORDER BY place
      """)
  }

  static func parameters(_ rows: StoreRows) -> PostgresParameters {
    switch rows {
    case .accounts(let rows): parameters(rows)
    case .lineage(let rows):
      PostgresParameters().bind(rows.map(\.account.rawValue))
        .bind(rows.map { Int64($0.generation) }).bind(rows.map(\.endedAt))
    case .gaps(let rows):
      PostgresParameters().bind(rows.map(\.account.rawValue)).bind(rows.map(\.gap.after))
        .bind(rows.map(\.gap.through))
    case .devices(let rows): parameters(rows)
    case .pairings(let rows):
      PostgresParameters().bind(rows.map(\.account.rawValue)).bind(rows.map(\.pairing.codeHash))
        .bind(rows.map(\.pairing.expiresAt)).bind(rows.map(\.pairing.scope.storedText))
        .bind(rows.map(\.pairing.wrapped))
    case .subscriptions(let rows):
      PostgresParameters().bind(rows.map(\.account.rawValue)).bind(rows.map(\.device.rawValue))
        .bind(rows.map(\.subscription.id.text)).bind(rows.map(\.subscription.storedText))
    case .wakes(let rows):
      PostgresParameters().bind(rows.map(\.id.account.rawValue))
        .bind(rows.map(\.id.device.rawValue)).bind(rows.map(\.wakes.storedText))
    case .wakeKeys(let rows):
      PostgresParameters().bind(rows.map(\.madeAt)).bind(rows.map(\.privateKey))
    case .zones(let rows):
      PostgresParameters().bind(rows.map(\.account.rawValue)).bind(rows.map(\.zone.text))
        .bind(rows.map(\.live))
    case .records(let rows): parameters(rows)
    case .batches(let rows): parameters(rows)
    case .chunks(let rows): parameters(rows)
    case .departed(let rows):
      PostgresParameters().bind(rows.map(\.account.rawValue)).bind(rows.map(\.departure.relay))
        .bind(rows.map(\.departure.move)).bind(rows.map(\.departure.version))
        .bind(rows.map { $0.departure.isCleared ? 1 as Int64 : 0 })
    case .departedDevices(let rows):
      PostgresParameters().bind(rows.map(\.account.rawValue)).bind(rows.map(\.tokenHash))
    case .departedPairings(let rows):
      PostgresParameters().bind(rows.map(\.account.rawValue)).bind(rows.map(\.codeHash))
        .bind(rows.map(\.expiresAt))
    }
  }

  private static func parameters(_ rows: [ExportedAccount]) -> PostgresParameters {
    PostgresParameters().bind(rows.map(\.id.rawValue)).bind(rows.map { Int64($0.head.generation) })
      .bind(rows.map(\.head.newest)).bind(rows.map(\.head.forgotten)).bind(rows.map(\.label))
      .bind(rows.map(\.plan.storedText)).bind(rows.map(\.madeAt)).bind(rows.map(\.chunkBytes))
      .bind(rows.map(\.plan.bytes)).bind(rows.map(\.plan.records)).bind(rows.map(\.use.bytes))
      .bind(rows.map(\.use.records)).bind(rows.map(\.use.batches))
      .bind(rows.map(\.head.run)).bind(rows.map(\.head.rangeStart)).bind(rows.map(\.version))
      .bind(rows.map(\.movingUntil)).bind(rows.map(\.move))
  }

  private static func parameters(_ rows: [ExportedDevice]) -> PostgresParameters {
    PostgresParameters().bind(rows.map(\.account.rawValue)).bind(rows.map(\.device.id.rawValue))
      .bind(rows.map(\.device.description.deviceName))
      .bind(rows.map(\.device.description.platform))
      .bind(rows.map(\.device.description.appVersion)).bind(rows.map(\.device.tokenHash))
      .bind(rows.map(\.lastSeen)).bind(rows.map(\.scope.storedText))
  }

  private static func parameters(_ rows: [ExportedRecord]) -> PostgresParameters {
    PostgresParameters().bind(rows.map(\.account.rawValue)).bind(rows.map(\.deletedAt))
      .bind(rows.map(\.record.zone.text)).bind(rows.map(\.record.name.text))
      .bind(rows.map(\.record.type.text)).bind(rows.map(\.record.modifiedAt))
      .bind(rows.map(\.record.device.rawValue)).bind(rows.map(\.record.tag))
      .bind(rows.map(\.record.fields)).bind(rows.map { RecordRow.column(of: $0.record.chunks) })
      .bind(rows.map { RecordRow.column(of: $0.record.includes) })
  }

  private static func parameters(_ rows: [ExportedBatch]) -> PostgresParameters {
    PostgresParameters().bind(rows.map(\.account.rawValue)).bind(rows.map(\.device.rawValue))
      .bind(rows.map(\.id.high)).bind(rows.map(\.id.low)).bind(rows.map(\.madeAt))
      .bind(rows.map(\.batch.firstTag)).bind(rows.map(\.batch.words))
      .bind(rows.map(\.batch.digest))
  }

  private static func parameters(_ rows: [ExportedChunk]) -> PostgresParameters {
    PostgresParameters().bind(rows.map(\.stored.file.account.rawValue))
      .bind(rows.map(\.hash.bytes)).bind(rows.map(\.stored.file.columnValue))
      .bind(rows.map { Int64($0.stored.bytes) }).bind(rows.map(\.uses))
      .bind(rows.map(\.leaseUntil)).bind(rows.map { $0.isUnverified ? 1 as Int64 : 0 })
  }
}

/// Row format of a record.
enum RecordRow {
  /// The columns in the order in which `record` reads them.
  static let columns = "zone, name, type, modified_at, device, tag, fields, chunks, includes"

  /// SQL expression for `Record.storedBytes` of a row.
  static let storedBytes = """
    \(Limits.rowBytes) + octet_length(records.zone) + octet_length(records.name) \
    + octet_length(records.type) + coalesce(octet_length(records.fields), 0) \
    + coalesce(octet_length(records.chunks), 0)
    """

  /// Returns the value of the column with a record's chunks: their concatenated hashes, 32 bytes
  /// each, or NULL if there are none.
  static func column(of chunks: [ChunkHash]) -> [UInt8]? {
    chunks.isEmpty ? nil : chunks.flatMap(\.bytes)
  }

  /// Returns the value of the column with the lost versions that a record includes.
  static func column(of prints: [VersionFingerprint]) -> [UInt8]? {
    prints.isEmpty ? nil : prints.bytes
  }
}

extension PostgresRow {
  /// Returns the record whose columns begin at `column`.
  func record(at column: Int32 = 0) throws(PostgresFault) -> Record {
    Record(
      zone: try name(column), name: try name(column + 1), type: try name(column + 2),
      fields: isNull(column + 6) ? nil : bytes(column + 6), modifiedAt: integer(column + 3),
      device: DeviceID(rawValue: bits(column + 4)), tag: integer(column + 5),
      chunks: try chunks(column + 7), includes: fingerprints(column + 8))
  }

  func fingerprints(_ column: Int32) -> [VersionFingerprint] {
    isNull(column) ? [] : [VersionFingerprint](bytes: bytes(column))
  }

  func name(_ column: Int32) throws(PostgresFault) -> Name {
    guard let name = Name(text(column)) else {
      throw PostgresFault(cause: .damaged, message: "a name has an invalid format")
    }
    return name
  }

  func chunks(_ column: Int32) throws(PostgresFault) -> [ChunkHash] {
    if isNull(column) { return [] }
    let bytes = bytes(column)
    guard bytes.count.isMultiple(of: 32) else {
      throw PostgresFault(cause: .damaged, message: "a record's list of chunks is truncated")
    }
    return stride(from: 0, to: bytes.count, by: 32).compactMap {
      ChunkHash(bytes: Array(bytes[$0..<$0 + 32]))
    }
  }

  func hash(_ column: Int32) throws(PostgresFault) -> ChunkHash {
    guard let hash = ChunkHash(bytes: bytes(column)) else {
      throw PostgresFault(cause: .damaged, message: "a chunk's hash does not have 32 bytes")
    }
    return hash
  }
}

extension AccountHead {
  /// Reads `generation`, `newest` and `forgotten`, starting at a column.
  init(_ row: PostgresRow, from column: Int32) {
    self.init(
      generation: UInt32(truncatingIfNeeded: row.integer(column)),
      newest: row.integer(column + 1), forgotten: row.integer(column + 2))
  }
}

extension ChunkFile {
  /// Value in a bigint column; keeps the order of the numbers.
  var columnValue: Int64 { Int64(bitPattern: number ^ (1 << 63)) }

  init(account: AccountID, columnValue: Int64) {
    self.init(account: account, number: UInt64(bitPattern: columnValue) ^ (1 << 63))
  }
}
