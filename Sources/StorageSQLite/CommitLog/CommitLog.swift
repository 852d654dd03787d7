import LockstepModel
import LockstepStorage
import Synchronization

/// The commit log in front of the database: a save is decided on memory, appended to a file and
/// durable with one small sync; the database takes many of them later, in one transaction.
///
///     commit ─ decide ─ append, sync ─ answer
///                │
///             buffer ─ flush ─▶ database     a full buffer, any other request, or a reader
///                                            of an account with buffered saves
///
/// Only ordinary saves go this way: accepted in full, small, without chunks of files, by an account
/// that has saved in this run. Everything else is performed in the database, after the buffered
/// saves and in the same transaction (`SQLiteZoneStore.commit`).
///
/// After a crash the store performs the saves that the database lacks when it is opened. A flush
/// writes to the database's own log and does not sync it; so saves stay in the commit log until
/// that log is synced.
///
/// The writer and readers on other threads use it: `withLock` protects everything but `pending`.
final class CommitLog: @unchecked Sendable {
  /// Accounts with buffered saves.
  private let pending = Mutex<Set<AccountID>>([])
  private let lock = Mutex(())
  private let connection: SQLiteConnection
  private let records: RecordWriter
  private let history: HistoryPruner
  private let setLogged: SQLiteStatement
  private let file: CommitLogFile
  private var buffer = SaveBuffer()
  private var observer: (@Sendable (_ nanoseconds: Int64) -> Void)?

  /// `epoch`: the store's opening number. `sequence`: that of the last block that the database
  /// contains.
  init(
    _ connection: SQLiteConnection, directory: String, records: RecordWriter,
    history: HistoryPruner, epoch: UInt64, sequence: Int64
  ) throws(StorageError) {
    self.connection = connection
    self.records = records
    self.history = history
    setLogged = try connection.prepare("UPDATE opening SET logged = ?")
    file = try CommitLogFile(directory: directory, epoch: epoch, sequence: sequence)
  }

  func observeSyncs(_ observer: @escaping @Sendable (_ nanoseconds: Int64) -> Void) {
    self.observer = observer
  }

  /// Runs `body` while no other thread uses the log or the writer's connection.
  func withLock<Value: Sendable>(
    _ body: () throws(StorageError) -> Value
  ) throws(StorageError) -> Value {
    try lock.withLock { (_) throws(StorageError) in try body() }
  }

  // MARK: Commits, on the writer's thread

  /// Performs the requests, as `ZoneStore.commit` does. `perform` performs those that are not
  /// buffered, in the database, in a transaction that this method opens.
  func commit(
    _ requests: [CommitRequest], wall: Int64,
    prepare: () throws(StorageError) -> Void,
    perform: (ArraySlice<CommitRequest>) throws(StorageError) -> [CommitResult]
  ) throws(StorageError) -> [CommitResult] {
    let (results, former) = try withLock { () throws(StorageError) in
      try prepare()
      if buffer.isFull { try flush(syncs: false) }
      let former = buffer.saves.count
      do throws(StorageError) {
        let (results, isLogged) = try decide(requests, wall: wall, perform: perform)
        return (results, isLogged ? former : nil)
      } catch {
        buffer.takeBack(to: former)
        throw error
      }
    }
    if let former { try sync(former) }
    return results
  }

  /// Returns the results, and whether they wait for a sync of the log.
  private func decide(
    _ requests: [CommitRequest], wall: Int64,
    perform: (ArraySlice<CommitRequest>) throws(StorageError) -> [CommitResult]
  ) throws(StorageError) -> (results: [CommitResult], isLogged: Bool) {
    let former = buffer.saves.count
    var results: [CommitResult] = []
    results.reserveCapacity(requests.count)
    try connection.keepReading()
    for request in requests {
      guard case .save(let commit) = request,
        let result = try records.decide(commit, after: &buffer, wall: wall)
      else { break }
      results.append(result)
    }
    let saves = buffer.saves[former...]
    if results.count < requests.count {
      let rest = requests[results.count...]
      let others = try flush(syncs: true) { () throws(StorageError) in try perform(rest) }
      return (results + others, false)
    }
    guard appendIfPossible(saves) else {
      try flush(syncs: true)
      return (results, false)
    }
    let accounts = buffer.takeNewAccounts()
    if !accounts.isEmpty { pending.withLock { $0.formUnion(accounts) } }
    return (results, true)
  }

  /// Returns false if the file has no room, or cannot be written: the database takes the saves
  /// then.
  private func appendIfPossible(_ saves: ArraySlice<LoggedSave>) -> Bool {
    do throws(StorageError) {
      return try file.append(saves)
    } catch {
      return false
    }
  }

  /// Makes the saves after `former` durable. If the file fails, in the database.
  private func sync(_ former: Int) throws(StorageError) {
    do throws(StorageError) {
      let nanoseconds = try file.sync()
      if let observer, let nanoseconds { observer(nanoseconds) }
    } catch {
      try withLock { () throws(StorageError) in
        do throws(StorageError) {
          // A reader may have flushed them, without a sync; this commit has something to write.
          try flush(syncs: true) { () throws(StorageError) in
            try setLogged.bind(file.sequence).run()
          }
        } catch {
          buffer.takeBack(to: former)
          file.removeUnsynced()
          throw error
        }
      }
    }
  }

