import LockstepModel
import LockstepRuntime
import LockstepStorage

/// Tracks which devices are connected, on any node of the process, and when they were last seen.
///
/// A device is connected while one of its connections is signed in. A sighting is written soon
/// after a device connects, then at most once a minute while it is connected, and once after it
/// disconnects.
struct Presence: Sendable {
  struct Key: Hashable, IndexedKey, Sendable {
    var account: AccountID
    var device: DeviceID

    /// Both numbers are random.
    var indexHash: UInt64 { account.rawValue ^ device.rawValue }
  }

  private struct DevicePresence: Sendable {
    let key: Key
    var lastSeen: Int64
    /// Signed-in connections of the device on this node.
    var connections: Int32 = 0
    /// True if `lastSeen` is not written yet.
    var isUnwritten = true
  }

  private let node: Int
  /// True if other relays share the store; they learn from it that a device disconnected.
  private let isShared: Bool
  /// Devices that are connected, or whose sighting is to be written. The elements named by `free`
  /// have no device.
  private var presences: [DevicePresence] = []
  private var positions = PositionIndex()
  private var free: [UInt32] = []
  /// One bit for each other node on which the device is connected.
  private var otherNodes: [Key: UInt64] = [:]
  /// Devices whose sighting is written with the next batch.
  private var due: [Key] = []
  /// Devices whose sighting was written, ordered by the end of their minute.
  private var recentlyWritten: [Key] = []
  /// The end of the minute of those that were written together.
  private var recentWrites: [(until: Instant, count: Int)] = []
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
    isConnected(key, at: position(of: key))
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
    let known = position(of: key)
    let position = known ?? insert(key, lastSeen: wall)
    if known == nil { due.append(key) }
    presences[position].lastSeen = wall
    presences[position].isUnwritten = true
    if !isConnected(key, at: position) { countDevice(of: key.account, 1) }
    presences[position].connections += 1
    guard presences[position].connections == 1 else { return false }
    if isShared, due.last != key { due.append(key) }
    return true
  }

  /// Records the end of a signed-in connection. Returns true for the device's last one on this
  /// node.
  mutating func recordSignOut(_ key: Key, wall: Int64) -> Bool {
    guard let position = position(of: key) else { return false }
    presences[position].lastSeen = wall
    presences[position].isUnwritten = true
    presences[position].connections -= 1
    if !isConnected(key, at: position) { countDevice(of: key.account, -1) }
    guard presences[position].connections == 0 else { return false }
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
    guard self.isConnected(key) != wasConnected else { return }
    countDevice(of: key.account, wasConnected ? -1 : 1)
  }

  /// Counts a device that is now connected (1), or no longer (−1).
  private mutating func countDevice(of account: AccountID, _ change: Int) {
    connectedDevices += change
    connected[account, default: 0] += change
    if change < 0, connected[account] == 0 { connected[account] = nil }
  }

  /// Returns the time of the next write of sightings; nil if there is none.
  func nextWrite(at now: Instant) -> Instant? {
    if !due.isEmpty { return now.advanced(milliseconds: Limits.sightingDelayMilliseconds) }
    return recentWrites.first?.until
  }

  /// Returns the sightings to write now. `isLast`: the relay stops, so the minute is not awaited.
  mutating func sightings(at now: Instant, wall: Int64, isLast: Bool) -> [DeviceSighting] {
    let dueWrites = recentWrites.prefix { isLast || !(now < $0.until) }
    let dueCount = dueWrites.reduce(0) { $0 + $1.count }
    due += recentlyWritten.prefix(dueCount)
    recentlyWritten.removeFirst(dueCount)
    recentWrites.removeFirst(dueWrites.count)
    var sightings: [DeviceSighting] = []
    var written: Set<Key> = []
    for key in due {
      guard written.insert(key).inserted, let position = position(of: key) else { continue }
      if presences[position].connections > 0 {
        presences[position].lastSeen = wall
      } else if !presences[position].isUnwritten {
        remove(at: position)
        continue
      }
      presences[position].isUnwritten = false
      sightings.append(
        DeviceSighting(
          account: key.account, device: key.device, lastSeen: presences[position].lastSeen,
          isConnected: isShared && !isLast && isConnected(key)))
      recentlyWritten.append(key)
    }
    if !sightings.isEmpty {
      let until = now.advanced(milliseconds: Limits.sightingMilliseconds)
      recentWrites.append((until, sightings.count))
    }
    due.removeAll()
    return sightings
  }

  // MARK: table of devices

  private func position(of key: Key) -> Int? {
    positions.position(of: key) { presences[$0].key }
  }

  private func isConnected(_ key: Key, at position: Int?) -> Bool {
    let isHere = position.map { presences[$0].connections > 0 } ?? false
    return isHere || (!otherNodes.isEmpty && (otherNodes[key] ?? 0) != 0)
  }

  private mutating func insert(_ key: Key, lastSeen: Int64) -> Int {
    let presence = DevicePresence(key: key, lastSeen: lastSeen)
    let position = free.popLast().map { Int($0) } ?? presences.count
    if position == presences.count {
      presences.append(presence)
    } else {
      presences[position] = presence
    }
    let presences = presences
    positions.insert(position) { presences[$0].key }
    return position
  }

  private mutating func remove(at position: Int) {
    let presences = presences
    positions.remove(position) { presences[$0].key }
    free.append(UInt32(position))
  }
}
