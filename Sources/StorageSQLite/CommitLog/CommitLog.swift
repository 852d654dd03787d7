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
/// After a crash, the store performs the saves that the database lacks when it is opened. Each
/// transaction is durable before the file is written from its beginning again, and has a sequence
/// of its own, so that an older database beside a newer log is recognised.
///
/// The writer and readers on other threads use it. `withLock` protects all but `pending`, which
/// readers of other accounts only look at.
final class CommitLog: @unchecked Sendable {
  /// Accounts with buffered saves.
  private let pending = Mutex<Set<AccountID>>([])
  private let lock = Mutex(())
  private let connection: SQLiteConnection
  private let records: RecordWriter
  private let history: HistoryPruner
  private let residences: Residences
  private let setLogged: SQLiteStatement
  private let file: CommitLogFile
  private var buffer = SaveBuffer()
  /// True if something failed: a file may contain what was refused. The next commit is performed in
  /// the database, which then overwrites or outdates it; nothing is appended before that.
  private var isDoubtful = false
  private var observer: (@Sendable (_ nanoseconds: Int64) -> Void)?

  /// `epoch`: the store's opening number. `sequence`: the last one that the database contains.
  init(
    _ connection: SQLiteConnection, directory: String, records: RecordWriter,
    history: HistoryPruner, residences: Residences, epoch: UInt64, sequence: Int64
  ) throws(StorageError) {
    self.connection = connection
    self.records = records
    self.history = history
    self.residences = residences
    setLogged = try connection.prepare(CommitLogRecovery.setLogged)
    file = try CommitLogFile(directory: directory, epoch: epoch, sequence: sequence)
  }

  /// Must be called before other threads use the log.
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

  /// Performs the requests, as `ZoneStore.commit` does. `prepare` is called first. `perform`
  /// performs those that are not buffered, in the database, in a transaction that this method
  /// opens.
  func commit(
    _ requests: [CommitRequest], wall: Int64,
    prepare: () throws(StorageError) -> Void,
    perform: (ArraySlice<CommitRequest>) throws(StorageError) -> [CommitResult]
  ) throws(StorageError) -> [CommitResult] {
    try withLock { () throws(StorageError) in
      try prepare()
      if buffer.isFull { try flush() }
      let former = buffer.saves.count
      do throws(StorageError) {
        let results = isDoubtful ? [] : try decide(requests, wall: wall)
        if results.count < requests.count {
          return results
            + (try flush { () throws(StorageError) in try perform(requests[results.count...]) })
        }
        try makeDurable(buffer.saves[former...])
        return results
      } catch {
        buffer.removeLast(keeping: former)
        isDoubtful = true
        throw error
      }
    }
  }

  /// Performs a request as `commit` does, if that is no more than an append to the file. Returns
  /// nil if `commit` has to do it: another thread uses the log, `prepare` returns false, it is not
  /// an ordinary save, enough saves are buffered for a flush, or the file has no room or fails.
  func commitShort(
    _ request: CommitRequest, wall: Int64, prepare: () -> Bool
  ) -> CommitResult? {
    let result = lock.withLockIfAvailable { _ -> CommitResult? in
      guard connection.isOpen, !isDoubtful, !buffer.isWorthFlushing, prepare() else { return nil }
      let former = buffer.saves.count
      do throws(StorageError) {
        guard let result = try decide([request], wall: wall).first else { return nil }
        if try append(buffer.saves[former...]) { return result }
      } catch {
        // `commit` meets the fault again if it persists, and reports it.
      }
      buffer.removeLast(keeping: former)
      isDoubtful = true
      return nil
    }
    return result ?? nil
  }

  /// Decides the first requests, as far as they are ordinary saves, and adds them to the buffer.
  private func decide(
    _ requests: [CommitRequest], wall: Int64
  ) throws(StorageError) -> [CommitResult] {
    var results: [CommitResult] = []
    results.reserveCapacity(requests.count)
    try connection.keepReading()
    for request in requests {
      guard case .save(let commit) = request,
        try residences.lease(of: commit.account, wall: wall) == nil,
        let result = try records.decide(commit, after: &buffer, wall: wall)
      else { break }
      results.append(result)
    }
    return results
  }

