import LockstepJSON
import LockstepModel
import LockstepStorage

/// A fault in a relay's store.
package struct StoreFault: Hashable, Sendable {
  /// Stable identifier of the kind of fault.
  package var code: String
  /// Account that the fault belongs to; nil if it belongs to no single account.
  package var account: AccountID?
  package var detail: String

  package init(_ code: String, _ account: AccountID?, _ detail: String) {
    self.code = code
    self.account = account
    self.detail = detail
  }
}

/// Counts of a relay's database.
package struct StoreCounts: Hashable, Sendable {
  package var schema = 0
  package var accounts = 0
  package var devices = 0
  /// Number of records, without deleted ones.
  package var records = 0
  package var chunks = 0
  package var chunkBytes: Int64 = 0
  /// Bytes of the database, without its log.
  package var databaseBytes: Int64 = 0

  package init(schema: Int = 0) { self.schema = schema }
}

/// A chunk of a file, as stored in a relay's database.
package struct ExportedChunkContent: Hashable, Sendable {
  package var hash: ChunkHash
  package var file: ChunkFile
  package var bytes: Int
  /// True if a record names the chunk.
  package var isNamed: Bool
  /// True if an older copy of the store was put back since the chunk arrived: its file may be
  /// missing.
  package var isUnverified: Bool
}

