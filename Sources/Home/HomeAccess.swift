import Lockstep
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepLanguage
import LockstepModel

/// Relay, token and cursor of a home, for requests that a command makes itself.
package struct HomeAccess {
  package let relay: RelayAddress
  package let token: String
  /// Trust policy for the relay's certificate.
  package let trust: Trust
  /// Change token up to which the home has read; nil before its first sync is done.
  package let cursor: String?

  package init(relay: RelayAddress, token: String, trust: Trust = .system, cursor: String? = nil) {
    self.relay = relay
    self.token = token
    self.trust = trust
    self.cursor = cursor
  }

  /// Asks for the credentials of the home that a command works on.
  package init(of session: HomeSession) throws(CommandFailure) {
    try self.init(session.send(.credentials), trust: HomeTrust.of(session.folder).trust)
  }

  package init(_ answer: JSONValue, trust: Trust = .system) throws(CommandFailure) {
    guard let url = answer["relay"]?.string, let relay = RelayAddress(url: url),
      let token = answer["token"]?.string
    else {
      throw CommandFailure(
        localized("the process that holds the home has another version; stop it"))
    }
    self.relay = relay
    self.token = token
    self.trust = trust
    cursor = answer["cursor"]?.string
  }

  package var call: RelayCall { RelayCall(relay: relay, trust: trust) }
}

extension HomeStatus {
  /// Returns a note on the sync status, for a command that changed something and waited briefly.
  /// `syncsFurther`: another process holds the home and continues to sync.
  package func syncNote(syncsFurther: Bool) -> String {
    if isInSync { return localized("synced") }
    // The status may contain text from the relay.
    let line = Log.oneLine(self.line(wall: SystemClock.moment().wall))
    if needsPerson || isFailed || syncsFurther { return line }
    return localized(
      "{line}; it will be synced with the next command, or by lockstep agent run", ["line": line])
  }
}
