import Glibc
import LockstepEventLoop
import LockstepModel
import LockstepRelay
import LockstepStorage
import LockstepStorageFiles
import LockstepStoragePostgres
import LockstepStorageSQLite

/// An open store of a relay: its writer, and readers for other threads.
final class RelayStore {
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
    _ place: StorePlace, rules: StoreRules, isRestored: Bool = false, attempts: Int = 20,
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
            declareRestored: isRestored))
      case .database(let address):
        return .database(
          address,
          try PostgresZoneStore(
            address, rules: rules, declareRestored: isRestored, restored: restored))
      }
    }
    kind = try RelayStore.patiently(attempts, open)
    if wasRestored { restored() }
  }

  private static func patiently(
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
    OpeningNumber.draw(wall: SystemClock.moment().wall, random: Entropy.secrets.word())
  }

  /// Returns the path of the chunks of files in a store's folder.
  static func chunks(in folder: String) -> String { folder + "/chunks" }

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
  func makeFiles(uploads: Int) throws(StorageError) -> sending any ChunkStore {
    switch kind {
    case .folder(let folder, let store):
      let files = try FileChunkStore(directory: RelayStore.chunks(in: folder), uploads: uploads)
      store.watch("chunks")
      return files
    case .database(let address, _):
      return try PostgresChunkStore(address, uploads: uploads, restored: restored)
    }
  }

  /// Moves the store's own work, for which commits waited, to a separate thread.
  func workAside() throws(StorageError) {
    guard case .folder(_, let store) = kind else { return }
    store.moveLog(by: LogThread(try store.makeLogMover()))
  }

  /// Returns the source of other relays' notices, for another thread; nil if there can be none.
  func makeBus() throws(StorageError) -> sending PostgresBus? {
    guard case .database(_, let store) = kind else { return nil }
    return try store.makeBus()
  }

  /// Returns a fault in the files of a store in a folder, including those of `makeFiles`, or nil.
  /// May be called on any thread; a result is reused for `storeLookMilliseconds`.
  var fileFault: @Sendable () -> StorageError? {
    guard case .folder(_, let store) = kind else { return { nil } }
    let standing = store.standing
    let last = Locked<(at: Instant, fault: StorageError?)?>(nil)
    return {
      let now = SystemClock.instant()
      return last.withLock { last in
        if let last, now.milliseconds(since: last.at) < Limits.storeLookMilliseconds {
          return last.fault
        }
        let fault = standing.look()
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
