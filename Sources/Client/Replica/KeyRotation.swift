import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepSealing

/// New keys of an account for all its devices but some: the records that a device saves for the
/// others, all at once.
package struct KeyRotation {
  /// Keys that the device has then.
  package let all: SealingKeys
  /// Records of the zone of `KeyRing`, by name; without fields: to be deleted. Of these,
  /// `KeyRing.record` decides: if another device has replaced it, none may be saved.
  package let records: [(name: Name, type: Name, fields: JSONValue?)]
  /// Devices that get the new keys, in the order of their ids, without the one that makes them.
  package let receivers: [DeviceID]

  /// Returns nil if the device has not the account's keys, or no more generations are possible
  /// (`Limits.keyGenerations`).
  ///
  /// - Parameters:
  ///   - secret: Random bytes, as many as a `KeyGeneration` has.
  ///   - device: The device that makes the keys, with its own key.
  ///   - members: The devices that it knows.
  ///   - listed: The account's devices according to the relay. Others have left the account.
  ///   - gone: Devices that must not get the new keys.
  package init?(
    of keys: SealingKeys, secret: [UInt8], by device: DeviceID, _ key: X25519PrivateKey,
    for members: KeyMembers, listed: [DeviceID], without gone: [DeviceID]
  ) {
    guard case .account(let account, let zones) = keys,
      let generation = KeyGeneration(secret: secret), let next = account.adding(generation)
    else { return nil }
    let all = SealingKeys.account(next, zones)
    guard let ring = KeyRing.fields(of: all) else { return nil }
    self.all = all
    let own = KeyMembers.Member(device: device, key: key.publicKey)
    let others = members.members.filter { $0.device != device && !gone.contains($0.device) }
    let staying = others.filter { listed.contains($0.device) }
    let left = others.map(\.device).filter { !listed.contains($0) }
    receivers = staying.map(\.device)
    var records: [(name: Name, type: Name, fields: JSONValue?)] = [
      (KeyRing.record, KeyRing.type, ring)
    ]
    let handover = KeyHandover.Next(all, author: device, without: gone)
    for member in staying + [own] {
      records.append(
        (
          KeyHandover.deviceRecord(of: member.device), KeyHandover.deviceType,
          KeyHandover.fields(ofKey: member.key, of: member.device, generation)
        ))
      guard let fields = KeyHandover.fields(of: handover, for: member.device, member.key, key: key)
      else { continue }
      records.append((KeyHandover.nextRecord(for: member.device), KeyHandover.nextType, fields))
    }
    for device in gone + left {
      records.append((KeyHandover.deviceRecord(of: device), KeyHandover.deviceType, nil))
      records.append((KeyHandover.nextRecord(for: device), KeyHandover.nextType, nil))
    }
    self.records = records
  }
}
