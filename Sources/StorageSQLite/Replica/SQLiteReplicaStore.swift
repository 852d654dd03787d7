import LockstepModel
import LockstepStorage
import LockstepStorageFiles

/// A device's store in one SQLite database of its home. Every `write` is one transaction, durable
/// when it returns: data that was shown on a screen survives a crash.
///
/// A home belongs to one process at a time. The opener of this store must already hold the home's
/// lock (`DirectoryLock`).
package final class SQLiteReplicaStore: ReplicaStore {
  let connection: SQLiteConnection
  package let incarnation: String?
  private let outboxTable: OutboxTable
  private let recordTable: HeldRecordTable
  private let chunkTable: ChunkTable
  private let selectIdentity: SQLiteStatement
  private let putIdentity: SQLiteStatement
  private let deleteIdentity: SQLiteStatement
  private let selectCursor: SQLiteStatement
  private let putCursor: SQLiteStatement
  private let deleteCursor: SQLiteStatement
  private let selectNote: SQLiteStatement
  private let putNote: SQLiteStatement
  private let deleteNote: SQLiteStatement

  /// Opens the store in the existing directory `home`. Creates it if it does not exist, readable by
  /// its owner only.
  ///
  /// Throws `tooNew`, `corrupt`, `readOnly`, `diskFull` or `failed` as their names say.
  package convenience init(home: String) throws(StorageError) { try self.init(home, .writer) }

  /// Opens the store read-only, concurrently with the process that holds the home. Writes fail.
  package convenience init(reading home: String) throws(StorageError) {
    try self.init(home, .reader)
  }

  private init(_ home: String, _ role: SQLiteConnection.Role) throws(StorageError) {
    let path = home + "/replica.sqlite"
    connection = try SQLiteConnection(path: path, role: role, schema: .replica)
    incarnation = FileIncarnation.text(of: path)
    outboxTable = try OutboxTable(connection)
    chunkTable = try ChunkTable(connection)
    recordTable = try HeldRecordTable(connection, chunkTable)
    selectIdentity = try connection.prepare(
      "SELECT relay, account, device, token, device_name, scope FROM identity")
    putIdentity = try connection.prepare(
      "INSERT OR REPLACE INTO identity VALUES (1, ?, ?, ?, ?, ?, ?)")
    deleteIdentity = try connection.prepare("DELETE FROM identity")
    selectCursor = try connection.prepare("SELECT cursor FROM place")
    putCursor = try connection.prepare("INSERT OR REPLACE INTO place VALUES (1, ?)")
    deleteCursor = try connection.prepare("DELETE FROM place")
    selectNote = try connection.prepare("SELECT value FROM notes WHERE key = ?")
    putNote = try connection.prepare("INSERT OR REPLACE INTO notes VALUES (?, ?)")
    deleteNote = try connection.prepare("DELETE FROM notes WHERE key = ?")
  }

  deinit { close() }

  /// Moves the log into the database and closes the files. Later requests fail.
  package func close() { connection.close() }

  /// Runs `body` on one view of the store, unaffected by writes of another process.
  package func onOneView<Value>(
    _ body: () throws(StorageError) -> Value
  ) throws(StorageError) -> Value {
    try connection.read(body)
  }

  package func identity() throws(StorageError) -> HomeIdentity? {
    try selectIdentity.first { (row) throws(StorageError) in
      let scope = row.isNull(5) ? nil : row.text(5)
      guard let scope = DeviceScope(storedText: scope) else {
        // A device that took it for the whole account would show and send what it must not.
        throw connection.corruption("the scope of the home's device has an invalid format")
      }
      return HomeIdentity(
        relay: row.text(0),
        credentials: Credentials(
          account: AccountID(rawValue: row.bits(1)), device: DeviceID(rawValue: row.bits(2)),
          token: row.text(3), scope: scope),
        deviceName: row.text(4))
    }
  }

  package func record(_ key: RecordKey) throws(StorageError) -> Record? {
    try recordTable.record(key)
  }

  package func records(zone: Name, type: Name?) throws(StorageError) -> [Record] {
    try recordTable.records(zone: zone, type: type)
  }

  package func ancestors(_ key: RecordKey) throws(StorageError) -> [VersionFingerprint] {
    try recordTable.ancestors(key)
  }

  package func version(_ key: RecordKey) throws(StorageError) -> RecordVersion? {
    try recordTable.version(key)
  }

  package func allRecords() throws(StorageError) -> [Record] { try recordTable.all() }

  package func unnamed(bySnapshot number: Int64) throws(StorageError) -> [UnnamedRecord] {
    try recordTable.unnamed(bySnapshot: number)
  }

  package func lostRecords(limit: Int, bytes: Int) throws(StorageError) -> [Record] {
    try recordTable.lost(limit: limit, bytes: bytes)
  }

  package func records(after key: RecordKey?, limit: Int) throws(StorageError) -> [Record] {
    try recordTable.records(after: key, limit: limit)
  }

  package func isLost(_ key: RecordKey) throws(StorageError) -> Bool { try recordTable.isLost(key) }

  package func greatestTag() throws(StorageError) -> ChangeTag { try recordTable.greatestTag() }

  package func tags(after tag: ChangeTag) throws(StorageError) -> [ChangeTag] {
    try recordTable.tags(after: tag)
  }

  package func chunks(_ hashes: [ChunkHash]) throws(StorageError) -> [HeldChunk] {
    try chunkTable.chunks(hashes)
  }

  package func chunks(after hash: ChunkHash?, limit: Int) throws(StorageError) -> [HeldChunk] {
    try chunkTable.chunks(after: hash, limit: limit)
  }

  package func namedChunks(_ hashes: [ChunkHash]) throws(StorageError) -> [ChunkHash] {
    try chunkTable.named(hashes)
  }

  package func chunkFiles(_ numbers: [UInt64]) throws(StorageError) -> [UInt64] {
    try chunkTable.files(numbers)
  }

  package func cursor() throws(StorageError) -> ChangeToken? {
    guard let text = try selectCursor.first({ $0.text(0) }) else { return nil }
    guard let token = ChangeToken(text: text) else {
      throw connection.corruption("the cursor is not a change token")
    }
    return token
  }

  package func outbox() throws(StorageError) -> [OutboxEntry] { try outboxTable.entries() }

  package func value(_ key: String) throws(StorageError) -> String? {
    try selectNote.bind(key).first { $0.text(0) }
  }

  package func write(_ changes: [ReplicaChange]) throws(StorageError) {
    if changes.isEmpty { return }
    // A device writes so little that it may checkpoint its log here, at long intervals. This comes
    // before the write, so that a call that throws has written nothing.
    if connection.waitingPages >= Limits.replicaLogPages { try connection.checkpoint(waits: false) }
    try connection.write { () throws(StorageError) in
      for change in changes { try perform(change) }
    }
  }

  /// Makes the log's file longer than its content, for the next commits. They then write over
  /// blocks that the file has, and their syncs need no change of its size: on ext4, such a sync
  /// takes less than half of the time. To be called in pauses.
  package func reserveLog() { connection.reserveLog(bytes: Limits.replicaLogReserveBytes) }

  private func perform(_ change: ReplicaChange) throws(StorageError) {
    switch change {
    case .setIdentity(nil): try deleteIdentity.run()
    case .setIdentity(let identity?):
      let credentials = identity.credentials
      try putIdentity.bind(identity.relay).bind(credentials.account.rawValue)
        .bind(credentials.device.rawValue).bind(credentials.token).bind(identity.deviceName)
        .bind(credentials.scope.storedText).run()
    case .putRecord(let record, let snapshot, let replaced, let version):
      try recordTable.put(record, snapshot: snapshot, replacing: replaced, version)
    case .markInSnapshot(let key, let snapshot):
      try recordTable.markInSnapshot(key, snapshot: snapshot)
    case .markLost(let key): try recordTable.markLost(key)
    case .removeRecord(let key): try recordTable.remove(key)
    case .removeRecords(let keys): for key in keys { try recordTable.remove(key) }
    case .setCursor(nil): try deleteCursor.run()
    case .setCursor(let token?): try putCursor.bind(token.text).run()
    case .putEntry(let entry): try outboxTable.put(entry)
    case .removeEntry(let number): try outboxTable.remove(number)
    case .setValue(let key, nil): try deleteNote.bind(key).run()
    case .setValue(let key, let value?): try putNote.bind(key).bind(value).run()
    case .putChunk(let chunk): try chunkTable.put(chunk)
    case .removeChunk(let hash): try chunkTable.remove(hash)
    }
  }
}

/// Integrity check of a home's database.
extension SQLiteReplicaStore {
  /// Returns the schema version.
  package func schema() throws(StorageError) -> Int {
    Int(clamping: try connection.firstInteger(of: "PRAGMA user_version"))
  }

  /// Returns the errors that SQLite's integrity check finds, one per line; at most `limit`. Reads
  /// the whole file.
  package func integrityErrors(limit: Int) throws(StorageError) -> [String] {
    try connection.integrityErrors(limit: limit)
  }
}
