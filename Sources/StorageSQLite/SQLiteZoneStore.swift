import Glibc
import LockstepModel
import LockstepStorage

/// The relay's store in one SQLite database, held by one process: the writer. `makeReader` gives
/// connections for other threads, which never wait for it.
///
/// All requests of a commit are one transaction and one fsync: under load, hundreds of saves share
/// it. After a commit that throws nothing was done and the store goes on, as soon as the fault
/// allows it. One exception is in the nature of disks: where the final fsync itself fails, a crash
/// right afterwards may bring back what was refused; a retry under the batch's id is then
/// recognised.
package final class SQLiteZoneStore: ZoneStore {
  private let directory: String
  private let lock: DirectoryLock
  let connection: SQLiteConnection
  private let queries: ZoneQueries
  private let accounts: AccountWriter
  private let subscriptions: SubscriptionWriter
  private let chunks: ChunkWriter
  private let records: RecordWriter
  private let history: HistoryPruner
  private let zones: ZoneDeleter
  private let remover: AccountRemover
  private let opening: StoreOpening
  private let run: UInt64
  /// Whether its files are still where they were opened; when a commit last looked, in
  /// milliseconds, and what it saw.
  package private(set) var standing: StoreIdentity
  private var lookedAt: Int64?
  private var fileFault: StorageError?
  /// Pages in the log at which it is moved in the next pause, and before the next commit. Where a
  /// reader stays (a backup), what it keeps in the log is not tried again each time.
  private var logPages = Limits.logPages
  private var logPagesMax = Limits.logPagesMax
  /// Moves the log beside the commits; nil: it is moved in their pauses alone.
  private var mover: (any LogFallback)?
  /// The pages of the log that it had moved when it was last begun again.
  private var movedPages = 0
  /// Something was written since the opening's number moved on.
  private var hasWritten = false
  /// An older copy of the store was put back, or its owner said so: every account is in a new
  /// generation, and its devices bring back what they hold of what was lost.
  package let wasRestored: Bool

  /// Opens the store in `directory`, or makes it there, readable by its owner alone.
  ///
  /// `opening` is an `OpeningNumber`, drawn anew each time. `declareRestored`: the directory as a
  /// whole was put back from an older copy, which nothing in it can show. `run` is the number of
  /// the run that begins (`TagGap`), the same as `opening` where it is not named.
  ///
  /// Throws `inUse` while another store, here or in another process, has the directory; `tooNew`,
  /// `corrupt`, `readOnly`, `diskFull` or `failed` as their names say.
  package init(
    directory: String, rules: StoreRules = StoreRules(), opening: UInt64,
    declareRestored: Bool = false, run: UInt64? = nil
  ) throws(StorageError) {
    self.directory = directory
    lock = try DirectoryLock(directory: directory)
    try SQLiteZoneStore.refuseHalf(of: directory)
    connection = try SQLiteConnection(
      path: SQLiteZoneStore.path(in: directory), role: .writer, schema: .zones)
    self.opening = try StoreOpening(connection, directory: directory)
    let run = run ?? opening
    self.run = run
    wasRestored = try self.opening.begin(opening, isDeclared: declareRestored, run: run)
    standing = StoreIdentity(
      directory: directory,
      ["lock", SQLiteZoneStore.databaseName, SQLiteZoneStore.databaseName + "-wal"])
    queries = try ZoneQueries(connection, run: run)
    accounts = try AccountWriter(connection, rules: rules, run: run)
    subscriptions = try SubscriptionWriter(connection, queries: queries.accounts)
    chunks = try ChunkWriter(connection, queries: queries.chunks, rules: rules)
    records = try RecordWriter(connection, queries: queries, chunks: chunks, rules: rules)
    history = try HistoryPruner(connection, rules: rules)
    zones = try ZoneDeleter(
      connection, queries: queries, records: records, chunks: chunks, rules: rules)
    remover = try AccountRemover(
      connection, queries: queries, records: records, chunks: chunks, rules: rules)
  }

  /// Whether a store is in that directory, opened by somebody or not.
  package static func exists(in directory: String) -> Bool {
    access(path(in: directory), F_OK) == 0
  }

  /// A file that stands in the directory while what is there is replaced: nobody opens it then.
  package static func replacementMark(in directory: String) -> String { directory + "/restoring" }

  /// Throws where that was begun and did not end.
  static func refuseHalf(of directory: String) throws(StorageError) {
    guard access(replacementMark(in: directory), F_OK) != 0 else {
      throw .corrupt(path: directory, detail: "a restore or a move into it did not come to its end")
    }
  }

  deinit { close() }

  /// Moves the log into the database, lets go of the files and then of the directory. What is asked
  /// afterwards fails.
  package func close() {
    guard connection.isOpen else { return }
    let isWhole = standing.look() == nil
    // What stands there now under the names of before is not this store's to change.
    if !isWhole { connection.leaveFiles() }
    if hasWritten, isWhole {
      do throws(StorageError) {
        try opening.moveOn()
      } catch {
        // All that was promised is on disk. Only a copy that was made since the store was opened
        // will not be known as an older one, should it be put back before the next opening.
      }
    }
    mover?.close()
    connection.close()
    lock.release()
  }

  /// From now on the log is moved into the database beside the commits.
  package func moveLog(by mover: any LogFallback) { self.mover = mover }

  /// For another thread.
  package func makeLogMover() throws(StorageError) -> LogMover {
    try LogMover(path: SQLiteZoneStore.path(in: directory))
  }

  /// A view for another thread, on a connection of its own that cannot write.
  package func makeReader() throws(StorageError) -> sending SQLiteZoneReader {
    try SQLiteZoneReader(path: SQLiteZoneStore.path(in: directory), run: run)
  }

  /// Tells `observer`, on the thread that commits, how many nanoseconds each sync of the log takes.
  package func observeSyncs(_ observer: @escaping @Sendable (_ nanoseconds: Int64) -> Void) {
    _ = connection.observeSyncs(observer)
  }

  package func commit(
    _ requests: [CommitRequest], wall: Int64
  ) throws(StorageError) -> [CommitResult] {
    if requests.isEmpty { return [] }
    try checkFiles(wall: wall)
    moveLogWithoutPause()
    // Before the commit, not behind it: what is in it has not been promised to anyone yet.
    if connection.waitingPages >= logPagesMax {
      // Never two at once: the log could begin anew between what the mover reads of it and what it
      // does then, and commits would be lost (SQLite before 3.51.3).
      mover?.wait()
      try connection.checkpoint(waits: true)
      logPagesMax = Limits.logPagesMax + connection.waitingPages
    }
    hasWritten = true
    return try connection.write { () throws(StorageError) in
      var results: [CommitResult] = []
      results.reserveCapacity(requests.count)
      for request in requests { results.append(try perform(request, wall: wall)) }
      let forgotten = requests.reduce(0) { $0 + $1.forgets }
      try history.forgetBatches(forgotten, wall: wall)
      try history.forgetTombstones(forgotten, wall: wall)
      try accounts.forgetCodes(forgotten, wall: wall)
      return results
    }
  }

  /// A folder beside the database is open, too.
  package func watch(_ name: String) { standing.watch(name) }

  /// Looks at most once in `storeLookMilliseconds`.
  private func checkFiles(wall: Int64) throws(StorageError) {
    let isFresh = lookedAt.map { wall >= $0 && wall < $0 &+ Limits.storeLookMilliseconds } ?? false
    if !isFresh {
      lookedAt = wall
      fileFault = standing.look()
    }
    if let fileFault { throw fileFault }
  }

  package func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    try queries.read(request)
  }

  package func rest() throws(StorageError) {
    guard connection.waitingPages >= logPages, standing.look() == nil else { return }
    try moveLog()
  }

  /// Moves the log into the database, or where that is done beside the commits, begins it, and when
  /// it is done moves what has come since. After a fault it is tried again once more has come.
  private func moveLog() throws(StorageError) {
    do throws(StorageError) {
      let progress = mover?.take()
      switch progress {
      case .moving: return
      case .failed(let fault): throw fault
      case .moved(let pages) where remainingPages(after: pages) < Limits.logPages: break
      case .moved(movedPages):
        // A reader keeps the rest.
        logPages = Limits.logPages + connection.waitingPages
        return
      case .moved, .resting, nil:
        if case .moved(let pages) = progress { movedPages = pages }
        try opening.moveOn()
        hasWritten = false
        if mover?.begin() == true { return }
      }
      try connection.checkpoint(waits: false)
      logPages = Limits.logPages + connection.waitingPages
    } catch {
      logPages = Limits.logPages + connection.waitingPages
      throw error
    }
  }

  /// Pages that came while so many were moved. Once all were, the log begins anew.
  private func remainingPages(after moved: Int) -> Int {
    let waiting = connection.waitingPages
    return waiting < moved ? waiting : waiting - moved
  }

  /// Commits that come without a pause are not to wait until the log is at its ceiling. A fault is
  /// told where it is in the way: in a pause, or at the ceiling.
  private func moveLogWithoutPause() {
    guard mover != nil, connection.waitingPages >= max(logPages, Limits.logPagesWithoutPause)
    else { return }
    do throws(StorageError) {
      try moveLog()
    } catch {
      return
    }
  }

  private func perform(
    _ request: CommitRequest, wall: Int64
  ) throws(StorageError) -> CommitResult {
    switch request {
    case .createAccount(let id, let generation, let label, let device, let pairing):
      try accounts.create(
        id, generation: generation, label: label, device: device, pairing: pairing, wall: wall)
    case .issuePairing(let id, let pairing): try accounts.issue(pairing, for: id, wall: wall)
    case .redeemPairing(let codeHash, let device):
      try accounts.redeem(codeHash, for: device, wall: wall)
    case .renameDevice(let id, let device, let name):
      try accounts.rename(device, of: id, to: name)
    case .revokeDevice(let id, let device): try accounts.revoke(device, of: id)
    case .touchDevices(let sightings): try accounts.touch(sightings)
    case .proveWritable: try opening.rewrite()
    case .save(let commit): try records.save(commit, wall: wall)
    case .setPlan(let id, let plan): try accounts.setPlan(plan, of: id)
    case .putSubscription(let id, let device, let subscription):
      try subscriptions.put(subscription, for: device, of: id)
    case .removeSubscription(let id, let device, let name):
      try subscriptions.remove(name, for: device, of: id)
    case .removeAccount(let id): try remover.remove(id, wall: wall)
    case .addChunk(let id, let hash, let file, let bytes):
      try chunks.add(hash, of: id, file: file, bytes: bytes, wall: wall)
    case .renewChunks(let id, let hashes): try chunks.renew(hashes, of: id, wall: wall)
    case .vouchForChunks(let files): try chunks.doubt(files, false)
    case .doubtChunks(let files): try chunks.doubt(files, true)
    case .collectChunks(let count): try chunks.collect(atMost: count, wall: wall)
    case .deleteZone(let id, let device, let zone, let through):
      try zones.delete(zone, through: through, by: device, of: id, wall: wall)
    case .deleteZoneRest(let id, let device, let zone, let portion):
      try zones.delete(portion, of: zone, by: device, of: id, wall: wall)
    }
  }

  static func path(in directory: String) -> String { directory + "/" + databaseName }

  package static let databaseName = "zones.sqlite"
}
