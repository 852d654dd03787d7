import CLinux
import Glibc
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepNATS
import LockstepRelay
import LockstepStorage
import LockstepStorageFiles
import LockstepStoragePostgres
import LockstepStorageSQLite

/// An open store of a relay: its writer, and readers for other threads.
package final class RelayStore {
  private enum Kind {
    case folder(String, SQLiteZoneStore)
    case database(PostgresAddress, PostgresZoneStore)
  }

  private let kind: Kind
  private let restored: @Sendable () -> Void

  /// Opens the store. Retries for a second if it is in use, because an earlier relay may be ending
  /// or `lockstep account` may be running, or if the database is unavailable.
  ///
  /// `isRestored`: the owner declares that the store was restored. `restored`: called on any thread
  /// if an older copy is found, now or later.
  init(
    _ place: StoreLocation, rules: StoreRules, isRestored: Bool = false, attempts: Int = 20,
    restored: @escaping @Sendable () -> Void = {}
  ) throws(StorageError) {
    self.restored = restored
    func open() throws(StorageError) -> Kind {
      switch place {
      case .folder(let folder):
        return .folder(
          folder,
          try SQLiteZoneStore(
            directory: folder, rules: rules, opening: RelayStore.openingNumber(),
            declareRestored: isRestored, usesCommitLog: true))
      case .database(let address):
        return .database(
          address,
          try PostgresZoneStore(
            address, rules: rules, declareRestored: isRestored, restored: restored))
      }
    }
    kind = try RelayStore.retrying(attempts, open)
    if wasRestored { restored() }
  }

  private static func retrying(
    _ attempts: Int, _ open: () throws(StorageError) -> Kind
  ) throws(StorageError) -> Kind {
    for _ in 0..<attempts {
      do throws(StorageError) {
        return try open()
      } catch {
        switch error {
        case .inUse, .unavailable: usleep(50_000)
        default: throw error
        }
      }
    }
    return try open()
  }

  /// Returns the number under which to open a store in a folder now.
  static func openingNumber() -> UInt64 {
    OpeningNumber.make(wall: SystemClock.moment().wall, random: Entropy.secrets.word())
  }

  /// Returns the path of the chunks of files in a store's folder.
  package static func chunks(in folder: String) -> String { folder + "/chunks" }

  var writer: any ZoneStore {
    switch kind {
    case .folder(_, let store): store
    case .database(_, let store): store
    }
  }

  /// True if an older copy was found when the store was opened, or if the owner declared it.
  var wasRestored: Bool {
    switch kind {
    case .folder(_, let store): store.wasRestored
    case .database(_, let store): store.wasRestored
    }
  }

  /// Returns a reader for another thread.
  func makeReader() throws(StorageError) -> sending any ZoneReader {
    switch kind {
    case .folder(_, let store): try store.makeReader()
    case .database(_, let store): try store.makeReader()
    }
  }

  /// Returns the store of chunks, for another thread. `uploads`: maximum number of concurrent ones.
  /// `bus`: address of the bus, if it is not that of the store. `keepsSessions`: true if the bus
  /// keeps a session of the server; nil if that is unknown.
  func makeFiles(
    uploads: Int, bus: BusAddress? = nil, keepsSessions: Bool? = nil
  ) throws(StorageError) -> sending any ChunkStore {
    switch kind {
    case .folder(let folder, let store):
      let files = try FileChunkStore(directory: RelayStore.chunks(in: folder), uploads: uploads)
      store.watch("chunks")
      return files
    case .database(let address, _):
      let direct =
        switch bus {
        case .database(let direct): direct
        case .nats, nil: address
        }
      return try PostgresChunkStore(
        direct, uploads: uploads, keepsSessions: keepsSessions, restored: restored)
    }
  }

  /// Returns a writer of a copy of an account. No commit of this process may come before it is
  /// closed.
  func makeAccountTarget(_ move: AccountMove) throws(StorageError) -> any AccountTarget {
    switch kind {
    case .folder(_, let store): try store.makeAccountTarget(move)
    case .database(let address, _): try PostgresAccountTarget(address, move)
    }
  }

  /// Moves the log on a separate thread from now on, so that commits do not wait for it.
  func startLogThread() throws(StorageError) {
    guard case .folder(_, let store) = kind else { return }
    store.moveLog(by: LogThread(try store.makeLogMover()))
  }

  /// Returns the commits that another thread than the writer's may perform; nil for a database.
  func makeShortCommits() -> SQLiteShortCommits? {
    guard case .folder(_, let store) = kind else { return nil }
    return SQLiteShortCommits(store)
  }

  /// Returns the source of other relays' notices, for another thread; nil if there can be none.
  func makeBus(_ settings: BusSettings) throws(StorageError) -> sending (any RelayBus)? {
    guard case .database(_, let store) = kind else { return nil }
    switch settings.address {
    case .database(let direct): return try store.makeBus(at: direct)
    case .nats(let servers):
      let login = settings.password.map { NATSSession.Login(user: servers.user ?? "", secret: $0) }
      let name = try store.busName()
      do throws(SystemFault) {
        let bus = try NATSBus(servers, login: login, store: name, relay: store.relay)
        store.announceByBus()
        return bus
      } catch {
        throw .failed(path: servers.shown, operation: "serve as the bus", detail: "\(error)")
      }
    case nil: return try store.makeBus()
    }
  }

  /// Lets a bus announce the commits. Returns false if there can be no other relay.
  func announceByBus() -> Bool {
    guard case .database(_, let store) = kind else { return false }
    store.announceByBus()
    return true
  }

  /// Lets all relays on a database check their accounts within a minute.
  func recordCommand() throws(StorageError) {
    if case .database(_, let store) = kind { try store.recordCommand() }
  }

  /// Returns what the bus is to announce of the commits since the last call.
  func takeAnnouncements() -> CommitAnnouncements {
    guard case .database(_, let store) = kind else { return CommitAnnouncements() }
    return store.takeAnnouncements()
  }

  /// Returns a fault in the files of a store in a folder, including those of `makeFiles`, or nil.
  /// May be called on any thread; a result is reused for `storeFileCheckMilliseconds`.
  var fileFault: @Sendable () -> StorageError? {
    guard case .folder(_, let store) = kind else { return { nil } }
    let identity = store.identity
    let last = Locked<(at: Instant, fault: StorageError?)?>(nil)
    return {
      let now = SystemClock.instant()
      return last.withLock { last in
        if let last, now.milliseconds(since: last.at) < Limits.storeFileCheckMilliseconds {
          return last.fault
        }
        let fault = identity.check()
        last = (now, fault)
        return fault
      }
    }
  }

  /// Calls `observer`, on the thread that commits, with the nanoseconds of each sync of the log, if
  /// the store has a log of its own.
  func observeSyncs(_ observer: @escaping @Sendable (_ nanoseconds: Int64) -> Void) {
    if case .folder(_, let store) = kind { store.observeSyncs(observer) }
  }
}

