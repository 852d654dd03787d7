import LockstepModel
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

/// No statement scans a table to find its rows: the cost of a request must not grow with the store.
struct QueryPlanTests {
  @Test func theRelaysStatementsFindTheirRowsByAnIndex() throws {
    let directory = try TemporaryFolder()
    let connection = try SQLiteConnection(
      path: directory.path("zones.sqlite"), role: .writer, schema: .zones)
    let queries = try ZoneQueries(connection, run: 0)
    let chunks = try ChunkWriter(connection, queries: queries.chunks, rules: StoreRules())
    let records = try RecordWriter(
      connection, queries: queries, chunks: chunks, rules: StoreRules())
    let writers = (
      try AccountWriter(connection, queries: queries.accounts, rules: StoreRules(), run: 0),
      try SubscriptionWriter(connection, queries: queries.accounts),
      try WakeWriter(connection, queries: queries),
      try ZoneDeleter(
        connection, queries: queries, records: records, chunks: chunks, rules: StoreRules()),
      try Residences(
        connection, queries: queries,
        remover: try AccountRemover(
          connection, queries: queries, records: records, chunks: chunks, rules: StoreRules())),
      try HistoryPruner(connection, rules: StoreRules()),
      try StoreOpening(connection, directory: directory.path)
    )
    withExtendedLifetime(writers) {
      expectNoScans(
        connection,
        except: [
          // Runs when the relay starts, and for its metrics.
          "SELECT count(*) FROM accounts",
          // Few rows, of all accounts.
          "FROM wake_keys",
          // Ends at the first row that is not old.
          "SELECT number, made_at, account, length(words) FROM batches ORDER BY number LIMIT ?",
          // One row.
          "FROM opening",
          // An index of only these rows; and all labels, for a new one that has no key.
          "WHERE moving_until IS NOT NULL", "FROM departed WHERE cleared = 0",
          "WHERE label_key IS NULL", "SELECT account, label FROM accounts WHERE label <> ''",
        ])
    }
    #expect(connection.statements.count > 25)
  }

  @Test func aDevicesStatementsFindTheirRowsByAnIndex() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteReplicaStore(home: directory.path)
    expectNoScans(
      store.connection,
      except: [
        // One row, or all rows are requested.
        "FROM identity", "FROM place", "FROM outbox ORDER BY number",
        "FROM records ORDER BY zone, name",
        // An index of only these rows.
        "WHERE mark = -1 ORDER BY zone, name",
        // Runs once per snapshot, and once per restore.
        "WHERE mark <> ? AND mark <> -1", "SELECT max(tag) FROM records",
        "SELECT tag FROM records WHERE tag > ?",
      ])
  }

  private func expectNoScans(_ connection: SQLiteConnection, except allowed: [String]) {
    for statement in connection.statements {
      do {
        let plan = try connection.prepare("EXPLAIN QUERY PLAN " + statement.sql)
        let lines = try plan.all { $0.text(3) }
        if allowed.contains(where: { statement.sql.contains($0) }) { continue }
        // The list of a request's zones is no table.
        for line in lines where !line.hasPrefix("SCAN json_each") {
          #expect(!line.hasPrefix("SCAN"), "\(line) in \(statement.sql)")
          // An account has few devices and codes; nothing else is sorted.
          let isFew = ["FROM devices", "FROM pairings"].contains { statement.sql.contains($0) }
          #expect(isFew || !line.contains("TEMP B-TREE"), "\(line) in \(statement.sql)")
        }
      } catch {
        Issue.record("\(error): \(statement.sql)")
      }
    }
  }
}
