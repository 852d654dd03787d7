import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepRelay
import LockstepStorage
import LockstepWire

/// A relay's store, opened by a command of its owner because no relay holds it. Root does
/// everything in a folder, including the close, as the folder's owner (`StoreOwner`).
final class HeldStore {
  private let folder: String?
  private var store: (any ZoneStore)?
  /// Announces what is done to the relays; nil if the store does that itself.
  private var announcer: BusAnnouncer?
  private var files: (any ChunkStore)?

  /// Returns nil if another process holds the store.
  init?(_ place: StoreLocation, _ bus: BusSettings = BusSettings()) throws(CommandFailure) {
    folder = if case .folder(let path) = place { path } else { nil }
    let owner = try StoreOwner.become(ofFolder: folder)
    defer { owner?.end() }
    do throws(StorageError) {
      let opened = try RelayStore(place, rules: HeldStore.rules, attempts: 0)
      store = opened.writer
      files = try opened.makeFiles(uploads: Limits.uploads)
      announcer = BusAnnouncer(opened, bus)
    } catch {
      if case .inUse = error { return nil }
      throw CommandFailure("\(error)")
    }
  }

  /// Wraps a store that is already open.
  init(_ store: any ZoneStore, _ files: any ChunkStore) {
    folder = nil
    self.store = store
    self.files = files
  }

  deinit {
    // If root cannot become the owner here, it could not when it opened the store either.
    let owner: StoreOwner?
    do throws(CommandFailure) {
      owner = try StoreOwner.become(ofFolder: folder)
    } catch {
      owner = nil
    }
    announcer = nil
    files = nil
    store = nil
    owner?.end()
  }

  func perform(_ request: HTTPCallRequest) throws(CommandFailure) -> AdminClient.Response {
    guard let store, let files else { throw CommandFailure("the store is closed") }
    let owner = try StoreOwner.become(ofFolder: folder)
    defer { owner?.end() }
    return try CommandFailure.wrap { () throws(StorageError) in
      let response = try OfflineAdmin(secrets: Entropy.secrets).answer(
        request.method, RequestTarget(path: request.path, query: request.query),
        body: request.body ?? [], on: store, files, wall: SystemClock.moment().wall)
      announcer?.announce()
      return AdminClient.Response(status: response.status, body: response.body)
    }
  }

  /// Never expires history: only the relay knows the retention.
  private static var rules: StoreRules {
    var rules = StoreRules()
    rules.historyMilliseconds = Limits.sequenceLimit
    return rules
  }
}
