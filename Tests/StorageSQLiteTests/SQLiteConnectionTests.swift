import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

struct SQLiteConnectionTests {
  private let schema = Schema(
    applicationID: 5, steps: ["CREATE TABLE t (a INTEGER, b TEXT, c BLOB) STRICT;"])

  @Test func aWriterSyncsEveryCommitAndMovesTheLogItself() throws {
    let directory = try TemporaryFolder()
    let connection = try connect(directory)
    #expect(try connection.firstText(of: "PRAGMA journal_mode") == "wal")
    #expect(try connection.firstInteger(of: "PRAGMA synchronous") == 2)
    #expect(try connection.firstInteger(of: "PRAGMA wal_autocheckpoint") == 0)
  }

  @Test func aTransactionThatThrowsIsUndone() throws {
    let directory = try TemporaryFolder()
    let connection = try connect(directory)
    #expect(throws: StorageError.readOnly(path: "x")) {
      try connection.write { () throws(StorageError) in
        try connection.execute("INSERT INTO t VALUES (1, NULL, NULL)")
        throw .readOnly(path: "x")
      }
    }
    #expect(try connection.firstInteger(of: "SELECT count(*) FROM t") == 0)
    try connection.write { () throws(StorageError) in
      try connection.execute("INSERT INTO t VALUES (1, NULL, NULL)")
    }
    #expect(try connection.firstInteger(of: "SELECT count(*) FROM t") == 1)
  }

  @Test func aClosedConnectionFailsAndDoesNoHarm() throws {
    let directory = try TemporaryFolder()
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

  private func connect(_ directory: TemporaryFolder) throws -> SQLiteConnection {
    try SQLiteConnection(path: directory.path("t.sqlite"), role: .writer, schema: schema)
  }
}
