import LockstepModel
import LockstepStorage

/// The records that a device holds, each with a mark: the number of the last snapshot that named
/// it, or -1 if the relay has lost it.
final class HeldRecordTable {
  /// The columns in the order in which `heldRecord` reads them.
  static let columns = RecordRow.columns + ", chunks"

  private static let lost: Int64 = -1

  private let select: SQLiteStatement
  private let selectOfType: SQLiteStatement
  private let selectAll: SQLiteStatement
  private let selectAfter: SQLiteStatement
  private let selectUnnamed: SQLiteStatement
  private let selectLost: SQLiteStatement
  private let selectIsLost: SQLiteStatement
  private let selectGreatestTag: SQLiteStatement
  private let selectTags: SQLiteStatement
  private let insert: SQLiteStatement
  private let mark: SQLiteStatement
  private let delete: SQLiteStatement
  private let selectChunks: SQLiteStatement
  private let selectAncestors: SQLiteStatement
  private let selectVersion: SQLiteStatement
  private let chunks: ChunkTable

  /// `chunks` counts the chunks that the records name.
  init(_ connection: SQLiteConnection, _ chunks: ChunkTable) throws(StorageError) {
    self.chunks = chunks
    let columns = HeldRecordTable.columns
    select = try connection.prepare(
      "SELECT \(columns) FROM records WHERE zone = ? AND name = ?")
    // An additional index by name would be rewritten by each page of a first sync.
    selectOfType = try connection.prepare(
      """
      SELECT \(columns) FROM records
      WHERE zone = ? AND type = coalesce(?, type) AND fields IS NOT NULL
      """)
    selectAll = try connection.prepare("SELECT \(columns) FROM records ORDER BY zone, name")
    selectAfter = try connection.prepare(
      """
      SELECT \(columns) FROM records WHERE (zone, name) > (?, ?) ORDER BY zone, name LIMIT ?
      """)
    // Table order is the fastest to read. There are few such records, and they are sorted here.
    selectUnnamed = try connection.prepare(
      """
      SELECT zone, name, type, modified_at, device, tag, fields IS NULL FROM records
      WHERE mark <> ? AND mark <> -1
      """)
    selectLost = try connection.prepare(
      "SELECT \(columns) FROM records WHERE mark = -1 ORDER BY zone, name")
    selectIsLost = try connection.prepare(
      "SELECT 1 FROM records WHERE zone = ? AND name = ? AND mark = -1")
    selectGreatestTag = try connection.prepare("SELECT max(tag) FROM records")
    selectTags = try connection.prepare("SELECT tag FROM records WHERE tag > ?")
    insert = try connection.prepare(
      """
      INSERT INTO records
        (zone, name, type, modified_at, device, tag, mark, chunks, ancestors, version, fields)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (zone, name) DO UPDATE SET type = excluded.type,
        modified_at = excluded.modified_at, device = excluded.device, tag = excluded.tag,
        mark = max(mark, excluded.mark), chunks = excluded.chunks, fields = excluded.fields,
        version = excluded.version,
        ancestors = CASE WHEN excluded.ancestors IS NULL THEN ancestors ELSE
          substr(CAST(coalesce(ancestors, x'') || excluded.ancestors AS BLOB),
            -\(8 * Limits.ancestors)) END
      """)
    selectAncestors = try connection.prepare(
      "SELECT ancestors FROM records WHERE zone = ? AND name = ?")
    selectVersion = try connection.prepare(
      "SELECT version FROM records WHERE zone = ? AND name = ? AND version IS NOT NULL")
    mark = try connection.prepare("UPDATE records SET mark = ? WHERE zone = ? AND name = ?")
    delete = try connection.prepare("DELETE FROM records WHERE zone = ? AND name = ?")
    selectChunks = try connection.prepare(
      """
      SELECT chunks FROM records INDEXED BY records_with_pieces
      WHERE zone = ? AND name = ? AND chunks IS NOT NULL
      """)
  }

  func record(_ key: RecordKey) throws(StorageError) -> Record? {
    try select.bind(key.zone).bind(key.name).first { (row) throws(StorageError) in
      try row.heldRecord()
    }
  }

  func records(zone: Name, type: Name?) throws(StorageError) -> [Record] {
    let found = try selectOfType.bind(zone).bind(type?.text).all { (row) throws(StorageError) in
      try row.heldRecord()
    }
    return found.sorted { $0.name < $1.name }
  }

  func all() throws(StorageError) -> [Record] {
    try selectAll.all { (row) throws(StorageError) in try row.heldRecord() }
  }