/// Reads a relay's database, which other processes may have open, and changes nothing. Supports
/// stores of every version up to the newest.
package final class ZoneInspector {
  let connection: SQLiteConnection
  package let schema: Int
  private let directory: String
  /// nil if the store is of version 1, which had no files.
  private let chunkQueries: ChunkOwnershipQueries?

  private struct ChunkOwnershipQueries {
    let page, ownership, file: SQLiteStatement
  }

  /// Throws `tooNew`, `corrupt` or `failed` as their names say.
  package init(directory: String) throws(StorageError) {
    try SQLiteZoneStore.requireComplete(of: directory)
    self.directory = directory
    let path = SQLiteZoneStore.path(in: directory)
    connection = try SQLiteConnection(path: path, role: .reader, schema: .zones)
    schema = Int(clamping: try connection.firstInteger(of: "PRAGMA user_version"))
    guard schema >= 2 else {
      chunkQueries = nil
      return
    }
    chunkQueries = ChunkOwnershipQueries(
      page: try connection.prepare(
        """
        SELECT account, hash, file, bytes, uses, doubtful FROM chunks
        WHERE (account, hash) > (?, ?) ORDER BY account, hash LIMIT ?
        """),
      ownership: try connection.prepare(
        "SELECT 1 FROM chunks WHERE account = ? AND hash = ? AND file = ?"),
      file: try connection.prepare("SELECT 1 FROM chunks WHERE account = ? AND file = ?"))
  }

  deinit { close() }

  package func close() { connection.close() }

  package func counts() throws(StorageError) -> StoreCounts {
    try connection.read { () throws(StorageError) in
      var counts = StoreCounts(schema: schema)
      counts.databaseBytes =
        try connection.firstInteger(of: "PRAGMA page_count")
        * connection.firstInteger(of: "PRAGMA page_size")
      guard schema > 0 else { return counts }
      counts.accounts = Int(try connection.firstInteger(of: "SELECT count(*) FROM accounts"))
      counts.devices = Int(try connection.firstInteger(of: "SELECT count(*) FROM devices"))
      counts.records = Int(
        try connection.firstInteger(of: "SELECT count(*) FROM records WHERE fields IS NOT NULL"))
      guard chunkQueries != nil else { return counts }
      counts.chunks = Int(try connection.firstInteger(of: "SELECT count(*) FROM chunks"))
      counts.chunkBytes = try connection.firstInteger(of: "SELECT sum(bytes) FROM chunks")
      return counts
    }
  }

  /// Counts the accounts whose devices the store sends to another relay.
  package func departedAccounts() throws(StorageError) -> Int {
    guard schema >= Schema.zonesWithMoves else { return 0 }
    return Int(try connection.firstInteger(of: "SELECT count(*) FROM departed"))
  }

  // MARK: chunks

  /// Returns at most `limit` chunks after `last`, in order.
  package func chunks(after last: ExportedChunkContent?, limit: Int) throws(StorageError)
    -> [ExportedChunkContent]
  {
    guard let page = chunkQueries?.page else { return [] }
    let account = last.map { Int64(bitPattern: $0.file.account.rawValue) } ?? .min
    return try page.bind(account).bind(last?.hash.bytes ?? []).bind(Int64(limit))
      .all { row throws(StorageError) in
        guard let hash = ChunkHash(bytes: row.bytes(1)) else {
          throw row.corruption("a chunk's hash does not have 32 bytes")
        }
        return ExportedChunkContent(
          hash: hash,
          file: ChunkFile(account: AccountID(rawValue: row.bits(0)), number: row.bits(2)),
          bytes: Int(clamping: row.integer(3)), isNamed: row.integer(4) > 0,
          isUnverified: row.integer(5) != 0)
      }
  }

  /// True if the chunk is still stored in its file.
  package func has(_ chunk: ExportedChunkContent) throws(StorageError) -> Bool {
    guard let ownership = chunkQueries?.ownership else { return false }
    return try ownership.bind(chunk.file.account.rawValue).bind(chunk.hash).bind(chunk.file.number)
      .first { _ in true } ?? false
  }

  /// True if the file holds a chunk.
  package func hasChunk(in file: ChunkFile) throws(StorageError) -> Bool {
    guard let statement = chunkQueries?.file else { return false }
    return try statement.bind(file.account.rawValue).bind(file.number).first { _ in true } ?? false
  }

  // MARK: copying

  /// Copies a consistent state of the store to a new database in `folder`: it contains all that was
  /// acknowledged before, also what only the commit log holds. Returns false if
  /// `shouldContinue` returned false; it is called repeatedly with the number of pages copied and
  /// the total.
  package func copy(
    to folder: String, shouldContinue: (_ pages: Int, _ of: Int) -> Bool
  ) throws(StorageError) -> Bool {
    let path = SQLiteZoneStore.path(in: folder)
    // Read before the database, which then contains all that comes before the log's blocks.
    let log = try commitLog()
    guard try connection.copy(to: path, shouldContinue: shouldContinue) else { return false }
    if log.isEmpty { return true }
    let copy = try SQLiteConnection(path: path, role: .copy, schema: .zones)
    defer { copy.close() }
    _ = try CommitLogRecovery.run(log, on: copy)
    return true
  }

  /// Turns a copy in `folder` into a backup: one durable file that any store treats as an older
  /// copy after a restore. `lacking`: chunks whose files are not complete; the relay requests
  /// them from devices that hold them.
  package static func finishCopy(
    in folder: String, opening: UInt64, lacking: [ExportedChunkContent]
  ) throws(StorageError) {
    let path = SQLiteZoneStore.path(in: folder)
    let copy = try SQLiteConnection(path: path, role: .copy, schema: .zones)
    defer { copy.close() }
    guard try copy.firstInteger(of: "PRAGMA user_version") >= 2 else { return }
    let put = try copy.prepare("INSERT OR REPLACE INTO opening (one, number) VALUES (1, ?)")
    let markUnverified = try copy.prepare(
      "UPDATE chunks SET doubtful = 1 WHERE account = ? AND hash = ?")
    try copy.write { () throws(StorageError) in
      try put.bind(opening).run()
      for chunk in lacking {
        try markUnverified.bind(chunk.file.account.rawValue).bind(chunk.hash).run()
      }
    }
  }
}

