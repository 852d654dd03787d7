import LockstepModel
import LockstepStorage

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The relay's store in one SQLite database, held by one process: the writer. `makeReader` creates
/// connections for other threads, which wait for the writer only if they ask for an account with
/// saves that are not in the database yet.
///
/// All requests of a commit are one transaction and one fsync: under load, hundreds of saves share
/// it. With a commit log, that is one append to a file, and the database follows (`CommitLog`). A
/// commit that throws changes nothing, and the store continues as soon as the fault is gone.
/// There is one exception: if the final fsync itself fails, a crash right afterwards may restore a
/// refused batch; a retry with the batch's id is then recognised.
package final class SQLiteZoneStore: ZoneStore {
  private let directory: String
  private let lock: DirectoryLock
  let connection: SQLiteConnection
  private let queries: ZoneQueries
  private let accounts: AccountWriter
  private let subscriptions: SubscriptionWriter
  private let wakes: WakeWriter
  private let chunks: ChunkWriter
  private let records: RecordWriter
  private let history: HistoryPruner
  private let zones: ZoneDeleter
  private let residences: Residences
  private let opening: StoreOpening
  private let run: UInt64
  private let commitLog: CommitLog?
  /// Check that the files are still where they were opened. `checkedAt` is the time of the last
  /// check by a commit, in milliseconds; `fileFault` is its result.
  package private(set) var identity: StoreIdentity
  private var checkedAt: Int64?
  private var fileFault: StorageError?
  /// Log sizes in pages at which the log is moved in the next idle period (`logPages`), and before
  /// the next commit (`logPagesMax`). If a reader stays (a backup), the pages that it keeps in the
  /// log are not retried each time.
  private var logPages = Limits.logPages
  private var logPagesMax = Limits.logPagesMax
  /// Moves the log concurrently with commits; nil: the log is moved only in idle periods.
  private var mover: (any LogFallback)?
  /// Log pages that the mover had moved when it was last started.
  private var movedPages = 0
  /// True if something was written since the opening number last advanced.
  private var hasWritten = false
  /// True if an older copy of the store was put back, or its owner declared so: every account is in
  /// a new generation, and its devices save again what they hold of the lost data.
  package let wasRestored: Bool

  /// Opens the store in `directory`. Creates it if it does not exist, readable by its owner only.
  ///
  /// `opening` is an `OpeningNumber`, drawn anew each time. `declareRestored`: the directory as a
  /// whole was put back from an older copy, which the store cannot detect from its files. `run` is
  /// the number of the run that begins (`TagGap`); the default is `opening`. `usesCommitLog`: saves
  /// are acknowledged once a commit log has them.
  ///
  /// Throws `inUse` if another store, here or in another process, has the directory; `tooNew`,
  /// `corrupt`, `readOnly`, `diskFull` or `failed` as their names say.
  package init(
    directory: String, rules: StoreRules = StoreRules(), opening: UInt64,
    declareRestored: Bool = false, run: UInt64? = nil, usesCommitLog: Bool = false
  ) throws(StorageError) {
    self.directory = directory
    lock = try DirectoryLock(directory: directory)
    try SQLiteZoneStore.requireComplete(of: directory)
    SQLiteConnection.omitMemoryStatistics()
    connection = try SQLiteConnection(
      path: SQLiteZoneStore.path(in: directory), role: .writer, schema: .zones)
    // Before the opening number advances: it tells which blocks of the log are the database's.
    let recovery = try CommitLogRecovery.run(
      try CommitLogFile.content(in: directory), on: connection)
    self.opening = try StoreOpening(connection, directory: directory)
    let run = run ?? opening
    self.run = run
    wasRestored = try self.opening.begin(
      opening, isDeclared: declareRestored || recovery.hasGap, run: run)
    queries = try ZoneQueries(connection, run: run)
    accounts = try AccountWriter(
      connection, queries: queries.accounts, rules: rules, run: run)
    subscriptions = try SubscriptionWriter(connection, queries: queries.accounts)
    wakes = try WakeWriter(connection, queries: queries)
    chunks = try ChunkWriter(connection, queries: queries.chunks, rules: rules)
    records = try RecordWriter(connection, queries: queries, chunks: chunks, rules: rules)
    history = try HistoryPruner(connection, rules: rules)
    zones = try ZoneDeleter(
      connection, queries: queries, records: records, chunks: chunks, rules: rules)
    residences = try Residences(
      connection, queries: queries,
      remover: try AccountRemover(
        connection, queries: queries, records: records, chunks: chunks, rules: rules))
    commitLog =
      usesCommitLog
      ? try CommitLog(
        connection, directory: directory, records: records, history: history,
        residences: residences,
        epoch: self.opening.number, sequence: recovery.sequence)
      : nil
    identity = StoreIdentity(
      directory: directory,
      ["lock", SQLiteZoneStore.databaseName, SQLiteZoneStore.databaseName + "-wal"]
        + (usesCommitLog ? [CommitLogFile.name] : []))
  }

  /// True if there is a store in that directory, open or not.
  package static func exists(in directory: String) -> Bool {
    access(path(in: directory), F_OK) == 0
  }

  /// Path of a file that exists while the directory's content is being replaced: nothing may open
  /// the store then.
  package static func replacementMark(in directory: String) -> String { directory + "/restoring" }

  /// Throws if a replacement was begun and did not end.
  static func requireComplete(of directory: String) throws(StorageError) {
    guard access(replacementMark(in: directory), F_OK) != 0 else {
      throw .corrupt(path: directory, detail: "a restore of it, or a move into it, did not finish")
    }
  }

  deinit { close() }

  /// Moves both logs into the database, closes the files and then releases the directory. Later
  /// requests fail.
  package func close() {
    guard connection.isOpen else { return }
    let fault = identity.check()
    let isIntact = fault == nil || fault?.lostFile == CommitLogFile.name
    // The files that now have the former names do not belong to this store and must not be changed.
    if !isIntact { connection.keepFilesOnClose() }
    var isFlushed = !hasWritten
    if hasWritten, isIntact {
      do throws(StorageError) {
        try exclusively { () throws(StorageError) in try advanceNumber() }
        isFlushed = true
      } catch {
        // All answered commits are durable, in the commit log at least. The only loss: a copy made
        // since the store was opened is not detected as an older one if it is put back before the
        // next opening.
      }
    }
    mover?.close()
    closeConnection()
    if isFlushed, fault == nil { commitLog?.removeFile() }
    lock.release()
  }

  private func closeConnection() {
    guard let commitLog else { return connection.close() }
    commitLog.closeConnection()
  }

  /// Makes `mover` move the log into the database concurrently with commits.
  package func moveLog(by mover: any LogFallback) { self.mover = mover }

  /// Returns a mover for another thread.
  package func makeLogMover() throws(StorageError) -> LogMover {
    try LogMover(path: SQLiteZoneStore.path(in: directory))
  }

  /// Returns a view for another thread, on a read-only connection of its own.
  package func makeReader() throws(StorageError) -> sending SQLiteZoneReader {
    try SQLiteZoneReader(
      path: SQLiteZoneStore.path(in: directory), run: run, commitLog: commitLog)
  }

  /// Calls `observer` after each sync of a log with its duration in nanoseconds: on the thread that
  /// commits, or on that of a reader. Must be called before there are readers.
  package func observeSyncs(_ observer: @escaping @Sendable (_ nanoseconds: Int64) -> Void) {
    _ = connection.observeSyncs(observer)
    commitLog?.observeSyncs(observer)
  }

  package func commit(
    _ requests: [CommitRequest], wall: Int64
  ) throws(StorageError) -> [CommitResult] {
    if requests.isEmpty { return [] }
    guard let commitLog else {
      try prepareCommit(wall: wall)
      return try connection.write { () throws(StorageError) in
        try performAll(requests[...], wall: wall)
      }
    }
    return try commitLog.commit(requests, wall: wall) { () throws(StorageError) in
      try prepareCommit(wall: wall)
    } perform: { (rest) throws(StorageError) in
      try performAll(rest, wall: wall)
    }
  }

  /// Reads leases anew after the transaction, whether it succeeds or not.
  private func performAll(
    _ requests: ArraySlice<CommitRequest>, wall: Int64
  ) throws(StorageError) -> [CommitResult] {
    defer { if requests.contains(where: \.changesResidence) { residences.forgetLeases() } }
    return try perform(requests, wall: wall)
  }

  /// Performs a request as `commit` does, if that is no more than an append to the commit log, on
  /// any thread. Returns nil if the writer's thread has to call `commit`.
  fileprivate func commitShort(_ request: CommitRequest, wall: Int64) -> CommitResult? {
    commitLog?.commitShort(request, wall: wall) {
      // A sync waits for the disk while the database's log is moved.
      guard areFilesChecked(wall: wall), fileFault == nil, mover?.isMoving != true else {
        return false
      }
      hasWritten = true
      return true
    }
  }

  private func prepareCommit(wall: Int64) throws(StorageError) {
    try checkFiles(wall: wall)
    moveLogWithoutPause()
    // Done before the commit, not after it: its requests have not been answered yet.
    if connection.waitingPages >= logPagesMax {
      // Never two checkpoints at once: the log could restart between the mover's read of it and its
      // next step, and commits would be lost (SQLite before 3.51.3).
      mover?.wait()
      try connection.checkpoint(waits: true)
      logPagesMax = Limits.logPagesMax + connection.waitingPages
    }
    hasWritten = true
  }

  /// Performs the requests in the database, in the caller's transaction.
  private func perform(
    _ requests: ArraySlice<CommitRequest>, wall: Int64
  ) throws(StorageError) -> [CommitResult] {
    var results: [CommitResult] = []
    results.reserveCapacity(requests.count)
    for request in requests { results.append(try performResident(request, wall: wall)) }
    let forgotten = requests.reduce(0) { $0 + $1.prunedRows }
    try history.forget(forgotten, wall: wall)
    try accounts.forgetCodes(forgotten, wall: wall)
    return results
  }

  /// Runs `body` while no other thread uses the connection.
  private func exclusively<Value: Sendable>(
    _ body: () throws(StorageError) -> Value
  ) throws(StorageError) -> Value {
    guard let commitLog else { return try body() }
    return try commitLog.withLock(body)
  }

  /// Advances the opening number. The commit log, which depends on it, starts again.
  private func advanceNumber() throws(StorageError) {
    guard let commitLog else { return try opening.advanceNumber() }
    try commitLog.advanceEpoch { () throws(StorageError) in
      try opening.advanceNumber()
    } number: {
      opening.number
    }
  }

  /// Adds a folder beside the database that is also open to the checked files.
  package func watch(_ name: String) { identity.watch(name) }

  /// Checks the files at most once per `storeFileCheckMilliseconds`.
  private func checkFiles(wall: Int64) throws(StorageError) {
    if !areFilesChecked(wall: wall) {
      checkedAt = wall
      fileFault = identity.check()
      // The saves in it are in memory still.
      if fileFault?.lostFile == CommitLogFile.name { try commitLog?.flushWithinLock() }
    }
    if let fileFault { throw fileFault }
  }

  private func areFilesChecked(wall: Int64) -> Bool {
    guard let checkedAt else { return false }
    return wall >= checkedAt && wall < checkedAt &+ Limits.storeFileCheckMilliseconds
  }

  package func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    guard let commitLog else { return try queries.read(request) }
    return try commitLog.withLock { () throws(StorageError) in
      try commitLog.flushWithinLock()
      return try queries.read(request)
    }
  }

  package func performMaintenance() throws(StorageError) {
    try exclusively { () throws(StorageError) in
      try commitLog?.flushIfWorthwhile()
      guard connection.waitingPages >= logPages, identity.check() == nil else { return }
      try moveLog()
    }
  }

  /// Moves the log into the database. With a mover, starts it, and once it is done moves the pages
  /// that were added since. After an error it retries when more pages were added.
  private func moveLog() throws(StorageError) {
    do throws(StorageError) {
      let progress = mover?.takeProgress()
      switch progress {
      case .moving: return
      case .failed(let fault): throw fault
      case .moved(let pages) where remainingPages(after: pages) < Limits.logPages: break
      case .moved(movedPages):
        // A reader blocks the rest.
        logPages = Limits.logPages + connection.waitingPages
        return
      case .moved, .idle, nil:
        if case .moved(let pages) = progress { movedPages = pages }
        try advanceNumber()
        hasWritten = false
        if mover?.start() == true { return }
      }
      try connection.checkpoint(waits: false)
      logPages = Limits.logPages + connection.waitingPages
    } catch {
      logPages = Limits.logPages + connection.waitingPages
      throw error
    }
  }

  /// Pages that were added while `moved` pages were moved. Once all were moved, the log restarts.
  private func remainingPages(after moved: Int) -> Int {
    let waiting = connection.waitingPages
    return waiting < moved ? waiting : waiting - moved
  }

  /// Moves the log under continuous load, so that commits do not wait until it reaches its ceiling.
  /// Ignores errors: the next idle period or the ceiling reports them.
  private func moveLogWithoutPause() {
    guard mover != nil, connection.waitingPages >= max(logPages, Limits.logPagesWithoutPause)
    else { return }
    do throws(StorageError) {
      try moveLog()
    } catch {
      return
    }
  }

  /// Performs the request if its account lives here.
  private func performResident(
    _ request: CommitRequest, wall: Int64
  ) throws(StorageError) -> CommitResult {
    guard let id = request.resident else { return try perform(request, wall: wall) }
    if let refusal = try residences.lease(of: id, wall: wall) { return .refused(refusal) }
    let result = try perform(request, wall: wall)
    guard case .refused = result, let departure = try queries.residences.departure(of: id) else {
      return result
    }
    return .refused(departure.refusal)
  }

  private func perform(
    _ request: CommitRequest, wall: Int64
  ) throws(StorageError) -> CommitResult {
    switch request {
    case .createAccount(let id, let generation, let label, let device, let pairing):
      try accounts.createAccount(
        id, generation: generation, label: label, device: device, pairing: pairing, wall: wall)
    case .issuePairing(let id, let pairing): try accounts.issuePairing(pairing, for: id, wall: wall)
    case .redeemPairing(let codeHash, let device):
      try accounts.redeemPairing(codeHash, for: device, wall: wall)
    case .renameDevice(let id, let device, let name):
      try accounts.renameDevice(device, of: id, to: name)
    case .revokeDevice(let id, let device): try accounts.revokeDevice(device, of: id)
    case .touchDevices(let sightings): try touchDevices(sightings)
    case .checkWritable: try opening.rewrite()
    case .save(let commit): try records.save(commit, wall: wall)
    case .setPlan(let id, let plan): try accounts.setPlan(plan, of: id)
    case .putSubscription(let id, let device, let subscription):
      try subscriptions.putSubscription(subscription, for: device, of: id)
    case .removeSubscription(let id, let device, let name):
      try subscriptions.removeSubscription(name, for: device, of: id)
    case .removeAccount(let id): try residences.removeAccount(id, wall: wall)
    case .addChunk(let id, let hash, let file, let bytes):
      try chunks.addChunk(hash, of: id, file: file, bytes: bytes, wall: wall)
    case .renewChunks(let id, let hashes): try chunks.renewChunks(hashes, of: id, wall: wall)
    case .confirmChunks(let files): try chunks.setUnverified(files, false)
    case .markChunksMissing(let files): try chunks.setUnverified(files, true)
    case .collectChunks(let count): try collectChunks(atMost: count, wall: wall)
    case .deleteZone(let id, let device, let zone, let through):
      try zones.deleteZone(zone, through: through, by: device, of: id, wall: wall)
    case .deleteZoneRest(let id, let device, let zone, let portion):
      try zones.deletePortion(portion, of: zone, by: device, of: id, wall: wall)
    case .putWake(let id, let device, let registration, let keyMadeAt, let codeHash):
      try wakes.putWake(
        registration, for: SleeperID(account: id, device: device), keyMadeAt: keyMadeAt,
        codeHash: codeHash)
    case .removeWake(let id, let device, let name):
      try wakes.removeWake(name, of: SleeperID(account: id, device: device))
    case .verifyWake(let id, let device, let name, let codeHash):
      try wakes.verifyWake(
        name, of: SleeperID(account: id, device: device), codeHash: codeHash, wall: wall)
    case .claimWakes(let ids, let keys):
      try wakes.claimWakes(ids, keys: keys, wall: wall)
    case .reportWakes(let reports): try wakes.reportWakes(reports, wall: wall)
    case .addWakeKey(let key, let onlyFirst): try wakes.addWakeKey(key, onlyFirst: onlyFirst)
    case .move(let step): try residences.move(step, wall: wall)
    }
  }

  private func collectChunks(
    atMost count: Int, wall: Int64
  ) throws(StorageError) -> CommitResult {
    try residences.clearAnyDeparture(wall: wall)
    return try chunks.collectChunks(atMost: count, wall: wall)
  }

  /// Returns a writer of a copy of an account. No commit may come before it is closed.
  package func makeAccountTarget(
    _ move: AccountMove
  ) throws(StorageError) -> SQLiteAccountTarget {
    try exclusively { () throws(StorageError) in
      try commitLog?.flushWithinLock()
      hasWritten = true
      residences.forgetLeases()
    }
    return try SQLiteAccountTarget(connection, directory: directory, move)
  }

  private func touchDevices(_ sightings: [DeviceSighting]) throws(StorageError) -> CommitResult {
    try wakes.recordContacts(of: sightings)
    return try accounts.touchDevices(sightings)
  }

  static func path(in directory: String) -> String { directory + "/" + databaseName }

  package static let databaseName = "zones.sqlite"
  package static let commitLogName = CommitLogFile.name
}

/// Commits of single saves on another thread than the store's writer. The store shares all that
/// they use under the lock of its commit log.
package struct SQLiteShortCommits: @unchecked Sendable {
  private weak var store: SQLiteZoneStore?

  /// `store`: one with a commit log.
  package init(_ store: SQLiteZoneStore) { self.store = store }

  /// Performs a request as `SQLiteZoneStore.commit` does, if that is no more than an append to the
  /// commit log. Returns nil if `commit` has to do it.
  package func commit(_ request: CommitRequest, wall: Int64) -> CommitResult? {
    store?.commitShort(request, wall: wall)
  }
}
