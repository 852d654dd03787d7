import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

struct LogFileTests {
  private let schema = Schema(applicationID: 5, steps: ["CREATE TABLE t (a INTEGER) STRICT;"])

  @Test func everyCommitSyncsTheLogAndIsReported() throws {
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
      try connection.firstInteger(of: "SELECT count(*) FROM t")
    }
    #expect(told.count == before, "a read syncs nothing")
    #expect(told.allSatisfy { $0 > 0 })
    try connection.checkpoint(waits: true)
    connection.close()
    let again = try SQLiteConnection(path: directory.path("db"), role: .writer, schema: schema)
    #expect(try again.firstInteger(of: "SELECT count(*) FROM t") == 5)
  }

  // MARK: Buffered writes

  /// More than the cache holds: pages are written to the log before the commit, and are read from
  /// there.
  @Test func aLargeTransactionReadsItsOwnWritesAndIsComplete() throws {
    let directory = try TemporaryFolder()
    let connection = try spilling(directory.path("db"))
    let reader = try SQLiteConnection(path: directory.path("db"), role: .reader, schema: schema)
    for round in 1...3 {
      try connection.write { () throws(StorageError) in
        for number in 1...20 {
          try insert(200, connection)
          #expect(try sum(connection) == Int64((round - 1) * 4_000 + number * 200))
        }
        #expect(try sum(reader) == Int64((round - 1) * 4_000), "nothing of it is committed yet")
      }
      #expect(try sum(reader) == Int64(round * 4_000))
    }
    #expect(try connection.firstText(of: "PRAGMA integrity_check") == "ok")
  }

  @Test func nothingIsLeftOfALargeTransactionThatWasUndone() throws {
    let directory = try TemporaryFolder()
    let connection = try spilling(directory.path("db"))
    try insert(10, connection)
    for _ in 1...3 {
      #expect(throws: StorageError.self) {
        try connection.write { () throws(StorageError) in
          try insert(3_000, connection)
          throw StorageError.diskFull(path: directory.path)
        }
      }
    }
    try insert(1, connection)
    #expect(try sum(connection) == 11)
    let copy = try directory.crashed()
    let crashed = try SQLiteConnection(path: copy.path("db"), role: .writer, schema: schema)
    #expect(try sum(crashed) == 11)
    #expect(try crashed.firstText(of: "PRAGMA integrity_check") == "ok")
  }

  /// Also without any sync: the sync alone is not what writes the buffered pages.
  @Test(arguments: ["FULL", "OFF"]) func committedDataIsVisibleToOthersAtOnce(
    synchronous: String
  ) throws {
    let directory = try TemporaryFolder()
    let connection = try SQLiteConnection(
      path: directory.path("db"), role: .writer, schema: schema)
    try connection.execute("PRAGMA synchronous = \(synchronous)")
    let reader = try SQLiteConnection(path: directory.path("db"), role: .reader, schema: schema)
    for number in 1...50 {
      try insert(1, connection)
      #expect(try sum(reader) == Int64(number))
      if number % 20 == 0 { try connection.checkpoint(waits: true) }
      let copy = try directory.crashed()
      let crashed = try SQLiteConnection(path: copy.path("db"), role: .writer, schema: schema)
      #expect(try sum(crashed) == Int64(number))
    }
  }

  @Test func aClosedConnectionHasNoLog() throws {
    let directory = try TemporaryFolder()
    let connection = try SQLiteConnection(
      path: directory.path("db"), role: .writer, schema: schema)
    connection.close()
    #expect(!connection.observeSyncs { _ in })
  }

  // MARK: Helpers

  private func spilling(_ path: String) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(path: path, role: .writer, schema: schema)
    try connection.execute("PRAGMA cache_size = 8")
    return connection
  }

  private func insert(_ count: Int, _ connection: SQLiteConnection) throws(StorageError) {
    try connection.execute(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO t SELECT 1 FROM n;
      """)
  }

  private func sum(_ connection: SQLiteConnection) throws(StorageError) -> Int64 {
    try connection.firstInteger(of: "SELECT coalesce(sum(a), 0) FROM t")
  }
}
