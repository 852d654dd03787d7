import LockstepModel
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

struct SQLiteStatementTests {
  private let schema = Schema(
    applicationID: 5, steps: ["CREATE TABLE t (a INTEGER, b TEXT, c BLOB) STRICT;"])

  @Test func valuesComeBackAsTheyWereBound() throws {
    let directory = try TemporaryFolder()
    let connection = try connect(directory)
    let put = try connection.prepare("INSERT INTO t VALUES (?, ?, ?)")
    let list = try connection.prepare("SELECT a, b, c FROM t ORDER BY rowid")
    let rows: [(UInt64, String?, [UInt8]?)] = [
      (0, "", []), (.max, "é\u{301} 🛋", [0, 255]), (1 << 63, nil, nil),
      (7, String(repeating: "x", count: 300), [UInt8](repeating: 9, count: 100_000)),
    ]
    for row in rows { try put.bind(row.0).bind(row.1).run(last: row.2) }
    let found = try list.all { row in
      (
        row.bits(0), row.isNull(1) ? nil : row.text(1), row.isNull(2) ? nil : row.bytes(2)
      )
    }
    #expect(found.map(\.0) == rows.map(\.0))
    #expect(found.map(\.1) == rows.map(\.1))
    #expect(found.map(\.2) == rows.map(\.2))
  }

  @Test func aStatementThatFailedIsUsedAgain() throws {
    let directory = try TemporaryFolder()
    let connection = try connect(directory)
    let put = try connection.prepare("INSERT INTO t (a) VALUES (?)")
    #expect(throws: StorageError.self) { try put.bind("no number").run() }
    // One value too many.
    #expect(throws: StorageError.self) { try put.bind(Int64(1)).bind(Int64(2)).run() }
    try put.bind(Int64(3)).run()
    #expect(try connection.firstInteger(of: "SELECT sum(a) FROM t") == 3)
  }

  @Test func aRecordComesBackAsItWasBound() throws {
    let directory = try TemporaryFolder()
    let connection = try SQLiteConnection(
      path: directory.path("t.sqlite"), role: .writer, schema: .replica)
    let put = try connection.prepare(
      "INSERT INTO records (\(RecordRow.columns)) VALUES (?, ?, ?, ?, ?, ?, ?)")
    let list = try connection.prepare("SELECT 1, \(RecordRow.columns) FROM records ORDER BY tag")
    let records = [
      record(1, fields: Array(#"{"n":1}"#.utf8)), record(2, fields: []), record(3, fields: nil),
    ]
    for record in records { try put.bind(record).run(last: record.fields) }
    #expect(try list.all { (row) throws(StorageError) in try row.record(at: 1) } == records)
  }

  @Test func aNameThatIsNoneIsDamage() throws {
    let directory = try TemporaryFolder()
    let connection = try connect(directory)
    let select = try connection.prepare("SELECT ?")
    for text in ["", "a\u{7}"] {
      let damage = #expect(throws: StorageError.self) {
        try select.bind(text).first { (row) throws(StorageError) in try row.name(0) }
      }
      guard case .corrupt = damage else {
        Issue.record("reported as \(String(describing: damage))")
        continue
      }
    }
  }

  private func record(_ tag: ChangeTag, fields: [UInt8]?) -> Record {
    Record(
      zone: Name(trusted: "Z"), name: Name(trusted: "n\(tag)"), type: Name(trusted: "T"),
      fields: fields, modifiedAt: -1, device: DeviceID(rawValue: .max), tag: tag)
  }

  private func connect(_ directory: TemporaryFolder) throws -> SQLiteConnection {
    try SQLiteConnection(path: directory.path("t.sqlite"), role: .writer, schema: schema)
  }
}
