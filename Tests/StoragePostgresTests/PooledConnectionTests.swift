import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepStoragePostgres

/// A connection that treats the server as a pooler; the stories have a real one.
@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.need))
struct PooledConnectionTests {
  private let settings = PostgresStatement(
    "settings in force",
    "SELECT current_setting('lock_timeout'), current_setting('synchronous_commit'), "
      + "current_setting('enable_seqscan')")

  private func pooled(
    _ database: TestDatabase, prepares: Bool = false
  ) throws -> PostgresConnection {
    let connection = PostgresConnection(
      database.address.setting("prepared_statements", to: prepares ? "on" : "off"))
    try perform(connection) { () throws(PostgresFault) in
      _ = try connection.run(
        PostgresStatement(
          "",
          """
          SELECT set_config('lock_timeout', '7s', false), set_config('enable_seqscan', 'on', false),
            set_config('synchronous_commit', 'off', false)
          """))
    }
    connection.isPooled = true
    return connection
  }

  private func perform<Value>(
    _ connection: PostgresConnection, _ body: () throws(PostgresFault) -> Value
  ) throws -> Value {
    try connection.perform("test", body)
  }

  private func texts(_ rows: PostgresRows) -> [String] {
    rows.first { row in [row.text(0), row.text(1), row.text(2)] } ?? []
  }

  @Test func thePeerTellsTheServersOwnNumber() throws {
    let database = try TestDatabase()
    let connection = PostgresConnection(database.address)
    try perform(connection) { () throws(PostgresFault) in }
    #expect(!connection.isPooled)
    guard TestDatabase.isPooled else { return }
    let behind = PostgresConnection(database.storeAddress)
    try perform(behind) { () throws(PostgresFault) in }
    #expect(behind.isPooled)
    #expect(behind.schema == database.schema)
  }

  @Test func eachTransactionHasItsSettingsAndLeavesNone() throws {
    let connection = try pooled(try TestDatabase())
    let found = try perform(connection) { () throws(PostgresFault) in
      var pipeline = PostgresPipeline()
      pipeline.add(.begin)
      let step = pipeline.add(settings)
      let commit = pipeline.add(.commit)
      let inside = try connection.run(pipeline, commit: commit)[step]
      _ = try connection.run(.beginReading)
      let later = try connection.run(settings)
      _ = try connection.run(.commit)
      return [inside, later, try connection.run(settings)]
    }
    for rows in found { #expect(texts(rows) == ["3s", "on", "off"]) }
    connection.isPooled = false
    let outside = try perform(connection) { () throws(PostgresFault) in
      try connection.run(settings)
    }
    #expect(texts(outside) == ["7s", "off", "on"])
  }

  @Test(arguments: [false, true]) func answersBelongToTheirStatements(prepares: Bool) throws {
    let connection = try pooled(try TestDatabase(), prepares: prepares)
    let rows = try perform(connection) { () throws(PostgresFault) in
      var pipeline = PostgresPipeline()
      for number in 1...2 as ClosedRange<Int64> {
        pipeline.add(.begin)
        pipeline.add(PostgresStatement("number", "SELECT $1::bigint"), .init().bind(number))
        pipeline.add(.commit)
      }
      pipeline.add(PostgresStatement("prepared", "SELECT count(*) FROM pg_prepared_statements"))
      return try connection.run(pipeline)
    }
    #expect(rows.map(\.count) == [0, 1, 0, 0, 1, 0, 1])
    #expect(rows[1][0].integer(0) == 1 && rows[4][0].integer(0) == 2)
    // The one that counts is prepared, too.
    #expect((rows[6][0].integer(0) > 0) == prepares)
    let fault = try perform(connection) { () throws(PostgresFault) -> PostgresFault? in
      var pipeline = PostgresPipeline()
      pipeline.add(.begin)
      pipeline.add(PostgresStatement("half", "SELECT 1 / $1::bigint"), .init().bind(Int64(0)))
      let commit = pipeline.add(.commit)
      do throws(PostgresFault) {
        _ = try connection.run(pipeline, commit: commit)
        return nil
      } catch {
        return error
      }
    }
    #expect(fault?.cause == .refused(state: "22012") && fault?.step == 1)
  }

  @Test func aServerThatWasReplacedEndsTheSession() throws {
    let connection = try pooled(try TestDatabase())
    for begins in [true, false] {
      connection.isPooled = true
      connection.serverStartedAt += 1
      let openings = connection.openings
      var faults: [PostgresFault] = []
      try perform(connection) { () throws(PostgresFault) in
        var pipeline = PostgresPipeline()
        if begins { pipeline.add(.begin) }
        pipeline.add(settings)
        let commit = begins ? pipeline.add(.commit) : nil
        do throws(PostgresFault) {
          _ = try connection.run(pipeline, commit: commit)
        } catch {
          faults.append(error)
          throw error
        }
      }
      #expect(faults.count == 1 && faults[0].cause == .lost && !faults[0].isUnknown)
      #expect(connection.openings == openings + 1)
    }
  }

  @Test(arguments: [true, false]) func aCommitOfAPoolerThatLostTheServerIsUnknown(
    isPooled: Bool
  ) throws {
    let connection = try pooled(try TestDatabase())
    connection.isPooled = isPooled
    let fault = #expect(throws: PostgresFault.self) {
      var pipeline = PostgresPipeline()
      pipeline.add(.begin)
      pipeline.add(
        PostgresStatement(
          "", "DO $$ BEGIN RAISE EXCEPTION 'server conn crashed?' USING ERRCODE = '08P01'; END $$"))
      let commit = pipeline.add(.commit)
      _ = try connection.run(pipeline, commit: commit)
    }
    #expect(fault?.isUnknown == isPooled)
    #expect(fault?.mayRepeat == !isPooled)
    #expect(!connection.isOpen)
  }
}
