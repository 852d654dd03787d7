import LockstepModel
import LockstepStorage

/// Reads a whole store, to move it: one view of the database from beginning to end. Nothing is
/// written but saves that a crash left in the commit log. The caller must hold the lock of the
/// store's directory.
package final class SQLiteStoreSource: StoreSource {
  package let totals: StoreTotals
  package let isOlderCopy: Bool
  private let directory: String
  private let connection: SQLiteConnection
  private let account: AccountID?
  private var tables: ArraySlice<StoreTable>
  /// Statement that reads the current table; nil between tables.
  private var rows: SQLiteStatement?
  private var hasEnded = false
  /// Number that marks the store as an older copy afterwards.
  private let retirement: UInt64

  /// `retirement`: an `OpeningNumber`. Throws if there is no store, or if its tables have an older
  /// version. `selection`: reads only these rows, from a store that this process has open
  /// without unwritten saves.
  package init(
    directory: String, retirement: UInt64, selection: AccountSelection? = nil
  ) throws(StorageError) {
    self.directory = directory
    self.retirement = retirement
    account = selection?.account
    tables = (selection?.tables ?? StoreTable.allCases)[...]
    try SQLiteZoneStore.requireComplete(of: directory)
    let hasGap = selection == nil ? try CommitLogRecovery.run(in: directory) : false
    connection = try SQLiteConnection(
      path: SQLiteZoneStore.path(in: directory), role: .reader, schema: .zones)
    try connection.execute("BEGIN")
    let version = try connection.firstInteger(of: "PRAGMA user_version")
    guard version == Schema.zones.version else {
      throw .failed(
        path: directory, operation: "be moved",
        detail: "its tables have version \(version) and not \(Schema.zones.version); "
          + "start a relay of this version on it once to upgrade them")
    }
    isOlderCopy = try StoreOpening(connection, directory: directory).isOlderCopy() || hasGap
    totals = try connection.totals(of: account)
  }

  deinit { close() }

  package func close() { connection.close() }

  /// Does nothing: the directory is locked, so no other process can have written to the store.
  package func confirm() {}

  package func retire() throws(StorageError) {
    try StoreOpening(connection, directory: directory).markAsOlderCopy(retirement)
  }

  package func next() throws(StorageError) -> StoreRows? {
    while let table = tables.first {
      if rows == nil { rows = try connection.prepare(query(of: table)) }
      guard let rows else { return nil }
      let portion = try portion(of: table, rows)
      if hasEnded {
        // A statement that has reached its end would restart.
        rows.reset()
        self.rows = nil
        hasEnded = false
        tables.removeFirst()
      }
      if portion.count > 0 { return portion }
    }
    return nil
  }

  // MARK: Rows

  /// Returns the query of a table. Rows come in the order of insertion if it is stored; records
  /// come in the order of their accounts, so that an account's records are contiguous in the new
  /// store.
  private func query(of table: StoreTable) -> String {
    let order =
      switch table {
      case .accounts: "account"
      case .lineage: "account, generation"
      case .gaps: "account, through_tag"
      case .devices, .pairings, .batches: "number"
      case .subscriptions: "account, device, id"
      case .wakes: "account, device"
      case .wakeKeys: "made_at"
      case .zones: "account, zone"
      case .records: "account, tag"
      case .chunks: "account, hash"
      case .departed: "account"
      case .departedDevices: "account, token_hash"
      case .departedPairings: "account, code_hash"
      }
    let condition = account.map { " WHERE account = \(Int64(bitPattern: $0.rawValue))" } ?? ""
    let columns = StoreRowWriter.columns(of: table)
    return "SELECT \(columns) FROM \(table.rawValue)\(condition) ORDER BY \(order)"
  }

  private func portion(
    of table: StoreTable, _ rows: SQLiteStatement
  ) throws(StorageError) -> StoreRows {
    switch table {
    case .accounts: .accounts(try readRows(rows, SQLiteStoreSource.account))
    case .lineage: .lineage(try readRows(rows, SQLiteStoreSource.generation))
    case .gaps: .gaps(try readRows(rows, SQLiteStoreSource.gap))
    case .devices: .devices(try readRows(rows, SQLiteStoreSource.device))
    case .pairings: .pairings(try readRows(rows, SQLiteStoreSource.pairing))
    case .subscriptions: .subscriptions(try readRows(rows, SQLiteStoreSource.subscription))
    case .wakes: .wakes(try readRows(rows, SQLiteStoreSource.wakes))
    case .wakeKeys: .wakeKeys(try readRows(rows, SQLiteStoreSource.wakeKey))
    case .zones: .zones(try readRows(rows, SQLiteStoreSource.count))
    case .records:
      .records(try readRows(rows, SQLiteStoreSource.record) { $0.record.fields?.count ?? 0 })
    case .batches: .batches(try readRows(rows, SQLiteStoreSource.batch))
    case .chunks: .chunks(try readRows(rows, SQLiteStoreSource.chunk))
    case .departed: .departed(try readRows(rows, SQLiteStoreSource.departure))
    case .departedDevices:
      .departedDevices(
        try readRows(rows) { row in
          DepartedDevice(account: AccountID(rawValue: row.bits(0)), tokenHash: row.bytes(1))
        })
    case .departedPairings:
      .departedPairings(
        try readRows(rows) { row in
          DepartedPairing(
            account: AccountID(rawValue: row.bits(0)), codeHash: row.bytes(1),
            expiresAt: row.integer(2))
        })
    }
  }

  private func readRows<Row>(
    _ rows: SQLiteStatement, _ read: (SQLiteStatement) throws(StorageError) -> Row,
    bytes: (Row) -> Int = { _ in 0 }
  ) throws(StorageError) -> [Row] {
    var portion: [Row] = []
    var size = 0
    while portion.count < Limits.movedRows, size < Limits.movedBytes {
      guard try rows.step() else {
        hasEnded = true
        break
      }
      let row = try read(rows)
      size += bytes(row)
      portion.append(row)
    }
    return portion
  }

  private static func account(_ row: SQLiteStatement) throws(StorageError) -> ExportedAccount {
    guard var plan = Plan(storedText: row.isNull(5) ? nil : row.text(5)) else {
      throw row.corruption("a plan has an invalid format")
    }
    plan.bytes = row.isNull(8) ? nil : row.integer(8)
    plan.records = row.isNull(9) ? nil : row.integer(9)
    return ExportedAccount(
      id: AccountID(rawValue: row.bits(0)),
      head: AccountHead(
        generation: UInt32(truncatingIfNeeded: row.integer(1)), newest: row.integer(2),
        forgotten: row.integer(3), run: row.bits(13), rangeStart: row.integer(14)),
      label: row.text(4), plan: plan, madeAt: row.integer(6), chunkBytes: row.integer(7),
      use: AccountUse(
        bytes: row.integer(10), records: row.integer(11), batches: row.integer(12)),
      version: row.integer(15), movingUntil: row.isNull(16) ? nil : row.integer(16),
      move: row.bits(17))
  }

  static func departure(_ row: SQLiteStatement) -> ExportedDeparture {
    ExportedDeparture(
      account: AccountID(rawValue: row.bits(0)),
      departure: Departure(
        relay: row.text(1), move: row.bits(2), version: row.integer(3),
        isCleared: row.integer(4) != 0))
  }

  private static func generation(_ row: SQLiteStatement) -> EndedGeneration {
    EndedGeneration(
      account: AccountID(rawValue: row.bits(0)),
      generation: UInt32(truncatingIfNeeded: row.integer(1)), endedAt: row.integer(2))
  }

  private static func gap(_ row: SQLiteStatement) -> ExportedGap {
    ExportedGap(
      account: AccountID(rawValue: row.bits(0)),
      gap: TagGap(after: row.integer(1), through: row.integer(2)))
  }

  private static func device(_ row: SQLiteStatement) throws(StorageError) -> ExportedDevice {
    let description = DeviceDescription(
      deviceName: row.text(2), platform: row.text(3), appVersion: row.text(4))
    return ExportedDevice(
      account: AccountID(rawValue: row.bits(0)),
      device: NewDevice(
        id: DeviceID(rawValue: row.bits(1)), description: description, tokenHash: row.bytes(5)),
      scope: try row.scope(7), lastSeen: row.integer(6))
  }

  static func pairing(_ row: SQLiteStatement) throws(StorageError) -> ExportedPairing {
    ExportedPairing(
      account: AccountID(rawValue: row.bits(0)),
      pairing: NewPairing(
        codeHash: row.bytes(1), expiresAt: row.integer(2), scope: try row.scope(3),
        wrapped: row.isNull(4) ? nil : row.text(4)))
  }

  private static func subscription(
    _ row: SQLiteStatement
  ) throws(StorageError) -> ExportedSubscription {
    guard let subscription = Subscription(id: try row.name(2), storedText: row.text(3)) else {
      throw row.corruption("a subscription has an invalid format")
    }
    return ExportedSubscription(
      account: AccountID(rawValue: row.bits(0)), device: DeviceID(rawValue: row.bits(1)),
      subscription: subscription)
  }

  private static func wakes(_ row: SQLiteStatement) throws(StorageError) -> ExportedWakes {
    ExportedWakes(
      id: SleeperID(
        account: AccountID(rawValue: row.bits(0)), device: DeviceID(rawValue: row.bits(1))),
      wakes: try row.wakes(2))
  }

  private static func wakeKey(_ row: SQLiteStatement) -> WakeKey {
    WakeKey(madeAt: row.integer(0), privateKey: row.bytes(1))
  }

  private static func count(_ row: SQLiteStatement) throws(StorageError) -> LiveCount {
    LiveCount(
      account: AccountID(rawValue: row.bits(0)), zone: try row.name(1), live: row.integer(2))
  }

  private static func record(_ row: SQLiteStatement) throws(StorageError) -> ExportedRecord {
    guard let chunks = row.chunks(2) else {
      throw row.corruption("a record's list of chunks is truncated")
    }
    var record = try row.record(at: 4)
    record.chunks = chunks
    record.includes = row.fingerprints(3)
    return ExportedRecord(
      account: AccountID(rawValue: row.bits(0)), record: record,
      deletedAt: row.isNull(1) ? nil : row.integer(1))
  }

  private static func batch(_ row: SQLiteStatement) -> ExportedBatch {
    ExportedBatch(
      account: AccountID(rawValue: row.bits(0)), device: DeviceID(rawValue: row.bits(1)),
      id: BatchID(high: row.bits(2), low: row.bits(3)), madeAt: row.integer(4),
      batch: RememberedBatch(
        digest: row.bytes(7), firstTag: row.integer(5), words: row.isNull(6) ? nil : row.text(6)))
  }

  private static func chunk(_ row: SQLiteStatement) throws(StorageError) -> ExportedChunk {
    guard let hash = ChunkHash(bytes: row.bytes(1)) else {
      throw row.corruption("a chunk's hash does not have 32 bytes")
    }
    let file = ChunkFile(account: AccountID(rawValue: row.bits(0)), number: row.bits(2))
    return ExportedChunk(
      hash: hash, stored: StoredChunk(file: file, bytes: Int(clamping: row.integer(3))),
      uses: row.integer(4), leaseUntil: row.integer(5), isUnverified: row.integer(6) != 0)
  }
}

extension SQLiteConnection {
  /// Counts the rows of all tables of a store, or those of one account.
  func totals(of account: AccountID? = nil) throws(StorageError) -> StoreTotals {
    var totals = StoreTotals()
    let condition = account.map { "account = \(Int64(bitPattern: $0.rawValue))" } ?? "true"
    for table in account == nil ? StoreTable.allCases : StoreTable.ofAccount {
      totals[table] = try firstInteger(
        of: "SELECT count(*) FROM \(table.rawValue) WHERE \(condition)")
    }
    totals.tombstones = try firstInteger(
      of: "SELECT count(*) FROM records WHERE deleted_at IS NOT NULL AND \(condition)")
    totals.chunkBytes = try firstInteger(
      of: "SELECT coalesce(sum(bytes), 0) FROM chunks WHERE \(condition)")
    return totals
  }
}
