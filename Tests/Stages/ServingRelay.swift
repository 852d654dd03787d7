import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepRelay
import LockstepRelayService
import LockstepStorage
import LockstepStorageFiles
import LockstepStorageSQLite
import LockstepWebPush
import LockstepWire
import Testing

/// A relay in this process with its own store, on loopback and on its control socket.
package final class ServingRelay {
  package let address: RelayAddress
  private let group: NodeGroup<RelayNode>
  private var isStopped = false

  /// `wakes`: rules for pushes; nil: the relay wakes no devices.
  package init(store folder: String, isOpen: Bool = true, wakes: PushRules? = nil) throws {
    let store = try SQLiteZoneStore(directory: folder, opening: 1)
    var configuration = RelayConfiguration()
    configuration.isOpen = isOpen
    if let wakes {
      let key = WakeConfiguration.newKey(from: Entropy.secrets, at: SystemClock.moment().wall)
      _ = try store.commit([.addWakeKey(key, onlyFirst: true)], wall: key.madeAt)
      configuration.wakes = WakeConfiguration(keys: [key], rules: wakes)
    }
    let front = try Listener.open(.host("127.0.0.1", port: 0), listenerKind: .public)[0]
    let control = try Listener.open(
      .local(path: RelayService.controlSocket(inStore: folder)), listenerKind: .control)[0]
    guard case .host(let host, let port) = front.address else {
      throw CommandFailure("the relay listens at \(front.address)")
    }
    address = RelayAddress(host: host, port: port)
    var settings = GroupSettings<RelayReport> { _, _ in }
    settings.isLastReport = { $0 == .stopped }
    group = try NodeGroup<RelayNode>(count: 1, settings)
    let reader = try store.makeReader()
    let files = try FileChunkStore(directory: RelayStore.chunks(in: folder))
    try group.addCommitWorker {
      NodeGroup<RelayNode>.CommitWorker.Context(
        portions: StoreWork.portions, weigh: StoreWork.weight(of:)
      ) { assignments, moment in
        StoreWork.commit(assignments.map(\.job), on: store, wall: moment.wall).map {
          ($0.outcome, $0.news)
        }
      }
    }
    try group.addReadWorker {
      NodeGroup<RelayNode>.ReadWorker.Context(
        portions: StoreWork.portions, weigh: StoreWork.weight(of:)
      ) { assignments, _ in
        assignments.map { (StoreWork.read($0.job, on: reader), nil) }
      }
    }
    try group.addFileWorker {
      NodeGroup<RelayNode>.FileWorker.Context(
        portions: StoreWork.portions, weigh: StoreWork.weight(of:)
      ) { assignments, _ in
        assignments.map { (StoreWork.perform($0.job, on: files), nil) }
      }
    }
    try group.add(
      RelayNode(
        configuration: configuration, secrets: Entropy.secrets, random: SeededRandom(seed: 1)),
      listeners: [front, control])
    try group.start()
  }

  /// Makes an account without devices, as a relay's owner does, in the store of one that does not
  /// run yet. Returns the code for its first device.
  package static func ownersAccount(inStore folder: String) throws -> String {
    let store = try SQLiteZoneStore(directory: folder, opening: 1)
    let wall = SystemClock.moment().wall
    let (offer, request) = try AccountOffer.make(label: "", secrets: Entropy.secrets, wall: wall)
    _ = try store.commit([request], wall: wall)
    return offer.pairing.code
  }

  /// Stops the relay, unless it has stopped.
  package func stop() throws {
    guard !isStopped else { return }
    isStopped = true
    group.stop()
    _ = try group.waitForEnd()
  }
}
