import LockstepClient
import LockstepCrypto
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepSealing
import LockstepStorage
import LockstepStorageSQLite
import LockstepWire

/// New keys that a device has made for its account.
package struct NewKeys: Sendable {
  /// Keys that the home has from now on.
  package let keys: SealingKeys
  /// Other devices that get them with their next sync.
  package let receivers: [Device]
  /// Other devices that do not get them, and must be paired again: those that have not made a
  /// public key known, and those for a part of the account of which a zone is sealed.
  package let others: [Device]

  /// Makes new keys, and saves them at the relay for all devices but `gone`. The home must have
  /// synced just before: others may have made newer keys, or joined. It must get the keys
  /// afterwards; if it does not, its next sync brings them.
  package static func save(
    of folder: HomeFolder, _ device: DeviceID, without gone: [DeviceID] = [],
    _ call: RelayClient, token: String
  ) throws(LockstepError) -> NewKeys {
    // First the home: a device that joins in between is then in the list, and is not taken for one
    // that has left.
    let home = try Home(folder)
    let devices = try call.devices(token: token).devices
    guard
      let rotation = KeyRotation(
        of: home.keys, secret: DevicePlatform.secrets.bytes(KeyGeneration.count), by: device,
        home.deviceKey, for: home.members, listed: devices.map(\.id), without: gone)
    else {
      throw .refused(
        reason: localized(
          "this account has had {count} keys, and can have no more of them",
          ["count": "\(Limits.keyGenerations)"]))
    }
    try save(rotation, over: home, call, token)
    let remaining = devices.filter { other in
      guard other.id != device, !gone.contains(other.id) else { return false }
      return home.keys.limited(to: other.scope) != nil
    }
    return NewKeys(
      keys: rotation.all,
      receivers: remaining.filter { rotation.receivers.contains($0.id) },
      others: remaining.filter { !rotation.receivers.contains($0.id) })
  }

  /// Keys and devices that the home knows.
  private struct Home {
    let keys: SealingKeys
    let deviceKey: X25519PrivateKey
    let members: KeyMembers
    /// Records of the zone of the keys that the home knows.
    let recordNames: [Name]

    init(_ folder: HomeFolder) throws(LockstepError) {
      let found = try HomeReading.perform(folder) { store throws(StorageError) in
        (
          keys: try Replica.keys(in: store), deviceKey: try Replica.deviceKey(in: store),
          members: try Replica.members(in: store),
          names: try store.records(zone: KeyRing.zone, type: nil).map(\.name)
        )
      }
      guard let keys = found.keys, keys.current != nil else {
        throw .keysMissing(
          reason: localized(
            "the home {home} does not have the account's keys, so it cannot make "
              + "new ones", ["home": folder.path]))
      }
      guard let deviceKey = found.deviceKey else {
        throw .refused(
          reason: localized("this device has not made its own key known yet; sync, then try again"))
      }
      self.keys = keys
      self.deviceKey = deviceKey
      members = found.members
      recordNames = found.names
    }
  }

  /// Saves all records or none. The record of the keys decides: no other device may have replaced
  /// it since this home's keys were the newest.
  private static func save(
    _ rotation: KeyRotation, over home: Home, _ call: RelayClient, _ token: String
  ) throws(LockstepError) {
    let ring = try call.record(KeyRing.record, zone: KeyRing.zone, token: token)
    if let current = home.keys.current, let ring {
      var sealed = home.keys.sealed
      do throws(KeyRing.Fault) {
        sealed = try KeyRing.keys(in: ring.value, openedBy: current).sealed
      } catch {
        if case .otherKey(let id) = error, !home.keys.hasGeneration(id) { throw isOvertaken }
      }
      guard sealed?.isSubset(of: home.keys.sealed ?? .empty) == true else { throw isOvertaken }
    }
    let now = try call.time()
    let known = Set(home.recordNames)
    let mutations = rotation.records.compactMap { record -> Mutation? in
      guard record.fields != nil || known.contains(record.name) else { return nil }
      return Mutation(
        name: record.name, type: record.type, fields: record.fields?.serialized(),
        modifiedAt: now, baseTag: record.name == KeyRing.record ? ring?.tag ?? 0 : nil)
    }
    for result in try call.save(mutations, zone: KeyRing.zone, token: token, isAtomic: true) {
      switch result {
      case .saved: continue
      case .conflict: throw isOvertaken
      case .refused(_, let refusal): throw .refused(reason: refusal.detail)
      }
    }
  }

  private static var isOvertaken: LockstepError {
    .refused(
      reason: localized("another device has just changed the account's keys; sync, then try again"))
  }
}
