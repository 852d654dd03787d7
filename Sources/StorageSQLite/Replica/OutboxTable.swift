import LockstepModel
import LockstepStorage

/// The entries of a device's outbox, with the versions that they refer to.
final class OutboxTable {
  /// Values of the column `outbox.state`.
  private enum Word: String {
    case waiting, sent, parked, asking
  }

  /// Values of the column `versions.role`.
  private enum Role: Int64 {
    case base = 0
    case asking = 1
    case timeMade = 2
    /// Holds only the stamp of the version that was sent first; it has no fields.
    case firstSent = 3
    /// Holds only the fingerprints of `OutboxEntry.includes`, as its fields.
    case includes = 4
  }

  private let connection: SQLiteConnection
  private let list: SQLiteStatement
  private let version: SQLiteStatement
  private let put: SQLiteStatement
  private let putVersion: SQLiteStatement
  private let delete: SQLiteStatement
  private let deleteVersions: SQLiteStatement

  init(_ connection: SQLiteConnection) throws(StorageError) {
    self.connection = connection
    list = try connection.prepare(
      """
      SELECT number, zone, name, type, modified_at, stamp_trusted, group_number, state,
        batch_high, batch_low, code, detail, retry_after, relay_time, fields, lineage
      FROM outbox ORDER BY number
      """)
    version = try connection.prepare(
      "SELECT \(HeldRecordTable.columns) FROM versions WHERE number = ? AND role = ?")
    put = try connection.prepare(
      """
      INSERT OR REPLACE INTO outbox
        (number, zone, name, type, modified_at, stamp_trusted, group_number, state,
          batch_high, batch_low, code, detail, retry_after, relay_time, lineage, fields)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    putVersion = try connection.prepare(
      """
      INSERT INTO versions
        (number, role, zone, name, type, modified_at, device, tag, chunks, fields)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    delete = try connection.prepare("DELETE FROM outbox WHERE number = ?")
    deleteVersions = try connection.prepare("DELETE FROM versions WHERE number = ?")
  }

  func entries() throws(StorageError) -> [OutboxEntry] {
    try connection.read { () throws(StorageError) in
      try list.all { (row) throws(StorageError) in try entry(row) }
    }
  }

  func put(_ entry: OutboxEntry) throws(StorageError) {
    try deleteVersions.bind(entry.number).run()
    // Runs before `put` is bound: an error here must not leave `put` half bound for the next entry.
    if case .asking(let server) = entry.state { try insert(server, as: .asking, of: entry) }
    put.bind(entry.number).bind(entry.key.zone).bind(entry.key.name).bind(entry.type)
    put.bind(entry.modifiedAt).bind(entry.isStampTrusted ? Int64(1) : 0).bind(entry.group)
    var batch: BatchID?
    var refusal: Refusal?
    switch entry.state {
    case .waiting: put.bind(Word.waiting.rawValue)
    case .sent(let id):
      put.bind(Word.sent.rawValue)
      batch = id
    case .parked(let reason):
      put.bind(Word.parked.rawValue)
      refusal = reason
    case .asking: put.bind(Word.asking.rawValue)
    }
    put.bind(batch.map { Int64(bitPattern: $0.high) }).bind(batch.map { Int64(bitPattern: $0.low) })
    put.bind(refusal?.code.rawValue).bind(refusal?.detail)
    put.bind(refusal?.retryAfterMilliseconds).bind(refusal?.relayTime)
    if let lineage = entry.lineage {
      put.bind(lineage.bytes)
    } else {
      put.bind(Int64?.none)
    }
    try put.run(last: entry.fields)
    if let base = entry.base { try insert(base, as: .base, of: entry) }
    if let made = entry.timeMade { try insert(made, as: .timeMade, of: entry) }
    if let stamp = entry.firstSent {
      var sent = Record.nothing(at: entry.key)
      sent.modifiedAt = stamp
      try insert(sent, as: .firstSent, of: entry)
    }
    if !entry.includes.isEmpty {
      var included = Record.nothing(at: entry.key)
      included.fields = entry.includes.bytes
      try insert(included, as: .includes, of: entry)
    }
  }

  func remove(_ number: Int64) throws(StorageError) {
    try deleteVersions.bind(number).run()
    try delete.bind(number).run()
  }

  private func insert(
    _ record: Record, as role: Role, of entry: OutboxEntry
  ) throws(StorageError) {
    try putVersion.bind(entry.number).bind(role.rawValue).bind(record)
      .bind(chunks: record.chunks).run(last: record.fields)
  }

  private func entry(_ row: SQLiteStatement) throws(StorageError) -> OutboxEntry {
    let number = row.integer(0)
    return OutboxEntry(
      number: number, key: RecordKey(zone: try row.name(1), name: try row.name(2)),
      type: try row.name(3), fields: row.isNull(14) ? nil : row.bytes(14),
      modifiedAt: row.integer(4), isStampTrusted: row.integer(5) != 0,
      base: try record(.base, of: number), state: try state(row, of: number),
      group: row.isNull(6) ? nil : row.integer(6),
      timeMade: try record(.timeMade, of: number),
      firstSent: try record(.firstSent, of: number)?.modifiedAt,
      includes: [VersionFingerprint](bytes: try record(.includes, of: number)?.fields ?? []),
      lineage: row.isNull(15) ? nil : try lineage(row.bytes(15)))
  }

  private func lineage(_ bytes: [UInt8]) throws(StorageError) -> OutboxEntry.Lineage {
    guard let lineage = OutboxEntry.Lineage(bytes: bytes) else {
      throw connection.corruption("the lineage of an entry of the outbox has an invalid format")
    }
    return lineage
  }

  private func state(
    _ row: SQLiteStatement, of number: Int64
  ) throws(StorageError) -> OutboxEntry.State {
    switch Word(rawValue: row.text(7)) {
    case .waiting: return .waiting
    case .sent: return .sent(BatchID(high: row.bits(8), low: row.bits(9)))
    case .parked:
      return .parked(
        Refusal(
          RefusalCode(rawValue: row.text(10)) ?? .internalError, row.text(11),
          retryAfterMilliseconds: row.isNull(12) ? nil : row.integer(12),
          relayTime: row.isNull(13) ? nil : row.integer(13)))
    case .asking:
      guard let server = try record(.asking, of: number) else {
        throw connection.corruption("an entry of the outbox refers to a version that is missing")
      }
      return .asking(server)
    case nil: throw connection.corruption("an entry of the outbox has an unknown state")
    }
  }

  private func record(_ role: Role, of number: Int64) throws(StorageError) -> Record? {
    try version.bind(number).bind(role.rawValue).first { (row) throws(StorageError) in
      try row.heldRecord()
    }
  }
}