  /// Makes buffered saves durable: in the file, or in the database if the file has no room or
  /// fails.
  private func makeDurable(_ saves: ArraySlice<LoggedSave>) throws(StorageError) {
    do throws(StorageError) {
      if try append(saves) { return }
    } catch {
      isDoubtful = true
    }
    try flush()
  }

  /// Makes buffered saves durable in the file. Returns false if it has no room.
  private func append(_ saves: ArraySlice<LoggedSave>) throws(StorageError) -> Bool {
    let accounts = buffer.removeNewAccounts()
    if !accounts.isEmpty { pending.withLock { $0.formUnion(accounts) } }
    guard try file.append(saves) else { return false }
    let nanoseconds = try file.sync()
    if let observer, let nanoseconds { observer(nanoseconds) }
    return true
  }

  // MARK: The database

  /// Performs the buffered saves in the database, then `body`, in one transaction, which is durable
  /// when this returns.
  private func flush<Value>(
    then body: () throws(StorageError) -> Value
  ) throws(StorageError) -> Value {
    do throws(StorageError) {
      let before = connection.totalChanges
      var isWritten = false
      var isBodyWritten = false
      let value = try connection.write { () throws(StorageError) in
        if let last = buffer.saves.last {
          try records.apply(buffer.netEffect, buffer.saves)
          try history.forget(buffer.saves.count * Limits.forgottenPerRequest, wall: last.wall)
        }
        let appliedChanges = connection.totalChanges
        let value = try body()
        isBodyWritten = connection.totalChanges != appliedChanges
        isWritten = isDoubtful || connection.totalChanges != before
        // A new number, so that there is something to write and to sync.
        if isWritten { try setLogged.bind(file.nextSequence()).run() }
        return value
      }
      guard isWritten else { return value }
      buffer.removeSaves(areAccountsKnown: !isBodyWritten)
      pending.withLock { $0.removeAll(keepingCapacity: true) }
      file.restart()
      isDoubtful = false
      return value
    } catch {
      isDoubtful = true
      throw error
    }
  }

  private func flush() throws(StorageError) {
    try flush { () throws(StorageError) in }
  }

  /// Performs the buffered saves in the database, if there are any. The caller has the lock.
  func flushWithinLock() throws(StorageError) {
    if !buffer.isEmpty { try flush() }
  }

  /// Does the same if there are many, for idle periods. The caller has the lock.
  func flushIfWorthwhile() throws(StorageError) {
    if buffer.isWorthFlushing || isDoubtful { try flushWithinLock() }
  }

  /// Performs the buffered saves in the database, and then `advance`, which makes it durable under
  /// another opening number. `number` returns the number that is in force. The caller has the lock.
  func advanceEpoch(
    _ advance: () throws(StorageError) -> Void, number: () -> UInt64
  ) throws(StorageError) {
    try flushWithinLock()
    defer { file.restart(epoch: number()) }
    do throws(StorageError) {
      try advance()
    } catch {
      isDoubtful = true
      throw error
    }
  }

  /// Closes the writer's connection. Readers that come later get an error.
  func closeConnection() { lock.withLock { _ in connection.close() } }

  /// Removes the file. The database contains all that was in it, and is closed.
  func removeFile() { file.remove() }

  // MARK: Readers, on any thread

  /// Makes the database contain all acknowledged saves of an account.
  func flush(for account: AccountID) throws(StorageError) {
    guard pending.withLock({ $0.contains(account) }) else { return }
    try withLock { () throws(StorageError) in try flushWithinLock() }
  }

  /// Makes the database contain all acknowledged saves.
  func flushAll() throws(StorageError) {
    guard hasPending else { return }
    try withLock { () throws(StorageError) in try flushWithinLock() }
  }

  /// True if the database lacks saves of any account.
  var hasPending: Bool { pending.withLock { !$0.isEmpty } }
}
