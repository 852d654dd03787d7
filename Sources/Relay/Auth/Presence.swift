import LockstepModel
import LockstepRuntime
import LockstepStorage

/// Tracks which devices are connected, on any node of the process, and when they were last seen.
///
/// A device is connected while one of its connections is signed in. A sighting is written soon
/// after a device connects or disconnects, and again a minute later, because a shared store skips
/// devices that another relay is changing. While a device is connected, it is written each minute;
/// in a shared store, which knows that the relay runs, about every half hour, and each minute for a
/// part of all devices.
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
    /// True if it is in `recentlyWritten`.
    var isAwaited = false
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
  /// Devices whose sighting is written again, ordered by the end of their minute.
  private var recentlyWritten: [Key] = []
  /// The end of the minute of those that were written together.
  private var recentWrites: [(until: Instant, count: Int)] = []
  /// Time at which the next part of the connected devices is written; nil if there is none.
  private var nextPart: Instant?
  /// Element of `presences` at which the next part begins.
  private var partStart = 0
  /// Number of connected devices per account, on any node; accounts with none are absent.
  private var connected: [AccountID: Int] = [:]
  /// Number of connected devices, on any node.
  private(set) var connectedDevices = 0
  /// Number of devices that are connected on this node.
  private var connectedHere = 0

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
    let position = position(of: key) ?? insert(key, lastSeen: wall)
    presences[position].lastSeen = wall
    presences[position].isUnwritten = true
    if !isConnected(key, at: position) { countDevice(of: key.account, 1) }
    presences[position].connections += 1
    guard presences[position].connections == 1 else { return false }
    connectedHere += 1
    if isShared || !presences[position].isAwaited { due.append(key) }
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
    connectedHere -= 1
    if isShared || !presences[position].isAwaited { due.append(key) }
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
    return [recentWrites.first?.until, nextPart].compactMap { $0 }.min()
  }

  /// Returns the sightings to write now. `isLast`: the relay stops, so nothing is awaited.
  mutating func sightings(at now: Instant, wall: Int64, isLast: Bool) -> [DeviceSighting] {
    let keys = due + takeRecentlyWritten(until: now, isLast: isLast) + takePart(at: now, isLast)
    due.removeAll()
    var sightings: [DeviceSighting] = []
    var written: Set<Key> = []
    var awaited = 0
    for key in keys {
      guard written.insert(key).inserted, let position = position(of: key) else { continue }
      let isRepeated = !presences[position].isUnwritten
      if let sighting = sighting(at: position, wall: wall, isRepeated, isLast) {
        sightings.append(sighting)
      }
      if !isRepeated, awaitRepetition(of: position) { awaited += 1 }
    }
    scheduleRepetitions(awaited, at: now)
    if nextPart == nil, connectedHere > 0 {
      nextPart = now.advanced(milliseconds: Limits.sightingMilliseconds / Int64(writesOfPart))
    }
    return sightings
  }

  /// Records that the store did not take these sightings. They are written again in a minute.
  mutating func recordFailure(of sightings: [DeviceSighting], at now: Instant) {
    var awaited = 0
    for sighting in sightings {
      let key = Key(account: sighting.account, device: sighting.device)
      let position = position(of: key) ?? insert(key, lastSeen: sighting.lastSeen)
      presences[position].isUnwritten = true
      if awaitRepetition(of: position) { awaited += 1 }
    }
    scheduleRepetitions(awaited, at: now)
  }

  /// Returns the device's sighting. Forgets a device that is no longer connected when that is
  /// repeated, which nobody but another relay needs.
  private mutating func sighting(
    at position: Int, wall: Int64, _ isRepeated: Bool, _ isLast: Bool
  ) -> DeviceSighting? {
    let key = presences[position].key
    presences[position].isUnwritten = false
    if presences[position].connections > 0 { presences[position].lastSeen = wall }
    let sighting = DeviceSighting(
      account: key.account, device: key.device, lastSeen: presences[position].lastSeen,
      isConnected: isShared && !isLast && isConnected(key))
    guard isRepeated, presences[position].connections == 0 else { return sighting }
    remove(at: position)
    return isShared ? sighting : nil
  }

  /// Lets a device be written again. Returns false if that is so already.
  private mutating func awaitRepetition(of position: Int) -> Bool {
    if presences[position].isAwaited { return false }
    presences[position].isAwaited = true
    recentlyWritten.append(presences[position].key)
    return true
  }

  /// Schedules when the last `count` of `recentlyWritten` are written again.
  private mutating func scheduleRepetitions(_ count: Int, at now: Instant) {
    if count > 0 {
      recentWrites.append((now.advanced(milliseconds: Limits.sightingMilliseconds), count))
    }
  }

  private mutating func takeRecentlyWritten(until now: Instant, isLast: Bool) -> [Key] {
    let writes = recentWrites.prefix { isLast || !(now < $0.until) }
    let keys = Array(recentlyWritten.prefix(writes.reduce(0) { $0 + $1.count }))
    recentlyWritten.removeFirst(keys.count)
    recentWrites.removeFirst(writes.count)
    for key in keys {
      if let position = position(of: key) { presences[position].isAwaited = false }
    }
    return keys
  }

  /// Returns the connected devices of the part of the table whose turn it is; of all if `isLast`.
  private mutating func takePart(at now: Instant, _ isLast: Bool) -> [Key] {
    guard isLast || nextPart.map({ !(now < $0) }) == true else { return [] }
    nextPart = nil
    let parts = minutes * writesOfPart
    let size = isLast ? presences.count : (presences.count + parts - 1) / parts
    let start = isLast || partStart >= presences.count ? 0 : partStart
    partStart = min(start + size, presences.count)
    return presences[start..<partStart].filter { $0.connections > 0 }.map(\.key)
  }

  /// Number of writes in a minute.
  private var writesOfPart: Int { 1 + presences.count / (minutes * Limits.sightingsAtOnce) }

  /// Number of minutes in which all connected devices are written.
  private var minutes: Int { isShared ? Limits.sightingParts : 1 }

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
