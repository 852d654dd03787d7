import CPostgres
import LockstepModel
import LockstepStorage

/// What a statement gave: its rows, in binary form, read by their place. Belongs to the thread of
/// its connection.
///
/// The statements of this room know what they ask for, so a column of another length is a bug of
/// ours or of the server; it is read as 0 or as nothing, never beyond its end.
final class PostgresRows {
  private let result: OpaquePointer
  let count: Int

  /// Takes the result over.
  init(_ result: OpaquePointer) {
    self.result = result
    count = Int(PQntuples(result))
  }

  deinit { PQclear(result) }

  /// Why there are none, where the statement was not carried out; `lost` where nobody says.
  var fault: PostgresFault? {
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return nil
    case PGRES_PIPELINE_ABORTED:
      return PostgresFault(
        cause: .refused(state: ""), message: "what stood before it was refused")
    default:
      guard let state = PQresultErrorField(result, Int32(LOCKSTEP_SQLSTATE)) else {
        return PostgresFault(cause: .lost, message: "")
      }
      let words = PQresultErrorField(result, Int32(LOCKSTEP_MESSAGE))
      return PostgresFault(
        cause: .refused(state: String(cString: state)),
        message: words.map { String(cString: $0) } ?? "")
    }
  }

  /// How many rows a statement wrote; 0 for what writes none.
  var written: Int {
    PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
  }

  /// The command that was carried out: `COMMIT`, `INSERT 0 1`.
  var command: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

  /// All rows, in order.
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

  /// A row by its place; the caller knows that there is one.
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

  /// A number of any width, with its sign; 0 where it is NULL.
  func integer(_ column: Int32) -> Int64 {
    let bytes = rows.bytes(index, column)
    guard let first = bytes.first, bytes.count <= 8 else { return 0 }
    let sign: Int64 = first >= 0x80 ? -1 : 0
    return bytes.reduce(sign) { $0 << 8 | Int64($1) }
  }

  func bits(_ column: Int32) -> UInt64 { UInt64(bitPattern: integer(column)) }

  func bool(_ column: Int32) -> Bool { rows.bytes(index, column).first == 1 }

  func text(_ column: Int32) -> String {
    String(decoding: rows.bytes(index, column), as: UTF8.self)
  }

  func bytes(_ column: Int32) -> [UInt8] { Array(rows.bytes(index, column)) }
}