/// Checks that SQL cannot do: names, fields, plans, subscriptions, registrations for wakes and
/// scopes are readable, and the use count of each chunk is correct.
extension ZoneInspector {
  func contentFaults() throws(StorageError) -> [StoreFault] {
    var faults = try recordFaults()
    guard schema >= 2 else { return faults }
    let plans = try connection.prepare("SELECT account, plan FROM accounts WHERE plan IS NOT NULL")
    faults += try plans.all { row -> StoreFault? in
      guard Plan(storedText: row.text(1)) == nil else { return nil }
      return StoreFault("plan", AccountID(rawValue: row.bits(0)), "its plan cannot be read")
    }.compactMap(\.self)
    let subscriptions = try connection.prepare("SELECT account, id, content FROM subscriptions")
    faults += try subscriptions.all { row -> StoreFault? in
      if let id = Name(row.text(1)), Subscription(id: id, storedText: row.text(2)) != nil {
        return nil
      }
      return StoreFault(
        "subscription", AccountID(rawValue: row.bits(0)),
        "the subscription \(row.text(1)) cannot be read")
    }.compactMap(\.self)
    return try faults + wakeFaults() + scopeFaults()
  }

  /// A device whose scope cannot be read can do nothing, and neither can one that joins with such a
  /// code.
  private func scopeFaults() throws(StorageError) -> [StoreFault] {
    guard schema >= Schema.scopesVersion else { return [] }
    let devices = try connection.prepare(
      "SELECT account, device_name, scope FROM devices WHERE scope IS NOT NULL")
    let faults = try devices.all { row -> StoreFault? in
      guard DeviceScope(storedText: row.text(2)) == nil else { return nil }
      return StoreFault(
        "scope", AccountID(rawValue: row.bits(0)),
        "the scope of the device \(row.text(1)) cannot be read; revoke the device and pair it anew")
    }.compactMap(\.self)
    let codes = try connection.prepare(
      "SELECT account, scope FROM pairings WHERE scope IS NOT NULL")
    return try faults
      + codes.all { row -> StoreFault? in
        guard DeviceScope(storedText: row.text(1)) == nil else { return nil }
        return StoreFault(
          "scope", AccountID(rawValue: row.bits(0)),
          "the scope of a pairing code cannot be read; make a new code")
      }.compactMap(\.self)
  }

  private func wakeFaults() throws(StorageError) -> [StoreFault] {
    guard schema >= Schema.wakesVersion else { return [] }
    let wakes = try connection.prepare("SELECT account, device, content FROM wakes")
    let faults = try wakes.all { row -> StoreFault? in
      if let wakes = DeviceWakes(storedText: row.text(2)), !wakes.isEmpty { return nil }
      return StoreFault(
        "wakes", AccountID(rawValue: row.bits(0)),
        "the registrations for wakes of the device \(DeviceID(rawValue: row.bits(1)).text) cannot "
          + "be read")
    }.compactMap(\.self)
    let keys = try connection.prepare("SELECT made_at, length(private_key) FROM wake_keys")
    return try faults
      + keys.all { row -> StoreFault? in
        guard row.integer(1) != 32 else { return nil }
        return StoreFault(
          "wakeKey", nil,
          "the key for push services of \(row.integer(0)) has \(row.integer(1)) bytes and not 32")
      }.compactMap(\.self)
  }

  // MARK: records

  /// Findings, collected for one account after the other.
  private struct RecordScan {
    var account: UInt64?
    /// Number of records of the account that name each chunk.
    var uses: [ChunkHash: Int] = [:]
    var faults: [StoreFault] = []

    mutating func addFault(_ code: String, _ detail: String) {
      guard faults.count < Limits.shownFaults else { return }
      faults.append(StoreFault(code, account.map(AccountID.init(rawValue:)), detail))
    }
  }

  private func recordFaults() throws(StorageError) -> [StoreFault] {
    let records = try connection.prepare(
      """
      SELECT account, zone, name, type, fields, \(schema >= 2 ? "chunks" : "NULL") FROM records
      ORDER BY account
      """)
    let counted =
      try schema >= 2
      ? connection.prepare("SELECT hash, uses FROM chunks WHERE account = ? ORDER BY hash") : nil
    var scan = RecordScan()
    defer { records.reset() }
    while try records.step() {
      if scan.account != records.bits(0) {
        try compareUses(&scan, with: counted)
        scan.account = records.bits(0)
      }
      checkRow(records, &scan)
    }
    try compareUses(&scan, with: counted)
    return scan.faults
  }

