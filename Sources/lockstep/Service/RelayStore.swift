import Glibc
import LockstepEventLoop
import LockstepModel
import LockstepRelay
import LockstepStorage
import LockstepStorageFiles
import LockstepStoragePostgres
import LockstepStorageSQLite

/// A relay's store, open: what writes it, and what other threads look at it with.
final class RelayStore {
  private enum Kind {
    case folder(String, SQLiteZoneStore)
    case database(PostgresAddress, PostgresZoneStore)
  }

  private let kind: Kind
  private let restored: @Sendable () -> Void

  /// A relay before this one may just be ending, or `lockstep account` be at work: a store in use
  /// is asked for again for a second, and so is a database that is away.
  ///
  /// `isRestored`: its owner says so. `restored` is told, on whichever thread, where an older copy
  /// is found, now or later.
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

  /// The number to open a store in a folder under now.
  static func openingNumber() -> UInt64 {
    OpeningNumber.draw(wall: SystemClock.moment().wall, random: Entropy.secrets.word())
  }

  /// Where a relay keeps the chunks of files in that folder.
  static func chunks(in folder: String) -> String { folder + "/chunks" }

  var writer: any ZoneStore {
    switch kind {
    case .folder(_, let store): store
    case .database(_, let store): store
    }
  }

  /// An older copy was found when it was opened, or its owner said so.
  var wasRestored: Bool {
    switch kind {
    case .folder(_, let store): store.wasRestored
    case .database(_, let store): store.wasRestored
    }
  }

  /// For another thread.
  func makeReader() throws(StorageError) -> sending any ZoneReader {
    switch kind {
    case .folder(_, let store): try store.makeReader()
    case .database(_, let store): try store.makeReader()
    }
  }

  /// The chunks of files, for another thread. `uploads`: how many may be written at a time.
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

  /// Has the store's own work, which commits waited for, done beside them from now on.
  func workAside() throws(StorageError) {
    guard case .folder(_, let store) = kind else { return }
    store.moveLog(by: LogThread(try store.makeLogMover()))
  }

  /// What other relays on the store tell, for another thread; nil where there can be none.
  func makeBus() throws(StorageError) -> sending PostgresBus? {
    guard case .database(_, let store) = kind else { return nil }
    return try store.makeBus()
  }

  /// What is wrong with the files of a store in a folder, those of `makeFiles` among them; nil
  /// where nothing is. For any thread; a look is good for `storeLookMilliseconds`.
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

  /// Tells `observer`, on the thread that commits, how many nanoseconds each sync of the log takes,
  /// where the store has one of its own.
  func observeSyncs(_ observer: @escaping @Sendable (_ nanoseconds: Int64) -> Void) {
    if case .folder(_, let store) = kind { store.observeSyncs(observer) }
  }
}
