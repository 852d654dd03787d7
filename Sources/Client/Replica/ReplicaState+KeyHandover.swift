import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepSealing
import LockstepStorage

/// Devices of an account that give each other new keys (`KeyHandover`).
extension ReplicaState {
  static let sealDeviceKey = "seal.device"
  static let sealMembersKey = "seal.members"

  /// Saves the record of the account's keys, if the home has none or one that was changed: it shows
  /// other devices that the account is sealed, and a phrase needs it.
  private mutating func putKeyRing(_ clock: ClockReading) throws(StorageError) {
    guard var keys = sealing.held, let generation = keys.current, keys.sealed != ZoneSet.empty
    else {
      return
    }
    // Before the first page, it is not known whether the account has the record.
    guard position.cursor != nil || keys.isFirst else { return }
    let held = try transaction.record(KeyRing.key)
    do throws(KeyRing.Fault) {
      let known = try KeyRing.keys(in: held?.value, openedBy: generation)
      keys = keys.sealing(known.sealed ?? .empty)
      // Devices that have joined the same keys may have them in another order.
      if known.contains(keys) { return }
    } catch {
      // Another device may have made newer keys, which come to this one with its next sync.
      if case .otherKey(let id) = error, !keys.hasGeneration(id) { return }
    }
    guard let fields = KeyRing.fields(of: keys) else { return }
    _ = try writeChange(
      KeyRing.key, type: KeyRing.type, fields: fields.serialized(),
      stamp: stamp(after: held, clock), clock)
  }

  /// Saves the record of the account's keys again if the relay has one of former keys, because it
  /// was restored from a backup, or because devices made keys without knowing of each other.
  mutating func renewKeyRing(_ clock: ClockReading) throws(StorageError) {
    guard scope == .everything, sealing.deviceKey != nil else { return }
    try putKeyRing(clock)
  }

  /// See `ReplicaTask.makeDeviceKey`.
  mutating func makeDeviceKey(
    _ secret: [UInt8], _ clock: ClockReading
  ) throws(StorageError) -> ReplicaResult {
    guard identity != nil, scope == .everything, let generation = sealing.held?.current else {
      return .done
    }
    guard let key = sealing.deviceKey ?? X25519PrivateKey(secret) else { return .done }
    if sealing.deviceKey == nil {
      sealing.deviceKey = key
      transaction.setValue(Self.sealDeviceKey, HexText.text(of: key.bytes))
    }
    let name = KeyHandover.deviceRecord(of: device)
    let record = RecordKey(zone: KeyRing.zone, name: name)
    let fields = KeyHandover.fields(ofKey: key.publicKey, of: device, generation).serialized()
    try putKeyRing(clock)
    // A record that another generation has sealed is sealed anew by whoever has made the newer one.
    guard try transaction.record(record)?.fields == nil else { return .done }
    putMember(device, key.publicKey)
    _ = try writeChange(
      record, type: KeyHandover.deviceType, fields: fields, stamp: stamp(after: nil, clock), clock)
    return .done
  }

  /// Takes what a page says about devices and keys. Returns true if the home has more keys now.
  mutating func takeHandovers(_ arrived: [ArrivedRecord]) throws(StorageError) -> Bool {
    guard sealing.held?.current != nil else { return false }
    let records = arrived.compactMap(\.record).filter { $0.zone == KeyRing.zone && !$0.isDeleted }
    guard !records.isEmpty else { return false }
    for record in records { takePublicKey(record) }
    let taken = records.compactMap { takeNext($0) }
    // A public key may be sealed with the generation that has just come.
    if !taken.isEmpty {
      let held = try transaction.records(zone: KeyRing.zone, type: KeyHandover.deviceType)
      for record in held + records { takePublicKey(record) }
    }
    return taken.contains(true)
  }

  /// The first key that a device has published is its key. Only the generation that seals counts: a
  /// device that was removed knows the others.
  private mutating func takePublicKey(_ record: Record) {
    guard case .device(let member) = KeyHandover.subject(of: record.name),
      let generation = sealing.held?.current,
      let key = KeyHandover.publicKey(in: record.value, of: member, generation)
    else { return }
    putMember(member, key)
  }

