import Storage
import TemporaryFolders
import Testing

@testable import StorageSQLite

struct LogSyncTests {
  private let schema = Schema(applicationID: 5, steps: ["CREATE TABLE t (a INTEGER) STRICT;"])

  @Test func everyCommitSyncsTheLogAndIsTold() throws {
    let directory = try TemporaryFolder()
    let connection = try SQLiteConnection(
      path: directory.path("db"), role: .writer, schema: schema)
    var told: [Int64] = []
    #expect(connection.observeSyncs { told.append($0) })
    for number in 1...5 {
      let before = told.count
      try connection.write { () throws(StorageError) in
        try connection.execute("INSERT INTO t VALUES (\(number))")
      }
      #expect(told.count > before, "a commit is durable because the log was synced")
    }
    let before = told.count
    _ = try connection.read { () throws(StorageError) in
      try connection.number("SELECT count(*) FROM t")
    }
    #expect(told.count == before, "a read syncs nothing")
    #expect(told.allSatisfy { $0 > 0 })
    try connection.checkpoint(waits: true)
    connection.close()
    let again = try SQLiteConnection(path: directory.path("db"), role: .writer, schema: schema)
    #expect(try again.number("SELECT count(*) FROM t") == 5)
  }

  @Test func aClosedConnectionHasNoLog() throws {
    let directory = try TemporaryFolder()
    let connection = try SQLiteConnection(
      path: directory.path("db"), role: .writer, schema: schema)
    connection.close()
    #expect(!connection.observeSyncs { _ in })
  }
}
