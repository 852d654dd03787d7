import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepStoragePostgres

@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.need))
struct PostgresConnectionTests {
  private func perform<Value>(
    _ connection: PostgresConnection, _ body: () throws(PostgresFault) -> Value
  ) throws -> Value {
    try connection.perform("test", body)
  }

  @Test func valuesComeBackAsTheyWent() throws {
    let database = try TestDatabase()
    let connection = PostgresConnection(database.address)
    let statement = PostgresStatement(
      "echo",
      """
      SELECT $1::bigint, $2::text, $3::bytea, $4::bigint[] = ARRAY[-1, NULL, 9]::bigint[],
        $5::text[] = ARRAY['a', NULL]::text[], array_length($6::bytea[], 1)::bigint,
        octet_length(($6::bytea[])[1])::bigint, $7::bigint[] = '{}'::bigint[], $8::text
      """)
    let parameters = PostgresParameters().bind(Int64.min).bind("é\u{1}")
      .bind([0, 255, 7] as [UInt8]).bind([-1, nil, 9] as [Int64?]).bind(["a", nil] as [String?])
      .bind([[], [1]] as [[UInt8]]).bind([] as [Int64]).bind(nil as String?)
    for _ in 0..<2 {
      let rows = try perform(connection) { () throws(PostgresFault) in
        try connection.run(statement, parameters)
      }
      let row = rows[0]
      #expect(row.integer(0) == .min && row.text(1) == "é\u{1}" && row.bytes(2) == [0, 255, 7])
      #expect(row.bool(3) && row.bool(4) && row.integer(5) == 2 && row.integer(6) == 0)
      #expect(row.bool(7) && row.isNull(8))
    }
  }

  @Test func aRefusalNamesTheStatementAndTheSessionContinues() throws {
    let database = try TestDatabase()
    let connection = PostgresConnection(database.address)
    let fault = try perform(connection) { () throws(PostgresFault) -> PostgresFault? in
      var pipeline = PostgresPipeline()
      pipeline.add(.begin)
      pipeline.add(PostgresStatement("half", "SELECT 1 / $1::bigint"), .init().bind(Int64(0)))
      pipeline.add(PostgresStatement("never", "SELECT 1"))
      let commit = pipeline.add(.commit)
      do throws(PostgresFault) {
        _ = try connection.run(pipeline, commit: commit)
        return nil
      } catch {
        return error
      }
    }
    #expect(fault?.cause == .refused(state: "22012") && fault?.step == 1)
    #expect(fault?.isUnknown == false && fault?.mayRepeat == false)
    #expect(connection.isInTransaction)
    #expect(throws: StorageError.self) {
      try perform(connection) { () throws(PostgresFault) in
        try connection.run(PostgresStatement("", "SELECT 1 / 0"))
      }
    }
    #expect(!connection.isInTransaction)
    let one = try perform(connection) { () throws(PostgresFault) in
      try connection.run(PostgresStatement("never", "SELECT 1")).count
    }
    #expect(one == 1)
  }

  @Test func anAnswerThatDoesNotComeIsGivenUp() throws {
    let database = try TestDatabase()
    let connection = PostgresConnection(database.address)
    let sleep = PostgresStatement("", "SELECT pg_sleep(60)")
    let error = #expect(throws: StorageError.self) {
      try perform(connection) { () throws(PostgresFault) in
        try connection.run(sleep, within: 50)
      }
    }
    guard case .unavailable = error else {
      Issue.record("reported as \(String(describing: error))")
      return
    }
    #expect(!connection.isOpen)
  }

  @Test func aCommitThatWasCutOffIsUnknown() throws {
    let database = try TestDatabase()
    let connection = PostgresConnection(database.address)
    try perform(connection) { () throws(PostgresFault) in _ = try connection.run(.begin) }
    try database.endSessions()
    var pipeline = PostgresPipeline()
    let commit = pipeline.add(.commit)
    let fault = #expect(throws: PostgresFault.self) {
      try connection.run(pipeline, commit: commit)
    }
    #expect(fault?.isUnknown == true && fault?.mayRepeat == false)
  }

  @Test func aSessionIsSetUpForDurabilityAndBounds() throws {
    let database = try TestDatabase()
    try database.run("ALTER ROLE CURRENT_USER SET synchronous_commit = local")
    let connection = PostgresConnection(database.address)
    let row = try perform(connection) { () throws(PostgresFault) in
      try connection.run(
        PostgresStatement(
          "",
          """
          SELECT current_setting('synchronous_commit'), current_setting('statement_timeout'),
            current_setting('lock_timeout'), current_setting('client_encoding')
          """))
    }[0]
    try database.run("ALTER ROLE CURRENT_USER RESET synchronous_commit")
    #expect(row.text(0) == "on" && row.text(1) == "20s" && row.text(2) == "3s")
    #expect(row.text(3) == "UTF8" && connection.schema == database.schema)
  }

  @Test func theSecondHostIsTakenWhereTheFirstIsNotThere() throws {
    let database = try TestDatabase()
    guard let host = database.address["host"] else { return }
    let both = database.address.setting("host", to: "/nowhere,\(host)")
      .setting("port", to: database.address["port"].map { "1,\($0)" } ?? "")
    let connection = PostgresConnection(both)
    try perform(connection) { () throws(PostgresFault) in }
    #expect(connection.isOpen)
  }

  @Test func aServerThatIsNotThereIsUnavailable() throws {
    let address = try PostgresAddress("postgres://ada@/relay?host=%2Fnowhere")
    let error = #expect(throws: StorageError.self) { try PostgresZoneStore(address) }
    guard case .unavailable(let path, _) = error else {
      Issue.record("reported as \(String(describing: error))")
      return
    }
    #expect(path == "postgres://ada@/relay")
  }

  @Test func aDatabaseThatIsNotThereIsNamed() throws {
    let database = try TestDatabase()
    let other = database.address.setting("dbname", to: "no_such_database")
    let error = #expect(throws: StorageError.self) { try PostgresZoneStore(other) }
    #expect(error?.description.contains("createdb") == true)
  }
}
