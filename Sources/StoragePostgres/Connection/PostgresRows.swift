import CPostgres
import LockstepModel
import LockstepStorage

/// Result of a statement: its rows in binary format, accessed by index. Belongs to the thread of
/// its connection.
///
/// The statements of this module fix their column types, so a column of another length is a bug
/// here or in the server. It is read as 0 or as empty, never beyond its end.
final class PostgresRows {
  private let result: OpaquePointer
  let count: Int

  /// Takes ownership of the result.
  init(_ result: OpaquePointer) {
    self.result = result
    count = Int(PQntuples(result))
  }

  deinit { PQclear(result) }

  /// Error of a statement that was not executed; `lost` if there is no SQLSTATE.
  var fault: PostgresFault? {
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return nil
    case PGRES_PIPELINE_ABORTED:
      return PostgresFault(
        cause: .refused(state: ""), message: "an earlier statement was refused")
    default:
      guard let state = PQresultErrorField(result, Int32(LOCKSTEP_SQLSTATE)) else {
        return PostgresFault(cause: .lost, message: "")
      }
      let message = PQresultErrorField(result, Int32(LOCKSTEP_MESSAGE))
      return PostgresFault(
        cause: .refused(state: String(cString: state)),
        message: message.map { String(cString: $0) } ?? "")
    }
  }

  /// Number of rows that the statement wrote; 0 if it writes none.
  var written: Int {
    PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
  }

  /// Command tag of the statement: `COMMIT`, `INSERT 0 1`.
  var command: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

  /// Returns all rows, converted by `read`, in order.
  func all<Value, Fault: Error>(
    _ read: (PostgresRow) throws(Fault) -> Value
  ) throws(Fault) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(count)
    for index in 0..<count {
      values.append(try read(PostgresRow(rows: self, index: Int32(index))))
    }
    return values
  }

  /// Returns a row by its index, which must exist.
  subscript(index: Int) -> PostgresRow { PostgresRow(rows: self, index: Int32(index)) }

  func first<Value, Fault: Error>(
    _ read: (PostgresRow) throws(Fault) -> Value
  ) throws(Fault) -> Value? {
    count == 0 ? nil : try read(PostgresRow(rows: self, index: 0))
  }

  fileprivate func isNull(_ row: Int32, _ column: Int32) -> Bool {
    PQgetisnull(result, row, column) == 1
  }

  fileprivate func bytes(_ row: Int32, _ column: Int32) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
  }
}

/// One row. Columns count from 0.
struct PostgresRow {
  fileprivate let rows: PostgresRows
  fileprivate let index: Int32

  func isNull(_ column: Int32) -> Bool { rows.isNull(index, column) }

  /// Returns a signed integer of any width; 0 if it is NULL.
  func integer(_ column: Int32) -> Int64 {
    let bytes = rows.bytes(index, column)
    guard let first = bytes.first, bytes.count <= 8 else { return 0 }
    let sign: Int64 = first >= 0x80 ? -1 : 0
    return bytes.reduce(sign) { $0 << 8 | Int64($1) }
  }

  func bits(_ column: Int32) -> UInt64 { UInt64(bitPattern: integer(column)) }

  /// nil for NULL.
  func optionalBits(_ column: Int32) -> UInt64? { isNull(column) ? nil : bits(column) }

  func bool(_ column: Int32) -> Bool { rows.bytes(index, column).first == 1 }

  func text(_ column: Int32) -> String {
    String(decoding: rows.bytes(index, column), as: UTF8.self)
  }

  func bytes(_ column: Int32) -> [UInt8] { Array(rows.bytes(index, column)) }
}
