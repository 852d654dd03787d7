import Foundation
import LockstepStorage
import Testing

@testable import LockstepStoragePostgres

/// Tables for one test: a schema on the server that LOCKSTEP_POSTGRES names, removed after the
/// test.
final class TestDatabase: @unchecked Sendable {
  /// URL of the server itself.
  static let url = environment["LOCKSTEP_POSTGRES_DIRECT"] ?? environment["LOCKSTEP_POSTGRES"]
  static let isThere = url != nil
  /// True if stores reach the server through a pooler (scripts/with-postgres --pooler).
  static let isPooled = environment["LOCKSTEP_POSTGRES_DIRECT"] != nil
  static let needsSessions: Comment = "the test ends sessions of the server"
  private static let environment = ProcessInfo.processInfo.environment
  static let need: Comment =
    "LOCKSTEP_POSTGRES names no server: run this by scripts/with-postgres"

  let schema: String
  /// Address of the server itself.
  let address: PostgresAddress
  /// Address for stores: that of the pooler, if there is one.
  let storeAddress: PostgresAddress
  private let connection: PostgresConnection
  private let isKept: Bool

  /// `isNew`: without any tables. Otherwise an earlier test's tables may be reused, emptied:
  /// creating tables takes longer than most tests. They are removed with the server.
  init(isNew: Bool = false) throws {
    let url = try #require(TestDatabase.url)
    let former = isNew ? nil : TestDatabase.kept.take()
    schema = former ?? "test_" + String(UInt64.random(in: 0 ... .max), radix: 36)
    let sign = url.contains("?") ? "&" : "?"
    address = try PostgresAddress(
      url + sign + "options=-csearch_path%3D\(schema)&application_name=\(schema)")
    let pooler = try PostgresAddress(try #require(TestDatabase.environment["LOCKSTEP_POSTGRES"]))
    // A pooler forwards no options, so the user's search path leads to the schema.
    storeAddress =
      TestDatabase.isPooled
      ? pooler.setting("user", to: schema).setting("application_name", to: schema) : address
    connection = PostgresConnection(try PostgresAddress(url))
    isKept = !isNew
    if former != nil { return }
    try run("CREATE SCHEMA \(schema)")
    guard TestDatabase.isPooled else { return }
    try run("CREATE ROLE \(schema) SUPERUSER LOGIN")
    try run("ALTER ROLE \(schema) SET search_path = \(schema)")
  }

  deinit {
    do {
      if isKept {
        let all = try tables.filter { $0 != "schema_version" }
        let deletions = all.map { "DELETE FROM \(schema).\($0);" }.joined(separator: " ")
        try run("DO $$ BEGIN \(deletions) END $$")
        TestDatabase.kept.put(schema)
      } else {
        try run("DROP SCHEMA \(schema) CASCADE")
      }
      connection.close()
    } catch {
      Issue.record("\(schema) cannot be cleared: \(error)")
    }
  }

  private static let kept = KeptSchemas()

  /// Opens the store. By default all openings have the same run, so that tags are consecutive.
  func store(
    rules: StoreRules = StoreRules(), declareRestored: Bool = false, beginsRun: Bool = false
  ) throws -> PostgresZoneStore {
    try PostgresZoneStore(
      storeAddress, rules: rules, declareRestored: declareRestored, beginsRun: beginsRun)
  }

  /// Opens a bus of the store.
  func bus(of store: PostgresZoneStore) throws -> sending PostgresBus {
    try store.makeBus(at: TestDatabase.isPooled ? address : nil)
  }

  /// Runs a statement outside the test's schema: names of its tables need the prefix `schema`.
  @discardableResult func run(_ sql: String) throws -> PostgresRows {
    try connection.perform("test") { () throws(PostgresFault) in
      try connection.run(PostgresStatement("", sql), within: 60_000)
    }
  }

  func number(_ sql: String) throws -> Int64 {
    try #require(try run("SELECT (\(sql))::bigint").first { $0.integer(0) })
  }

  func text(_ sql: String) throws -> String {
    try #require(try run("SELECT (\(sql))::text").first { $0.text(0) })
  }

  /// Runs a statement in the test's schema.
  @discardableResult func runHere(_ sql: String) throws -> PostgresRows {
    try run("SELECT set_config('search_path', '\(schema)', false)")
    return try run(sql)
  }

  /// Returns the lines of the generic plan of a statement in the test's schema. `settings`: a
  /// statement that sets what the planner may do.
  func plan(
    of statement: PostgresStatement, parameters: Int, _ settings: String
  ) throws -> [String] {
    try runHere("BEGIN")
    defer { _ = try? run("ROLLBACK") }
    try run(settings)
    let name = "plan_\(parameters)"
    try run("PREPARE \(name) AS \(statement.sql)")
    defer { _ = try? run("DEALLOCATE \(name)") }
    let nulls = Array(repeating: "NULL", count: parameters).joined(separator: ", ")
    return try run("EXPLAIN EXECUTE \(name)(\(nulls))").all { $0.text(0) }
  }

  /// Ends the sessions of all stores on this database, as an administrator or a stopping server
  /// does.
  func endSessions() throws {
    try run(
      """
      SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
      WHERE application_name = '\(schema)' AND pid <> pg_backend_pid()
      """)
  }

  var tables: [String] {
    get throws {
      try run("SELECT tablename::text FROM pg_tables WHERE schemaname = '\(schema)' ORDER BY 1")
        .all { $0.text(0) }
    }
  }
}

/// Schemas that were released by tests.
private final class KeptSchemas: @unchecked Sendable {
  private let lock = NSLock()
  private var names: [String] = []
  func take() -> String? { lock.withLock { names.popLast() } }
  func put(_ name: String) { lock.withLock { names.append(name) } }
}

/// A copy of a store's tables, as in a dump.
final class TableCopy {
  private let database: TestDatabase
  private let place = "copy_" + String(UInt64.random(in: 0 ... .max), radix: 36)
  private let tables: [String]

  init(_ database: TestDatabase) throws {
    self.database = database
    tables = try database.tables
    try database.run("CREATE SCHEMA \(place)")
    for table in tables {
      try database.run("CREATE TABLE \(place).\(table) AS TABLE \(database.schema).\(table)")
    }
  }

  deinit {
    do {
      try database.run("DROP SCHEMA \(place) CASCADE")
    } catch {
      Issue.record("\(place) cannot be removed: \(error)")
    }
  }

  /// Restores the copy, as on another server; or as on the same server after a reset of its disk.
  func putBack(isSeen: Bool = true) throws {
    for table in tables {
      let name = "\(database.schema).\(table)"
      try database.run("DELETE FROM \(name)")
      try database.run(
        "INSERT INTO \(name) OVERRIDING SYSTEM VALUE SELECT * FROM \(place).\(table)")
    }
    guard isSeen else { return }
    try database.run(
      "UPDATE \(database.schema).opening SET system_identifier = system_identifier # 1")
  }
}
