import LockstepModel
import LockstepStorage

/// Tracks which devices are connected, on any node of the process, and when they were last seen.
///
/// A device is connected while one of its connections is signed in. A sighting is written soon
/// after a device connects, then at most once a minute while it is connected, and once after it
/// disconnects.
struct Presence: Sendable {
  struct Key: Hashable, Sendable {
    var account: AccountID
    var device: DeviceID
  }

  private struct DevicePresence: Sendable {
    var lastSeen: Int64
    /// Signed-in connections of the device on this node.
    var connections: Int32 = 0
    /// True if `lastSeen` is not written yet.
    var isUnwritten = true
  }

  private let node: Int
  /// True if other relays share the store; they learn from it that a device disconnected.
  private let isShared: Bool
  private var presences: [Key: DevicePresence] = [:]
  /// One bit for each other node on which the device is connected.
  private var otherNodes: [Key: UInt64] = [:]
  /// Devices whose sighting is written with the next batch.
  private var due: [Key] = []
  /// Devices whose sighting was written, ordered by the end of their minute.
  private var recentlyWritten: [(until: Instant, key: Key)] = []
  /// Number of connected devices per account, on any node; accounts with none are absent.
  private var connected: [AccountID: Int] = [:]
  /// Number of connected devices, on any node.
  private(set) var connectedDevices = 0

  init(node: Int, isShared: Bool = false) {
    self.node = node
    self.isShared = isShared
  }

  /// Number of accounts with a connected device, on any node.
  var connectedAccounts: Int { connected.count }

  func isConnected(_ key: Key) -> Bool {
    (presences[key]?.connections ?? 0) > 0 || (otherNodes[key] ?? 0) != 0
  }

  /// Returns a device from the store, completed with what only the relay knows.
  func completed(_ device: Device, of account: AccountID, wall: Int64) -> Device {
    var device = device
    device.connected = device.connected || isConnected(Key(account: account, device: device.id))
    if device.connected { device.lastSeen = max(device.lastSeen, wall) }
    return device
  }

  /// Records that a connection signed in. Returns true for the device's first one on this node.
  mutating func recordSignIn(_ key: Key, wall: Int64) -> Bool {
    if presences[key] == nil {
      presences[key] = DevicePresence(lastSeen: wall)
      due.append(key)
    }
    presences[key]?.lastSeen = wall
    presences[key]?.isUnwritten = true
    let wasConnected = isConnected(key)
    presences[key]?.connections += 1
    count(key, wasConnected: wasConnected)
    guard presences[key]?.connections == 1 else { return false }
    if isShared, due.last != key { due.append(key) }
    return true
  }

  /// Records the end of a signed-in connection. Returns true for the device's last one on this
  /// node.
  mutating func recordSignOut(_ key: Key, wall: Int64) -> Bool {
    presences[key]?.lastSeen = wall
    presences[key]?.isUnwritten = true
    let wasConnected = isConnected(key)
    presences[key]?.connections -= 1
    count(key, wasConnected: wasConnected)
    guard presences[key]?.connections == 0 else { return false }
    if isShared { due.append(key) }
    return true
  }

  /// Records a report of another node.
  mutating func recordPresence(of key: Key, isConnected: Bool, on other: Int) {
    guard other != node else { return }
    let wasConnected = self.isConnected(key)
    let bit: UInt64 = 1 << UInt64(other)
    let others = otherNodes[key] ?? 0
    let rest = isConnected ? others | bit : others & ~bit
    otherNodes[key] = rest == 0 ? nil : rest
    count(key, wasConnected: wasConnected)
  }

  private mutating func count(_ key: Key, wasConnected: Bool) {
    guard isConnected(key) != wasConnected else { return }
    let change = wasConnected ? -1 : 1
    connectedDevices += change
    let rest = connected[key.account, default: 0] + change
    connected[key.account] = rest == 0 ? nil : rest
  }

  /// Returns the time of the next write of sightings; nil if there is none.
  func nextWrite(at now: Instant) -> Instant? {
    if !due.isEmpty { return now.advanced(milliseconds: Limits.sightingDelayMilliseconds) }
    return recentlyWritten.first?.until
  }

  /// Returns the sightings to write now. `isLast`: the relay stops, so the minute is not awaited.
  mutating func sightings(at now: Instant, wall: Int64, isLast: Bool) -> [DeviceSighting] {
    let dueCount =
      isLast ? recentlyWritten.count : recentlyWritten.prefix { !(now < $0.until) }.count
    due += recentlyWritten.prefix(dueCount).map(\.key)
    recentlyWritten.removeFirst(dueCount)
    var sightings: [DeviceSighting] = []
    var written: Set<Key> = []
    for key in due {
      guard written.insert(key).inserted, var presence = presences[key] else { continue }
      if presence.connections > 0 {
        presence.lastSeen = wall
      } else if !presence.isUnwritten {
        presences[key] = nil
        continue
      }
      presence.isUnwritten = false
      presences[key] = presence
      sightings.append(
        DeviceSighting(
          account: key.account, device: key.device, lastSeen: presence.lastSeen,
          isConnected: isShared && !isLast && isConnected(key)))
      recentlyWritten.append((now.advanced(milliseconds: Limits.sightingMilliseconds), key))
    }
    due.removeAll()
    return sightings
  }
}