  func records(after key: RecordKey?, limit: Int) throws(StorageError) -> [Record] {
    // No name is empty.
    try selectAfter.bind(key?.zone.text ?? "").bind(key?.name.text ?? "").bind(Int64(limit))
      .all { (row) throws(StorageError) in try row.heldRecord() }
  }

  func unnamed(bySnapshot number: Int64) throws(StorageError) -> [UnnamedRecord] {
    let found = try selectUnnamed.bind(number).all { (row) throws(StorageError) in
      UnnamedRecord(
        key: RecordKey(zone: try row.name(0), name: try row.name(1)), type: try row.name(2),
        modifiedAt: row.integer(3), device: DeviceID(rawValue: row.bits(4)), tag: row.integer(5),
        isDeleted: row.integer(6) != 0)
    }
    return found.sorted { $0.key < $1.key }
  }

  func lost(limit: Int, bytes: Int) throws(StorageError) -> [Record] {
    defer { selectLost.reset() }
    var lost: [Record] = []
    var bytesLeft = bytes
    while lost.count < limit, try selectLost.step() {
      let record = try selectLost.heldRecord()
      bytesLeft -= record.fields?.count ?? 0
      if bytesLeft < 0, !lost.isEmpty { break }
      lost.append(record)
    }
    return lost
  }

  func isLost(_ key: RecordKey) throws(StorageError) -> Bool {
    try selectIsLost.bind(key.zone).bind(key.name).first { _ in true } ?? false
  }

  func greatestTag() throws(StorageError) -> ChangeTag {
    try selectGreatestTag.first { $0.integer(0) } ?? 0
  }

  func tags(after tag: ChangeTag) throws(StorageError) -> [ChangeTag] {
    try selectTags.bind(tag).all { (row) throws(StorageError) in row.integer(0) }
  }

  func put(
    _ record: Record, snapshot: Int64?, replacing replaced: [VersionFingerprint],
    _ version: RecordVersion?
  ) throws(StorageError) {
    try chunks.replace(try chunksNamed(by: record.key), by: record.chunks)
    insert.bind(record).bind(snapshot ?? 0).bind(chunks: record.chunks)
    insert.bind(Array(replaced.suffix(Limits.ancestors)))
    if let version { insert.bind(version.bytes) } else { insert.bind(Int64?.none) }
    try insert.run(last: record.fields)
  }

  func ancestors(_ key: RecordKey) throws(StorageError) -> [VersionFingerprint] {
    try selectAncestors.bind(key.zone).bind(key.name).first { $0.fingerprints(0) } ?? []
  }

  func version(_ key: RecordKey) throws(StorageError) -> RecordVersion? {
    try selectVersion.bind(key.zone).bind(key.name).first { (row) throws(StorageError) in
      guard let version = RecordVersion(bytes: row.bytes(0)[...]) else {
        throw row.corruption("the version of a record has an invalid format")
      }
      return version
    }
  }

  func markInSnapshot(_ key: RecordKey, snapshot: Int64) throws(StorageError) {
    try mark(key, snapshot)
  }

  func markLost(_ key: RecordKey) throws(StorageError) { try mark(key, HeldRecordTable.lost) }

  func remove(_ key: RecordKey) throws(StorageError) {
    try chunks.replace(try chunksNamed(by: key), by: [])
    try delete.bind(key.zone).bind(key.name).run()
  }

  /// Most records name no chunks; for them only an index is read.
  private func chunksNamed(by key: RecordKey) throws(StorageError) -> [ChunkHash] {
    try selectChunks.bind(key.zone).bind(key.name).first { (row) throws(StorageError) in
      try row.chunks(0)
    } ?? []
  }

  private func mark(_ key: RecordKey, _ value: Int64) throws(StorageError) {
    try mark.bind(value).bind(key.zone).bind(key.name).run()
  }
}

extension SQLiteStatement {
  /// Returns the record with its chunks, from columns that begin at the first.
  func heldRecord() throws(StorageError) -> Record {
    var record = try record()
    if !isNull(7) { record.chunks = try chunks(7) }
    return record
  }

  @discardableResult func bind(chunks: [ChunkHash]) -> SQLiteStatement {
    chunks.isEmpty ? bind(Int64?.none) : bind(chunks.flatMap(\.bytes))
  }

  fileprivate func chunks(_ column: Int32) throws(StorageError) -> [ChunkHash] {
    let bytes = bytes(column)
    var chunks: [ChunkHash] = []
    for start in stride(from: 0, to: bytes.count, by: 32) {
      guard let chunk = ChunkHash(bytes: Array(bytes[start..<min(start + 32, bytes.count)])) else {
        throw corruption("the list of a record's chunks is truncated")
      }
      chunks.append(chunk)
    }
    return chunks
  }
}
