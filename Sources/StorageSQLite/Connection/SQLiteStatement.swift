import CSQLite
import LockstepModel
import LockstepStorage

/// A prepared statement that is used repeatedly. `bind` adds one value after another; `run` or
/// `first` executes the statement and resets it.
final class SQLiteStatement {
  private unowned let connection: SQLiteConnection
  /// nil after the connection is closed: SQLite then returns SQLITE_MISUSE.
  private var handle: OpaquePointer?
  let sql: String
  private var boundCount: Int32 = 0
  /// First error code of a `bind` call; `step` throws it.
  private var bindingCode = SQLITE_OK

  init(_ handle: OpaquePointer?, sql: String, of connection: SQLiteConnection) {
    self.handle = handle
    self.sql = sql
    self.connection = connection
  }

  func finalize() {
    sqlite3_finalize(handle)
    handle = nil
  }

  // MARK: Binding

  @discardableResult func bind(_ value: Int64) -> SQLiteStatement {
    recordBinding(sqlite3_bind_int64(handle, nextPosition(), value))
  }

  /// Binds an id. Ids use all sixty-four bits; SQLite's integers are signed.
  @discardableResult func bind(_ value: UInt64) -> SQLiteStatement {
    bind(Int64(bitPattern: value))
  }

  @discardableResult func bind(_ value: Int64?) -> SQLiteStatement {
    guard let value else { return recordBinding(sqlite3_bind_null(handle, nextPosition())) }
    return bind(value)
  }