/// Location of a relay's store.
package enum StoreLocation: Hashable, Sendable {
  /// A folder of this machine, for one relay.
  case folder(String)
  /// A PostgreSQL database, for any number of relays.
  case database(PostgresAddress)

  package init(_ text: String) throws(ValueFault) {
    guard text.contains("://") else {
      self = .folder(try ValueKind<String>.folder.parse(text))
      return
    }
    do throws(PostgresAddressFault) {
      self = .database(try PostgresAddress(text))
    } catch {
      throw ValueFault("\(error)")
    }
  }

  /// Text for errors and logs.
  package var text: String {
    switch self {
    case .folder(let path): path
    case .database(let address): address.shown
    }
  }

  /// Returns the folder, for operations that support no database. `advice`: the alternative for a
  /// database.
  package func folder(insteadOfDatabase advice: String) throws(CommandFailure) -> String {
    switch self {
    case .folder(let path): return path
    case .database(let address):
      throw CommandFailure("the store \(address.shown) is a database: \(advice)")
    }
  }
}

extension ValueKind where Value == StoreLocation {
  /// A folder, or the URL of a database.
  package static var storeLocation: ValueKind {
    ValueKind("DIR|URL", known: .folders) { text throws(ValueFault) in try StoreLocation(text) }
  }
}

/// Identity change of root to the owner of a store's folder, for work in that folder.
///
/// The user who runs the relay may put anything into that folder, so root works there as that user:
/// it writes nothing that the user could not write, and the user owns all files that it creates.
/// Root keeps its right to read, because the path to the folder, or a backup, may be closed to the
/// user.
package final class StoreOwner {
  private let groups: [gid_t]
  private let group: gid_t
  private var isOver = false

  /// Becomes the owner until `end`. Returns nil if the process is not root, the folder belongs to
  /// root, or there is none yet. For one thread at a time; no other thread may need root meanwhile.
  package static func become(ofFolder folder: String?) throws(CommandFailure) -> StoreOwner? {
    var status = stat()
    guard let folder, geteuid() == 0, stat(folder, &status) == 0, status.st_uid != 0 else {
      return nil
    }
    return try StoreOwner(status, of: folder)
  }

  private init(_ owner: stat, of folder: String) throws(CommandFailure) {
    let count = getgroups(0, nil)
    groups = [gid_t](unsafeUninitializedCapacity: Int(max(0, count))) { buffer, filled in
      filled = Int(max(0, getgroups(count, buffer.baseAddress)))
    }
    group = getegid()
    var own = owner.st_gid
    guard setgroups(1, &own) == 0, setegid(own) == 0, seteuid(owner.st_uid) == 0 else {
      let reason = String(cString: strerror(errno))
      isOver = true
      _ = restore()
      throw CommandFailure(
        "\(folder) belongs to another user, and root cannot become that user (\(reason)); run the "
          + "command as that user")
    }
    // If this fails, the process is an ordinary user, who may not reach all that root does.
    _ = linux_keep_reading()
  }

  /// Becomes root again.
  package func end() {
    if isOver { return }
    isOver = true
    let isBack = restore()
    precondition(isBack, "the process could not become root again")
  }

  private func restore() -> Bool {
    seteuid(0) == 0 && setegid(group) == 0 && setgroups(groups.count, groups) == 0
  }

  deinit { end() }
}
