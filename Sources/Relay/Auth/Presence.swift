import LockstepModel
import LockstepStorage

/// Which devices are connected, on any node of the process, and when they were last heard of.
///
/// A device is connected while one of its connections is signed in. A sighting is written soon
/// after a device comes, then at most once a minute while it is there, and once after it went.
struct Presence: Sendable {
  struct Key: Hashable, Sendable {
    var account: AccountID
    var device: DeviceID
  }

  private struct Visit: Sendable {
    /// Signed-in connections of the device on this node.
    var connections = 0
    var lastSeen: Int64
    /// Not all of it is written.
    var isUnwritten = true
  }

  private let node: Int
  /// Other relays have the same store, and are told by it that a device went.
  private let isShared: Bool
  private var visits: [Key: Visit] = [:]
  /// A bit for each other node where the device is connected.
  private var elsewhere: [Key: UInt64] = [:]
  /// Devices whose sighting waits to be written with the next batch.
  private var due: [Key] = []
  /// Devices that were written, in the order in which a minute has passed since.
  private var resting: [(until: Instant, key: Key)] = []
  /// How many of an account's devices are connected, on any node; none of no account.
  private var connected: [AccountID: Int] = [:]
  /// On any node.
  private(set) var connectedDevices = 0

  init(node: Int, isShared: Bool = false) {
    self.node = node
    self.isShared = isShared
  }

  /// Accounts with a connected device, on any node.
  var connectedAccounts: Int { connected.count }

  func isConnected(_ key: Key) -> Bool {
    (visits[key]?.connections ?? 0) > 0 || (elsewhere[key] ?? 0) != 0
  }

  /// A device as the store knows it, with what only the relay knows.
  func shown(_ device: Device, of account: AccountID, wall: Int64) -> Device {
    var device = device
    device.connected = device.connected || isConnected(Key(account: account, device: device.id))
    if device.connected { device.lastSeen = max(device.lastSeen, wall) }
    return device
  }

  /// A connection signed in. True for the device's first one on this node.
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

  /// A signed-in connection is gone. True for the device's last one on this node.
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

  /// When sightings have to be written next; nil while nobody is there.
  func nextWriting(at now: Instant) -> Instant? {
    if !due.isEmpty { return now.advanced(milliseconds: Limits.sightingDelayMilliseconds) }
    return resting.first?.until
  }

  /// What is to be written now. `isLast`: the relay stops, and no minute is waited for.
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