  // MARK: The database

  /// Performs the buffered saves in the database, then `body`, in one transaction. `syncs`: the
  /// transaction is durable when this returns, with all that came before it.
  private func flush<Value>(
    syncs: Bool, then body: () throws(StorageError) -> Value
  ) throws(StorageError) -> Value {
    let value = try connection.write(syncs: syncs) { () throws(StorageError) in
      guard let last = buffer.saves.last else { return try body() }
      try records.apply(buffer.netEffect, buffer.saves)
      try setLogged.bind(file.sequence).run()
      let value = try body()
      let forgotten = buffer.saves.count * Limits.forgottenPerRequest
      try history.forgetBatches(forgotten, wall: last.wall)
      try history.forgetTombstones(forgotten, wall: last.wall)
      return value
    }
    buffer = SaveBuffer()
    pending.withLock { $0.removeAll(keepingCapacity: true) }
    if syncs { file.restart() }
    return value
  }

  private func flush(syncs: Bool) throws(StorageError) {
    try flush(syncs: syncs) { () throws(StorageError) in }
  }

  /// Performs the buffered saves in the database if there are many. For idle periods; the caller
  /// has the lock.
  func flushIfWorthwhile() throws(StorageError) {
    if buffer.isWorthFlushing { try flush(syncs: false) }
  }

  /// Performs the buffered saves in the database, and then `advance`, which makes the database
  /// durable under the opening number that it returns. The caller has the lock.
  func restart(
    after advance: () throws(StorageError) -> UInt64
  ) throws(StorageError) {
    if !buffer.isEmpty { try flush(syncs: false) }
    file.restart(epoch: try advance())
  }

  /// Removes the file. The database contains all that was in it, and is closed.
  func removeFile() { file.remove() }

  // MARK: Readers, on any thread

  /// Makes the database contain all acknowledged saves of an account.
  func flush(for account: AccountID) throws(StorageError) {
    guard pending.withLock({ $0.contains(account) }) else { return }
    try withLock { () throws(StorageError) in
      if !buffer.isEmpty { try flush(syncs: false) }
    }
  }

  /// Makes the database contain all acknowledged saves.
  func flushAll() throws(StorageError) {
    guard hasPending else { return }
    try withLock { () throws(StorageError) in
      if !buffer.isEmpty { try flush(syncs: false) }
    }
  }

  /// True if the database lacks saves of any account.
  var hasPending: Bool { pending.withLock { !$0.isEmpty } }
}

/// Performs, in the database of a store that is not open, the saves of its commit log that the
/// database lacks: those that were acknowledged before a crash.
enum CommitLogRecovery {
  /// Result of a recovery.
  struct Outcome {
    /// Sequence of the last block that the database contains now.
    var sequence: Int64
    /// True if the database is an older copy, because the log continues a newer one.
    var hasGap: Bool
  }

  /// Does this for the store in a directory that is locked. Leaves tables of another version alone.
  static func run(in directory: String) throws(StorageError) {
    let content = try CommitLogFile.content(in: directory)
    let path = SQLiteZoneStore.path(in: directory)
    guard !content.isEmpty else { return }
    let reader = try SQLiteConnection(path: path, role: .reader, schema: .zones)
    let version = try reader.firstInteger(of: "PRAGMA user_version")
    reader.close()
    guard version == Schema.zones.version else { return }
    let writer = try SQLiteConnection(path: path, role: .writer, schema: .zones)
    defer { writer.close() }
    _ = try run(content, on: writer)
  }

  /// `content`: the log's bytes (`CommitLogFile.content`). `connection`: to the database, which
  /// nothing else writes meanwhile.
  static func run(
    _ content: [UInt8], on connection: SQLiteConnection
  ) throws(StorageError) -> Outcome {
    let tail = try tail(of: content, connection)
    if !tail.saves.isEmpty {
      let queries = try ZoneQueries(connection, run: 0)
      let chunks = try ChunkWriter(connection, queries: queries.chunks, rules: StoreRules())
      let records = try RecordWriter(
        connection, queries: queries, chunks: chunks, rules: StoreRules())
      let setLogged = try connection.prepare("UPDATE opening SET logged = ?")
      try connection.write { () throws(StorageError) in
        try records.apply(MergedSaves(tail.saves), tail.saves)
        try setLogged.bind(tail.sequence).run()
      }
    }
    return Outcome(sequence: tail.sequence, hasGap: tail.hasGap)
  }

  /// Returns the blocks of a log that the database lacks.
  static func tail(
    of content: [UInt8], _ connection: SQLiteConnection
  ) throws(StorageError) -> CommitLogFile.Tail {
    let select = try connection.prepare("SELECT number, logged FROM opening")
    let found = try select.first { (number: $0.bits(0), logged: $0.integer(1)) }
    return CommitLogFile.tail(
      of: content, epoch: found?.number ?? 0, after: found?.logged ?? 0)
  }
}
