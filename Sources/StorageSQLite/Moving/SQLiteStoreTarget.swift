import LockstepModel
import LockstepStorage

/// Writes the content of another store into a new database, in a directory that is not yet a
/// store's. The caller then either removes the directory, or makes it durable and renames it.
package final class SQLiteStoreTarget: StoreTarget {
  private let connection: SQLiteConnection
  private let rows: StoreRowWriter

  /// Requires that the directory exists and has no database.
  package init(directory: String) throws(StorageError) {
    let path = SQLiteZoneStore.path(in: directory)
    let made = try SQLiteConnection(path: path, role: .writer, schema: .zones)
    made.close()
    // A single file without a log. Its state after a crash does not matter.
    connection = try SQLiteConnection(path: path, role: .copy, schema: .zones)
    try connection.execute("PRAGMA synchronous = OFF")
    rows = try StoreRowWriter(connection)
  }

  deinit { close() }

  package func close() { connection.close() }

  package func abandon() { close() }

  package func finish(_ totals: StoreTotals, isOlderCopy: Bool) throws(StorageError) {
    if let difference = try connection.totals().difference(from: totals) {
      throw .failed(path: connection.path, operation: "receive all rows", detail: difference)
    }
    // The opening file does not exist yet, so no number in the database can match it.
    if isOlderCopy { try connection.execute("INSERT INTO opening (one, number) VALUES (1, 1)") }
    close()
  }

  package func insert(_ more: StoreRows) throws(StorageError) {
    try connection.write { () throws(StorageError) in try rows.insert(more) }
  }
}

/// Inserts rows of another store, in the caller's transaction.
final class StoreRowWriter {
  private let inserts: [StoreTable: SQLiteStatement]

  init(_ connection: SQLiteConnection) throws(StorageError) {
    var inserts: [StoreTable: SQLiteStatement] = [:]
    for table in StoreTable.allCases {
      let columns = StoreRowWriter.columns(of: table)
      let places = columns.split(separator: ",").map { _ in "?" }.joined(separator: ", ")
      inserts[table] = try connection.prepare(
        "INSERT INTO \(table.rawValue) (\(columns)) VALUES (\(places))")
    }
    self.inserts = inserts
  }

  func insert(_ rows: StoreRows) throws(StorageError) {
    guard let insert = inserts[rows.table] else { return }
    switch rows {
    case .accounts(let rows): for row in rows { try put(row, insert) }
    case .lineage(let rows):
      for row in rows {
        try insert.bind(row.account.rawValue).bind(Int64(row.generation)).bind(row.endedAt).run()
      }
    case .gaps(let rows):
      for row in rows {
        try insert.bind(row.account.rawValue).bind(row.gap.after).bind(row.gap.through).run()
      }
    case .devices(let rows): for row in rows { try put(row, insert) }
    case .pairings(let rows):
      for row in rows {
        try insert.bind(row.account.rawValue).bind(row.pairing.codeHash)
          .bind(row.pairing.expiresAt).bind(row.pairing.scope.storedText)
          .bind(row.pairing.wrapped).run()
      }
    case .subscriptions(let rows):
      for row in rows {
        try insert.bind(row.account.rawValue).bind(row.device.rawValue)
          .bind(row.subscription.id).bind(row.subscription.storedText).run()
      }
    case .wakes(let rows):
      for row in rows {
        try insert.bind(row.id.account.rawValue).bind(row.id.device.rawValue)
          .bind(row.wakes.storedText).run()
      }
    case .wakeKeys(let rows):
      for row in rows { try insert.bind(row.madeAt).bind(row.privateKey).run() }
    case .zones(let rows):
      for row in rows {
        try insert.bind(row.account.rawValue).bind(row.zone).bind(row.live).run()
      }
    case .records(let rows):
      for row in rows {
        try insert.bind(row.account.rawValue).bind(row.deletedAt).bind(row.record.chunks)
          .bind(row.record.includes).bind(row.record).run(last: row.record.fields)
      }
    case .batches(let rows): for row in rows { try put(row, insert) }
    case .chunks(let rows): for row in rows { try put(row, insert) }
    case .departed(let rows):
      for row in rows {
        try insert.bind(row.account.rawValue).bind(row.departure.relay).bind(row.departure.move)
          .bind(row.departure.version).bind(row.departure.isCleared ? 1 as Int64 : 0).run()
      }
    case .departedDevices(let rows):
      for row in rows { try insert.bind(row.account.rawValue).bind(row.tokenHash).run() }
    case .departedPairings(let rows):
      for row in rows {
        try insert.bind(row.account.rawValue).bind(row.codeHash).bind(row.expiresAt).run()
      }
    }
  }

  /// Columns of a table in the order in which they are read and written.
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
    case .records: "account, deleted_at, chunks, includes, \(RecordRow.columns)"
    case .batches: "account, device, batch_high, batch_low, made_at, first_tag, words, digest"
    case .chunks: "account, hash, file, bytes, uses, lease_until, doubtful"
    case .departed: "account, relay, move, version, cleared"
    case .departedDevices: "account, token_hash"
    case .departedPairings: "account, code_hash, expires_at"
    }
  }

  private func put(_ row: ExportedAccount, _ insert: SQLiteStatement) throws(StorageError) {
    insert.bind(row.id.rawValue).bind(Int64(row.head.generation)).bind(row.head.newest)
    insert.bind(row.head.forgotten).bind(row.label).bind(row.plan.storedText)
    insert.bind(row.madeAt).bind(row.chunkBytes).bind(row.plan.bytes).bind(row.plan.records)
    insert.bind(row.use.bytes).bind(row.use.records).bind(row.use.batches)
    try insert.bind(row.head.run).bind(row.head.rangeStart).bind(row.version)
      .bind(row.movingUntil).bind(row.move).run()
  }

  private func put(_ row: ExportedDevice, _ insert: SQLiteStatement) throws(StorageError) {
    let description = row.device.description
    insert.bind(row.account.rawValue).bind(row.device.id.rawValue).bind(description.deviceName)
    insert.bind(description.platform).bind(description.appVersion)
    try insert.bind(row.device.tokenHash).bind(row.lastSeen).bind(row.scope.storedText).run()
  }

  private func put(_ row: ExportedBatch, _ insert: SQLiteStatement) throws(StorageError) {
    insert.bind(row.account.rawValue).bind(row.device.rawValue).bind(row.id.high).bind(row.id.low)
    try insert.bind(row.madeAt).bind(row.batch.firstTag).bind(row.batch.words)
      .bind(row.batch.digest).run()
  }

  private func put(_ row: ExportedChunk, _ insert: SQLiteStatement) throws(StorageError) {
    let file = row.stored.file
    insert.bind(file.account.rawValue).bind(row.hash).bind(file.number)
    insert.bind(Int64(row.stored.bytes)).bind(row.uses).bind(row.leaseUntil)
    try insert.bind(row.isUnverified ? 1 as Int64 : 0).run()
  }
}
