import Glibc
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepStorage

/// Announces what a command of the owner does to the relays of the store, over their bus of NATS.
/// Over the database, the store announces its commits itself.
struct BusAnnouncer {
  private let store: RelayStore
  private let settings: BusSettings

  /// Returns nil if the relays have no other bus than the database. Connects to nothing yet.
  init?(_ store: RelayStore, _ settings: BusSettings) {
    guard case .nats = settings.address, store.announceByBus() else { return nil }
    self.store = store
    self.settings = settings
  }

  /// Announces what was done since the last call, to all relays.
  func announce() {
    let notices = store.takeAnnouncements().notices.map { CommitNotice($0.change, listeners: nil) }
    guard !notices.isEmpty, let fault = send(notices) else { return }
    var time = "within a minute"
    do throws(StorageError) {
      try store.recordCommand()
    } catch {
      time = "within some minutes"
    }
    TerminalOutput.writeToStandardError(
      "the relays notice this \(time); they could not be told at once: \(fault)\n")
  }

  /// Returns the reason if the bus did not take the notices.
  private func send(_ notices: [CommitNotice]) -> String? {
    // A connection over TLS that was lost must not end the command.
    signal(SIGPIPE, SIG_IGN)
    do throws(StorageError) {
      guard let bus = try store.makeBus(settings) else { return nil }
      defer { bus.close() }
      var reason = "the connection is lost"
      var sender = NoticeSender(relay: bus.relay)
      let messages = sender.messages(of: notices)
      let end = SystemClock.instant().advanced(milliseconds: Limits.busSendMilliseconds)
      var isSent = false
      while SystemClock.instant() < end {
        for event in bus.wait(milliseconds: isSent ? 100 : 0) {
          switch event {
          // It comes back once the servers have it.
          case .received(let payload) where payload.relay == bus.relay: return nil
          case .received, .back: break
          case .lost(let text): return text
          }
        }
        if !isSent {
          isSent = bus.send(messages)
          if !isSent { reason = "it cannot be reached" }
        }
      }
      return isSent ? "it did not pass the notice on in time" : reason
    } catch {
      return "\(error)"
    }
  }
}
