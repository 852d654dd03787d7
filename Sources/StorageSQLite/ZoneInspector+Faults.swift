import LockstepModel
import LockstepStorage

/// Checks of the database: SQLite's integrity check, the tables, and their content.
extension ZoneInspector {
  /// Returns all faults, up to a limit for each kind, as of one moment. Returns nil if `goesOn`,
  /// called repeatedly, returned false.
  package func faults(goesOn: () -> Bool) throws(StorageError) -> [StoreFault]? {
    try connection.interruptibly(goesOn) { () throws(StorageError) in
      try connection.read { () throws(StorageError) in
        let damages = try connection.damages(limit: Limits.shownFaults)
        // Further checks of a damaged database are not reliable.
        guard damages.isEmpty else {
          return damages.map { StoreFault("databaseDamaged", nil, $0) }
        }
        let differences = try schemaFaults()
        guard differences.isEmpty, schema > 0 else { return differences }
        return try tableFaults() + contentFaults()
      }
    }
  }

  // MARK: tables

  /// Compares the tables and indexes with those of a new database of the same version.
  private func schemaFaults() throws(StorageError) -> [StoreFault] {
    if schema == 0 { return [] }
    let usual = Schema(
      applicationID: Schema.zones.applicationID, steps: Array(Schema.zones.steps.prefix(schema)))
    let model = try SQLiteConnection(path: ":memory:", role: .model, schema: usual)
    defer { model.close() }
    let (wanted, found) = (try shape(of: model), try shape(of: connection))
    let faults =
      wanted.filter { !found.contains($0) }.map { "it lacks \($0)" }
      + found.filter { !wanted.contains($0) }.map { "it has \($0), which no version has" }
    return faults.prefix(Limits.shownFaults).map { StoreFault("schemaDiffers", nil, $0) }
  }

  private func shape(of connection: SQLiteConnection) throws(StorageError) -> [String] {
    let columns = try connection.prepare(
      """
      SELECT 'the column ' || s.name || '.' || c.name || ' ' || c.type
        || iif(c."notnull", ' NOT NULL', '') || iif(c.pk, ' as key ' || c.pk, '')
      FROM sqlite_schema s, pragma_table_info(s.name) c
      WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_stat%'
      UNION ALL
      SELECT 'the index ' || s.name || ' with ' || coalesce(c.name, '?')
      FROM sqlite_schema s, pragma_index_info(s.name) c WHERE s.type = 'index'
      UNION ALL
      SELECT 'the ' || type || ' ' || name FROM sqlite_schema
      WHERE type NOT IN ('table', 'index')
      """)
    return try columns.all { $0.text(0) }
  }

  // MARK: rows

  private struct Rule {
    var code: String
    /// Version of the first store that keeps the rule.
    var since = 1
    /// Query that returns the account and the message of each fault.
    var query: String
  }

  private static let owned = [
    (1, ["devices", "pairings", "records", "batches"]),
    (2, ["lineage", "subscriptions", "zones", "chunks"]),
    (3, ["gaps"]),
  ].flatMap { since, tables in
    tables.map { table in
      Rule(
        code: "noAccount", since: since,
        query: """
          SELECT account, count(*) || ' rows of \(table) belong to no account' FROM \(table)
          WHERE account NOT IN (SELECT account FROM accounts) GROUP BY account
          """)
    }
  }

