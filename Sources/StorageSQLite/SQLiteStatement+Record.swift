import LockstepModel
import LockstepStorage

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
