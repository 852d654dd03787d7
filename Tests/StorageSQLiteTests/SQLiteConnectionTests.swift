import CSQLite
import Foundation
import Storage
import Testing

@testable import StorageSQLite

struct SQLiteConnectionTests {
  private let schema = Schema(
    applicationID: 5, steps: ["CREATE TABLE t (a INTEGER, b TEXT, c BLOB) STRICT;"])

  @Test func aWriterSyncsEveryCommitAndMovesTheLogItself() throws {
    let directory = try TemporaryDirectory()
    let connection = try connect(directory)
    #expect(try connection.answer(to: "PRAGMA journal_mode") == "wal")
    #expect(try connection.number("PRAGMA synchronous") == 2)
    #expect(try connection.number("PRAGMA wal_autocheckpoint") == 0)
  }

  @Test func whatThrowsInATransactionIsUndone() throws {
    let directory = try TemporaryDirectory()
    let connection = try connect(directory)
    #expect(throws: StorageError.readOnly(path: "x")) {
      try connection.write { () throws(StorageError) in
        try connection.execute("INSERT INTO t VALUES (1, NULL, NULL)")
        throw .readOnly(path: "x")
      }
    }
    #expect(try connection.number("SELECT count(*) FROM t") == 0)
    try connection.write { () throws(StorageError) in
      try connection.execute("INSERT INTO t VALUES (1, NULL, NULL)")
    }
    #expect(try connection.number("SELECT count(*) FROM t") == 1)
  }

  @Test func valuesComeBackAsTheyWereBound() throws {
    let directory = try TemporaryDirectory()
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
    let directory = try TemporaryDirectory()
    let connection = try connect(directory)
    let put = try connection.prepare("INSERT INTO t (a) VALUES (?)")
    #expect(throws: StorageError.self) { try put.bind("no number").run() }
    // One value too many.
    #expect(throws: StorageError.self) { try put.bind(Int64(1)).bind(Int64(2)).run() }
    try put.bind(Int64(3)).run()
    #expect(try connection.number("SELECT sum(a) FROM t") == 3)
  }

  @Test func aClosedConnectionFailsAndDoesNoHarm() throws {
    let directory = try TemporaryDirectory()
    let connection = try connect(directory)
    let statement = try connection.prepare("SELECT a FROM t")
    connection.close()
    connection.close()
    #expect(throws: StorageError.self) { try statement.run() }
    #expect(throws: StorageError.self) { try connection.prepare("SELECT 1") }
    #expect(throws: StorageError.self) { try connection.checkpoint(waits: false) }
    #expect(throws: StorageError.self) {
      try connection.write { () throws(StorageError) in }
    }
  }

  @Test func codesOfSQLiteAreToldAsWhatAPersonCanDo() {
    let cases: [(Int32, StorageError)] = [
      (SQLITE_FULL, .diskFull(path: "p")), (SQLITE_READONLY, .readOnly(path: "p")),
      (SQLITE_READONLY | 4 << 8, .readOnly(path: "p")), (SQLITE_PERM, .readOnly(path: "p")),
      (SQLITE_CORRUPT, .corrupt(path: "p", detail: "out of memory")),
      (SQLITE_NOTADB, .corrupt(path: "p", detail: "out of memory")),
      (SQLITE_BUSY, .inUse(path: "p", by: "another process")),
      (SQLITE_IOERR, .failed(path: "p", operation: "o", detail: "out of memory")),
      (SQLITE_NOMEM, .failed(path: "p", operation: "o", detail: "out of memory")),
    ]
    for (code, fault) in cases {
      #expect(StorageError(code: code, handle: nil, path: "p", operation: "o") == fault)
    }
    #expect(StorageError(errno: ENOSPC, path: "p", operation: "o") == .diskFull(path: "p"))
    #expect(StorageError(errno: EROFS, path: "p", operation: "o") == .readOnly(path: "p"))
    #expect(
      StorageError(errno: EIO, path: "p", operation: "o")
        == .failed(path: "p", operation: "o", detail: "Input/output error"))
  }

  private func connect(_ directory: TemporaryDirectory) throws -> SQLiteConnection {
    try SQLiteConnection(path: directory.path("t.sqlite"), role: .writer, schema: schema)
  }
}
