import LockstepModel
import LockstepRuntime
import LockstepStorage

/// Positions in their accounts' changes that the connections of a node show for the devices that
/// have registered for wakes. Other devices cost nothing. `wall`: relay time.
struct WakeContacts: Sendable {
  private struct Known: Sendable {
    var contact = WakeContact()
    /// A ping that the device has not answered, and the position that was sent to it before.
    var ping: (connection: ConnectionID, position: WakeMark)?
  }

  private var devices: [Presence.Key: Known] = [:]

  var isEmpty: Bool { devices.isEmpty }

  /// True if the device has registered for wakes.
  func follows(_ key: Presence.Key) -> Bool { !devices.isEmpty && devices[key] != nil }

  mutating func follow(_ key: Presence.Key) {
    if devices[key] == nil { devices[key] = Known() }
  }

  /// Records that the device has everything up to its own `token`.
  mutating func recordSeen(_ key: Presence.Key, _ token: ChangeToken, at wall: Int64) {
    guard follows(key), let position = WakeMark(token) else { return }
    devices[key]?.contact.merge(WakeContact(seen: position, told: position, at: wall))
  }

  /// Records that everything up to `token` was sent to the device.
  mutating func recordTold(_ key: Presence.Key, _ token: ChangeToken, at wall: Int64) {
    guard follows(key), let position = WakeMark(token) else { return }
    devices[key]?.contact.merge(WakeContact(told: position, at: wall))
  }

  /// Records a ping after everything up to `token`.
  mutating func recordPing(_ key: Presence.Key, _ token: ChangeToken, on connection: ConnectionID) {
    guard follows(key), let position = WakeMark(token) else { return }
    devices[key]?.ping = (connection, position)
  }

  /// Records the answer to the last ping of a connection: what was sent before it has arrived.
  mutating func recordPong(
    _ key: Presence.Key, on connection: ConnectionID, at wall: Int64
  ) {
    guard follows(key), let ping = devices[key]?.ping, ping.connection == connection else { return }
    devices[key]?.ping = nil
    devices[key]?.contact.merge(WakeContact(seen: ping.position, at: wall))
  }

  /// Returns what the device's contact has shown so far; nil if it has not registered. `isLast`: it
  /// has no connection on this node any more.
  mutating func take(_ key: Presence.Key, isLast: Bool) -> WakeContact? {
    guard follows(key), let contact = devices[key]?.contact else { return nil }
    if isLast { devices[key] = nil }
    return contact
  }
}
