import LockstepModel
import LockstepStorage

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
      throw PostgresFault(cause: .damaged, message: "a name is not of the form that one has")
    }
    return name
  }

  func chunks(_ column: Int32) throws(PostgresFault) -> [ChunkHash] {
    if isNull(column) { return [] }
    let bytes = bytes(column)
    guard bytes.count.isMultiple(of: 32) else {
      throw PostgresFault(cause: .damaged, message: "a record's list of chunks is cut off")
    }
    return stride(from: 0, to: bytes.count, by: 32).compactMap {
      ChunkHash(bytes: Array(bytes[$0..<$0 + 32]))
    }
  }

  func hash(_ column: Int32) throws(PostgresFault) -> ChunkHash {
    guard let hash = ChunkHash(bytes: bytes(column)) else {
      throw PostgresFault(cause: .damaged, message: "a chunk's hash has not 32 bytes")
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
  var place: Int64 { Int64(bitPattern: number ^ (1 << 63)) }

  init(account: AccountID, place: Int64) {
    self.init(account: account, number: UInt64(bitPattern: place) ^ (1 << 63))
  }
}