  private func checkRow(_ row: SQLiteStatement, _ scan: inout RecordScan) {
    let names = [row.text(1), row.text(2), row.text(3)]
    if !names.allSatisfy(Name.isValid) {
      scan.addFault("name", "a record has an invalid name or type: \(names)")
    }
    if !row.isNull(4), !ZoneInspector.isObject(row.bytes(4)) {
      scan.addFault("fields", "\(names[0])/\(names[1]) has fields that are not a JSON object")
    }
    guard let hashes = row.chunks(5) else {
      return scan.addFault(
        "pieceList", "the list of chunks of \(names[0])/\(names[1]) is truncated")
    }
    for hash in Set(hashes).sorted() { scan.uses[hash, default: 0] += 1 }
  }

  /// Not checked: the use counts of chunks in accounts without records.
  private func compareUses(
    _ scan: inout RecordScan, with counted: SQLiteStatement?
  ) throws(StorageError) {
    guard let account = scan.account, let counted else { return }
    let rows = try counted.bind(account).all { ($0.bytes(0), Int(clamping: $0.integer(1))) }
    for (bytes, uses) in rows {
      guard let hash = ChunkHash(bytes: bytes) else { continue }
      let held = scan.uses.removeValue(forKey: hash) ?? 0
      if held != uses {
        scan.addFault(
          "pieceUses", "the chunk \(hash.text) is named by \(held) records, but counts \(uses)")
      }
    }
    for hash in scan.uses.keys.sorted() {
      scan.addFault(
        "pieceUnknown", "a record names the chunk \(hash.text), which the account lacks")
    }
    scan.uses = [:]
  }

  private static func isObject(_ bytes: [UInt8]) -> Bool {
    var scanner = JSONScanner(bytes.span.bytes)
    do throws(JSONFault) {
      guard try scanner.kind() == .object else { return false }
      _ = try scanner.skipValue()
      try scanner.finish()
      return true
    } catch {
      return false
    }
  }
}

/// Checks of the database: SQLite's integrity check, the tables, and their content.
extension ZoneInspector {
  /// Returns all faults, up to a limit for each kind, as of one moment. Returns nil if
  /// `shouldContinue`, called repeatedly, returned false.
  package func faults(shouldContinue: () -> Bool) throws(StorageError) -> [StoreFault]? {
    // Read before the database, which then contains all that comes before the log's blocks.
    let log = try commitLog()
    return try connection.interruptibly(shouldContinue) { () throws(StorageError) in
      try connection.read { () throws(StorageError) in
        let errors = try connection.integrityErrors(limit: Limits.shownFaults)
        // Further checks of a damaged database are not reliable.
        guard errors.isEmpty else {
          return errors.map { StoreFault("databaseDamaged", nil, $0) }
        }
        let differences = try schemaFaults()
        guard differences.isEmpty, schema > 0 else { return differences }
        return try logFaults(log) + tableFaults() + contentFaults()
      }
    }
  }

  /// Returns the content of the store's commit log; empty if its version has none.
  private func commitLog() throws(StorageError) -> [UInt8] {
    schema >= Schema.commitLogVersion ? try CommitLogFile.content(in: directory) : []
  }

