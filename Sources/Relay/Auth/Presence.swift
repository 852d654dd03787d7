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

  private struct Visit: Sendable {
    /// Signed-in connections of the device on this node.
    var connections = 0
    var lastSeen: Int64
    /// True if part of the visit is not written yet.
    var isUnwritten = true
  }

  private let node: Int
  /// True if other relays share the store; they learn from it that a device disconnected.
  private let isShared: Bool
  private var visits: [Key: Visit] = [:]
  /// One bit for each other node on which the device is connected.
  private var elsewhere: [Key: UInt64] = [:]
  /// Devices whose sighting is written with the next batch.
  private var due: [Key] = []
  /// Devices whose sighting was written, ordered by the end of their minute.
  private var resting: [(until: Instant, key: Key)] = []
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
    (visits[key]?.connections ?? 0) > 0 || (elsewhere[key] ?? 0) != 0
  }

  /// Returns a device from the store, completed with what only the relay knows.
  func shown(_ device: Device, of account: AccountID, wall: Int64) -> Device {
    var device = device
    device.connected = device.connected || isConnected(Key(account: account, device: device.id))
    if device.connected { device.lastSeen = max(device.lastSeen, wall) }
    return device
  }

  /// Records that a connection signed in. Returns true for the device's first one on this node.
  mutating func arrived(_ key: Key, wall: Int64) -> Bool {
    if visits[key] == nil {
      visits[key] = Visit(lastSeen: wall)
      due.append(key)
    }
    visits[key]?.lastSeen = wall
    visits[key]?.isUnwritten = true
    let wasConnected = isConnected(key)
    visits[key]?.connections += 1
    count(key, wasConnected: wasConnected)
    guard visits[key]?.connections == 1 else { return false }
    if isShared, due.last != key { due.append(key) }
    return true
  }

  /// Records the end of a signed-in connection. Returns true for the device's last one on this
  /// node.
  mutating func left(_ key: Key, wall: Int64) -> Bool {
    visits[key]?.lastSeen = wall
    visits[key]?.isUnwritten = true
    let wasConnected = isConnected(key)
    visits[key]?.connections -= 1
    count(key, wasConnected: wasConnected)
    guard visits[key]?.connections == 0 else { return false }
    if isShared { due.append(key) }
    return true
  }

  mutating func heard(of key: Key, isConnected: Bool, on other: Int) {
    guard other != node else { return }
    let wasConnected = self.isConnected(key)
    let bit: UInt64 = 1 << UInt64(other)
    let others = elsewhere[key] ?? 0
    let rest = isConnected ? others | bit : others & ~bit
    elsewhere[key] = rest == 0 ? nil : rest
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
  func nextWriting(at now: Instant) -> Instant? {
    if !due.isEmpty { return now.advanced(milliseconds: Limits.sightingDelayMilliseconds) }
    return resting.first?.until
  }

  /// Returns the sightings to write now. `isLast`: the relay stops, so the minute is not awaited.
  mutating func sightings(at now: Instant, wall: Int64, isLast: Bool) -> [DeviceSighting] {
    let rested = isLast ? resting.count : resting.prefix { !(now < $0.until) }.count
    due += resting.prefix(rested).map(\.key)
    resting.removeFirst(rested)
    var sightings: [DeviceSighting] = []
    var told: Set<Key> = []
    for key in due {
      guard told.insert(key).inserted, var visit = visits[key] else { continue }
      if visit.connections > 0 {
        visit.lastSeen = wall
      } else if !visit.isUnwritten {
        visits[key] = nil
        continue
      }
      visit.isUnwritten = false
      visits[key] = visit
      sightings.append(
        DeviceSighting(
          account: key.account, device: key.device, lastSeen: visit.lastSeen,
          isConnected: isShared && !isLast && isConnected(key)))
      resting.append((now.advanced(milliseconds: Limits.sightingMilliseconds), key))
    }
    due.removeAll()
    return sightings
  }
}