  private static let rules = [
    Rule(
      code: "tagRepeated",
      query: """
        SELECT account, 'the tag ' || tag || ' stands at ' || count(*) || ' records'
        FROM records GROUP BY account, tag HAVING count(*) > 1
        """),
    Rule(
      code: "tagBeyondNewest",
      query: """
        SELECT account, zone || '/' || name || ' has the tag ' || tag
          || ', and the account''s newest is ' || newest
        FROM records JOIN accounts USING (account) WHERE tag NOT BETWEEN 1 AND newest
        """),
    Rule(
      code: "tokenHash",
      query: """
        SELECT account, 'the token''s hash of the device ' || device_name || ' has '
          || length(token_hash) || ' bytes and not 32'
        FROM devices WHERE length(token_hash) <> 32
        """),
    Rule(
      code: "codeHash",
      query: """
        SELECT account, 'a pairing code''s hash has ' || length(code_hash) || ' bytes and not 32'
        FROM pairings WHERE length(code_hash) <> 32
        """),
    Rule(
      code: "batchDigest",
      query: """
        SELECT account, 'the digest of batch ' || number || ' has ' || length(digest)
          || ' bytes and not 32'
        FROM batches WHERE length(digest) <> 32
        """),
    Rule(
      code: "forgottenBeyondNewest", since: 2,
      query: """
        SELECT account, 'deletions up to ' || forgotten || ' are forgotten, and the newest tag is '
          || newest
        FROM accounts WHERE forgotten > newest
        """),
    Rule(
      code: "tagInGap", since: 3,
      query: """
        SELECT account, zone || '/' || name || ' has the tag ' || tag
          || ', and none from ' || (after_tag + 1) || ' to ' || through_tag || ' was given'
        FROM gaps JOIN records USING (account) WHERE tag > after_tag AND tag <= through_tag
        """),
    Rule(
      code: "liveCount", since: 2,
      query: """
        SELECT account, 'the zone ' || zone || ' has ' || sum(held) || ' records and counts '
          || sum(told)
        FROM (
          SELECT account, zone, count(*) AS held, 0 AS told FROM records
            WHERE fields IS NOT NULL GROUP BY account, zone
          UNION ALL SELECT account, zone, 0, live FROM zones)
        GROUP BY account, zone HAVING sum(held) <> sum(told)
        """),
    Rule(
      code: "pieceBytes", since: 2,
      query: """
        SELECT account, 'its pieces have ' || coalesce(sum(bytes), 0) || ' bytes and count '
          || chunk_bytes
        FROM accounts LEFT JOIN chunks USING (account)
        GROUP BY account HAVING coalesce(sum(bytes), 0) <> chunk_bytes
        """),
    Rule(
      code: "recordUse", since: 3,
      query: """
        SELECT account, 'its records and batches come to ' || bytes || ' bytes, ' || records
          || ' records and ' || batches || ' batches, and it counts ' || record_bytes || ', '
          || record_count || ' and ' || batch_count
        FROM (
          SELECT account, sum(bytes) AS bytes, sum(records) AS records, sum(batches) AS batches
          FROM (
            SELECT account, \(RecordRow.storedBytes) AS bytes, 1 AS records, 0 AS batches
              FROM records
            UNION ALL SELECT account, \(Limits.rowBytes) + coalesce(length(words), 0), 0, 1
              FROM batches
            UNION ALL SELECT account, 0, 0, 0 FROM accounts)
          GROUP BY account)
        JOIN accounts USING (account)
        WHERE bytes <> record_bytes OR records <> record_count OR batches <> batch_count
        """),
    Rule(
      code: "pieceHash", since: 2,
      query: """
        SELECT account, 'a piece''s hash has ' || length(hash) || ' bytes and not 32'
        FROM chunks WHERE length(hash) <> 32
        """),
    Rule(
      code: "pieceFile", since: 2,
      query: """
        SELECT account, count(*) || ' pieces stand in the file ' || printf('%016x', file)
        FROM chunks GROUP BY account, file HAVING count(*) > 1
        """),
  ]

  private func tableFaults() throws(StorageError) -> [StoreFault] {
    var faults: [StoreFault] = []
    for rule in ZoneInspector.owned + ZoneInspector.rules where rule.since <= schema {
      let query = try connection.prepare("\(rule.query) LIMIT \(Limits.shownFaults)")
      faults += try query.all {
        StoreFault(rule.code, AccountID(rawValue: $0.bits(0)), $0.text(1))
      }
    }
    return faults
  }
}