  @discardableResult func bind(_ value: String?) -> SQLiteStatement {
    let position = nextPosition()
    guard var value else { return recordBinding(sqlite3_bind_null(handle, position)) }
    return recordBinding(
      value.withUTF8 { bytes in
        // With a null pointer SQLite would store an empty text as NULL.
        guard let start = bytes.baseAddress, !bytes.isEmpty else {
          return sqlite3_bind_text(handle, position, "", 0, SQLiteStatement.copied)
        }
        return start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
          sqlite3_bind_text(handle, position, $0, Int32(bytes.count), SQLiteStatement.copied)
        }
      })
  }

  @discardableResult func bind(_ name: Name) -> SQLiteStatement { bind(name.text) }

  /// Binds short byte strings (hashes), which SQLite copies.
  @discardableResult func bind(_ bytes: [UInt8]) -> SQLiteStatement {
    let position = nextPosition()
    return recordBinding(
      bytes.withUnsafeBytes {
        $0.isEmpty
          ? sqlite3_bind_zeroblob(handle, position, 0)
          : sqlite3_bind_blob64(
            handle, position, $0.baseAddress, UInt64($0.count), SQLiteStatement.copied)
      })
  }

  // MARK: Stepping

  /// Returns true if there is a row, false at the end.
  func step() throws(StorageError) -> Bool {
    let code = bindingCode == SQLITE_OK ? sqlite3_step(handle) : bindingCode
    switch code {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw connection.fault(code, "run a statement")
    }
  }

  /// Resets the statement for its next use. Ignores the result code, which `step` has reported
  /// already.
  func reset() {
    sqlite3_reset(handle)
    boundCount = 0
    bindingCode = SQLITE_OK
  }

  func run() throws(StorageError) {
    defer { reset() }
    while try step() {}
  }

  /// Binds `bytes` as the last value without copying them, and runs the statement: a record's
  /// fields may have a megabyte.
  func run(last bytes: [UInt8]?) throws(StorageError) {
    guard let bytes, !bytes.isEmpty else {
      if let bytes { bind(bytes) } else { bind(Int64?.none) }
      return try run()
    }
    // `withUnsafeBytes` cannot rethrow a typed error, so the error is returned as a result.
    let position = nextPosition()
    let result = bytes.withUnsafeBytes { buffer -> Result<Void, StorageError> in
      recordBinding(
        sqlite3_bind_blob64(handle, position, buffer.baseAddress, UInt64(buffer.count), nil))
      do throws(StorageError) {
        try run()
        // The bytes are valid only in this scope; no binding may keep a pointer to them.
        sqlite3_clear_bindings(handle)
        return .success(())
      } catch {
        sqlite3_clear_bindings(handle)
        return .failure(error)
      }
    }
    try result.get()
  }

  /// Returns the first row, converted by `read`; nil if there is none.
  func first<Value>(
    _ read: (SQLiteStatement) throws(StorageError) -> Value
  ) throws(StorageError) -> Value? {
    defer { reset() }
    return try step() ? read(self) : nil
  }

  /// Returns all rows, converted by `read`.
  func all<Value>(
    _ read: (SQLiteStatement) throws(StorageError) -> Value
  ) throws(StorageError) -> [Value] {
    defer { reset() }
    var values: [Value] = []
    while try step() { values.append(try read(self)) }
    return values
  }

  // MARK: Columns

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

  func bits(_ column: Int32) -> UInt64 { UInt64(bitPattern: integer(column)) }

  func text(_ column: Int32) -> String {
    let start = sqlite3_column_text(handle, column)
    let count = Int(sqlite3_column_bytes(handle, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  func bytes(_ column: Int32) -> [UInt8] {
    let start = sqlite3_column_blob(handle, column)
    let count = Int(sqlite3_column_bytes(handle, column))
    return [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }

  /// Reads a name. An invalid name means that the file is damaged.
  func name(_ column: Int32) throws(StorageError) -> Name {
    guard let name = Name(text(column)) else {
      throw corruption("a name is empty, too long or has control characters")
    }
    return name
  }

  func corruption(_ detail: String) -> StorageError { connection.corruption(detail) }

  // MARK: Helpers

  /// SQLITE_TRANSIENT, a macro that Swift does not import: SQLite copies the bound value.
  private static var copied: sqlite3_destructor_type? {
    unsafeBitCast(-1, to: sqlite3_destructor_type?.self)
  }

  private func nextPosition() -> Int32 {
    boundCount += 1
    return boundCount
  }

  @discardableResult private func recordBinding(_ code: Int32) -> SQLiteStatement {
    if bindingCode == SQLITE_OK { bindingCode = code }
    return self
  }
}

/// The chunks that a record names are stored in one column: their concatenated hashes, 32 bytes
/// each, or NULL if there are none.
extension SQLiteStatement {
  @discardableResult func bind(_ chunks: [ChunkHash]) -> SQLiteStatement {
    if chunks.isEmpty { return bind(Int64?.none) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(32 * chunks.count)
    for hash in chunks { hash.append(to: &bytes) }
    return bind(bytes)
  }

  /// Binds NULL if there are none.
  @discardableResult func bind(_ prints: [VersionFingerprint]) -> SQLiteStatement {
    prints.isEmpty ? bind(Int64?.none) : bind(prints.bytes)
  }

  func fingerprints(_ column: Int32) -> [VersionFingerprint] {
    isNull(column) ? [] : [VersionFingerprint](bytes: bytes(column))
  }

  @discardableResult func bind(_ hash: ChunkHash) -> SQLiteStatement { bind(hash.bytes) }

  /// Returns nil if the column does not hold whole hashes: the file is damaged.
  func chunks(_ column: Int32) -> [ChunkHash]? {
    if isNull(column) { return [] }
    let bytes = bytes(column)
    guard bytes.count.isMultiple(of: 32) else { return nil }
    return stride(from: 0, to: bytes.count, by: 32).compactMap {
      ChunkHash(bytes: Array(bytes[$0..<$0 + 32]))
    }
  }
}

/// Row format of a record, the same in the relay's store and in a device's store.
enum RecordRow {
  /// The columns in the order in which `record` reads them.
  static let columns = "zone, name, type, modified_at, device, tag, fields"
  /// SQL expression for `Record.storedBytes` of a row.
  static let storedBytes = """
    \(Limits.rowBytes) + length(CAST(zone AS BLOB)) + length(CAST(name AS BLOB)) \
    + length(CAST(type AS BLOB)) + coalesce(length(fields), 0) + coalesce(length(chunks), 0)
    """
}

extension SQLiteStatement {
  /// Returns the record whose columns begin at `column`.
  func record(at column: Int32 = 0) throws(StorageError) -> Record {
    Record(
      zone: try name(column), name: try name(column + 1), type: try name(column + 2),
      fields: isNull(column + 6) ? nil : bytes(column + 6), modifiedAt: integer(column + 3),
      device: DeviceID(rawValue: bits(column + 4)), tag: integer(column + 5))
  }

  /// Binds all of a record except its fields, which `run(last:)` binds.
  @discardableResult func bind(_ record: Record) -> SQLiteStatement {
    bind(record.zone).bind(record.name).bind(record.type).bind(record.modifiedAt)
      .bind(record.device.rawValue).bind(record.tag)
  }
}