  private func logFaults(_ log: [UInt8]) throws(StorageError) -> [StoreFault] {
    if log.isEmpty { return [] }
    let missing = try CommitLogRecovery.missingBlocks(of: log, connection)
    guard missing.hasGap else { return [] }
    return [
      StoreFault(
        "databaseOlder", nil,
        "the commit log continues a newer state: an older copy of the database was put back; a "
          + "relay begins a new history, and devices save again what is lost")
    ]
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

  /// Rules for rows of accounts. The rest of an account that has moved away is removed in portions.
  private static func owned(_ schema: Int) -> [Rule] {
    [
      (1, ["devices", "pairings", "records", "batches"]),
      (2, ["lineage", "subscriptions", "zones", "chunks"]),
      (3, ["gaps"]),
      (Schema.wakesVersion, ["wakes"]),
    ].flatMap { since, tables in
      tables.map { table in
        Rule(
          code: "noAccount", since: since,
          query: """
            SELECT account, count(*) || ' rows of \(table) belong to no account' FROM \(table)
            WHERE account NOT IN (SELECT account FROM accounts)
              \(schema < 10 ? "" : "AND account NOT IN (SELECT account FROM departed)")
            GROUP BY account
            """)
      }
    }
  }

  private static let rules = [
    Rule(
      code: "tagRepeated",
      query: """
        SELECT account, 'the tag ' || tag || ' belongs to ' || count(*) || ' records'
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
      code: "wrappedKeys", since: Schema.wrappedKeysVersion,
      query: """
        SELECT account, 'the wrapped keys of a pairing code are no Base64 for URLs of 1 to '
          || '\(Limits.wrappedKeyCharacters) characters; make a new code'
        FROM pairings WHERE length(wrapped) NOT BETWEEN 1 AND \(Limits.wrappedKeyCharacters)
          OR wrapped GLOB '*[^A-Za-z0-9_-]*'
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
          || ', but no tag from ' || (after_tag + 1) || ' to ' || through_tag || ' was issued'
        FROM gaps JOIN records USING (account) WHERE tag > after_tag AND tag <= through_tag
        """),
    Rule(
      code: "liveCount", since: 2,
      query: """
        SELECT account, 'the zone ' || zone || ' has ' || sum(held) || ' records, but counts '
          || sum(counted)
        FROM (
          SELECT account, zone, count(*) AS held, 0 AS counted FROM records
            WHERE fields IS NOT NULL GROUP BY account, zone
          UNION ALL SELECT account, zone, 0, live FROM zones)
        GROUP BY account, zone HAVING sum(held) <> sum(counted)
        """),
    Rule(
      code: "pieceBytes", since: 2,
      query: """
        SELECT account, 'its chunks have ' || coalesce(sum(bytes), 0) || ' bytes, but it counts '
          || chunk_bytes
        FROM accounts LEFT JOIN chunks USING (account)
        GROUP BY account HAVING coalesce(sum(bytes), 0) <> chunk_bytes
        """),
    Rule(
      code: "wakesDevice", since: Schema.wakesVersion,
      query: """
        SELECT account, 'registrations for wakes belong to no device: ' || printf('%016x', device)
        FROM wakes LEFT JOIN devices USING (account, device) WHERE devices.number IS NULL
        """),
    Rule(
      code: "recordUse", since: 3,
      query: """
        SELECT account, 'its records and batches come to ' || bytes || ' bytes, ' || records
          || ' records and ' || batches || ' batches, but it counts ' || record_bytes || ', '
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
        SELECT account, 'a chunk''s hash has ' || length(hash) || ' bytes and not 32'
        FROM chunks WHERE length(hash) <> 32
        """),
    Rule(
      code: "pieceFile", since: 2,
      query: """
        SELECT account, count(*) || ' chunks have the file ' || printf('%016x', file)
        FROM chunks GROUP BY account, file HAVING count(*) > 1
        """),
  ]

  private func tableFaults() throws(StorageError) -> [StoreFault] {
    var faults: [StoreFault] = []
    for rule in ZoneInspector.owned(schema) + ZoneInspector.rules where rule.since <= schema {
      let query = try connection.prepare("\(rule.query) LIMIT \(Limits.shownFaults)")
      faults += try query.all {
        StoreFault(rule.code, AccountID(rawValue: $0.bits(0)), $0.text(1))
      }
    }
    return faults
  }
}
