import LockstepCommandLine
import LockstepModel
import LockstepStorage

/// Announces what a command of the owner does to the relays of the store, over their bus of NATS.
/// Over the database, the store announces its commits itself.
struct BusAnnouncer {
  private let store: RelayStore
  private let bus: any RelayBus
  private var sender: NoticeSender

  /// Returns nil if the relays have no other bus than the database.
  init?(_ store: RelayStore, _ settings: BusSettings) throws(StorageError) {
    guard case .nats = settings.address, let bus = try store.makeBus(settings) else { return nil }
    self.store = store
    self.bus = bus
    sender = NoticeSender(relay: bus.relay)
  }

  /// Announces what was done since the last call, to all relays.
  mutating func announce() {
    let notices = store.takeAnnouncements().notices.map { CommitNotice($0.change, listeners: nil) }
    guard !notices.isEmpty, !bus.send(sender.messages(of: notices)) else { return }
    var reason = "the connection is lost"
    for case .lost(let text) in bus.wait(milliseconds: 0) { reason = text }
    TerminalOutput.writeToStandardError(
      "the relays notice this within a minute; they could not be told at once: \(reason)\n")
  }
}