  /// Returns nil if the record gives this home no keys; otherwise true if it had not got them.
  private mutating func takeNext(_ record: Record) -> Bool? {
    guard KeyHandover.subject(of: record.name) == .next(device), let key = sealing.deviceKey,
      let author = KeyHandover.author(of: record.value)
    else { return nil }
    guard let publicKey = sealing.members.key(of: author),
      let next = KeyHandover.next(
        in: record.value, for: device, by: author, publicKey, key: key),
      case .account(let held, let zones)? = sealing.held,
      case .account(let given, let givenZones) = next.all, let joined = held.joined(with: given)
    else { return nil }
    sealing.members.remove(next.without)
    // Whoever made these keys has sealed with them the public keys of all devices that stay. A
    // device that was removed may have made others known with the former generation.
    if joined == given { sealing.members.removeAll(but: device) }
    transaction.setValue(Self.sealMembersKey, sealing.members.storedText)
    guard joined != held else { return false }
    sealing.adopt(.account(joined, zones.union(givenZones)))
    sealing.retryConflicts()
    transaction.setValue(Self.sealKeysKey, sealing.held?.storedValue.text)
    // It has made these keys, and ended before it knew that they were saved.
    if author == device { setResealing(Resealing()) }
    return true
  }

  private mutating func putMember(_ member: DeviceID, _ key: [UInt8]) {
    guard sealing.members.put(member, key) else { return }
    transaction.setValue(Self.sealMembersKey, sealing.members.storedText)
  }

  mutating func loadDeviceKey() throws(StorageError) {
    sealing.deviceKey = try Self.deviceKey(in: transaction.store)
    sealing.members = try Self.members(in: transaction.store)
  }

  fileprivate static func deviceKey(
    in store: any ReplicaStore
  ) throws(StorageError) -> X25519PrivateKey? {
    try store.value(sealDeviceKey).flatMap { HexText.bytes(of: $0) }
      .flatMap { X25519PrivateKey($0) }
  }

  fileprivate static func members(in store: any ReplicaStore) throws(StorageError) -> KeyMembers {
    KeyMembers(stored: try store.value(sealMembersKey))
  }
}

/// The account's devices as a home knows them, for a program that gives them new keys.
extension Replica {
  /// Returns the secret of the device's own key; nil if it has none yet.
  package static func deviceKey(in store: Store) throws(StorageError) -> X25519PrivateKey? {
    try ReplicaState.deviceKey(in: store)
  }

  package static func members(in store: Store) throws(StorageError) -> KeyMembers {
    try ReplicaState.members(in: store)
  }

  /// Gives this home a key of its own, unless it has one, and makes it known to the account's other
  /// devices with the next sync. Has no effect without the account's keys.
  ///
  /// - Parameters:
  ///   - secret: Random bytes, as many as `X25519PrivateKey` has.
  ///   - wall: Wall clock, milliseconds since the Unix epoch.
  package mutating func makeDeviceKey(_ secret: [UInt8], wall: Int64) throws(StorageError) {
    // The job would load the whole home, which every command opens.
    guard try Self.keys(in: store)?.current != nil else { return }
    _ = try perform(.makeDeviceKey(secret), wall: wall)
  }
}

/// Devices that a home knows as holders of the account's keys, with their public keys.
package struct KeyMembers: Sendable {
  package struct Member: Hashable, Sendable {
    package let device: DeviceID
    /// Public key of X25519.
    package let key: [UInt8]
  }

  /// In the order of their ids; at most `Limits.devicesPerAccount`.
  package private(set) var members: [Member] = []
  /// Devices that were removed, the newest last; at most `Limits.devicesPerAccount`.
  private var removed: [DeviceID] = []

  package func key(of device: DeviceID) -> [UInt8]? {
    members.first { $0.device == device }?.key
  }

  /// Returns false if the device is known already, was removed, or there are too many.
  mutating func put(_ device: DeviceID, _ key: [UInt8]) -> Bool {
    guard self.key(of: device) == nil, !removed.contains(device),
      members.count < Limits.devicesPerAccount
    else { return false }
    members.append(Member(device: device, key: key))
    members.sort { $0.device < $1.device }
    return true
  }

  mutating func removeAll(but device: DeviceID) { members.removeAll { $0.device != device } }

  mutating func remove(_ gone: [DeviceID]) {
    members.removeAll { gone.contains($0.device) }
    removed = Array(
      (removed.filter { !gone.contains($0) } + gone).suffix(Limits.devicesPerAccount))
  }

  var storedText: String {
    let list = members.map { member -> JSONValue in
      ["id": .string(member.device.text), "key": .string(Base64.encodeURL(member.key))]
    }
    let value: JSONValue = [
      "members": .array(list), "removed": .array(removed.map { .string($0.text) }),
    ]
    return value.text
  }

  /// A text in another form has no members: they are learnt anew from the records.
  init(stored text: String?) {
    let value = text.flatMap { JSONValue(ifJSON: Array($0.utf8)) }
    for member in value?["members"]?.array ?? [] {
      guard let id = member["id"]?.string.flatMap({ DeviceID(text: $0) }),
        let key = member["key"]?.string.flatMap({ Base64.decodeURL($0) })
      else { continue }
      _ = put(id, key)
    }
    removed = (value?["removed"]?.array ?? []).compactMap { id in
      id.string.flatMap { DeviceID(text: $0) }
    }
  }

  init() {}
}
