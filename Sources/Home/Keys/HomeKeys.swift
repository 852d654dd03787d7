import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepSealing
import LockstepStorage
import LockstepStorageSQLite
import LockstepWire

/// Keys with which a home seals its account's zones: how they are made, given to another device and
/// taken from one. They never leave a device unencrypted, unless a person writes them down.
package enum HomeKeys {
  /// Returns what `body` reads in the home's store. Another process may hold the home.
  package static func reading<Value>(
    _ folder: HomeFolder, _ body: (SQLiteReplicaStore) throws(StorageError) -> Value
  ) throws(CommandFailure) -> Value {
    try CommandFailure.wrap { () throws(StorageError) in
      let store = try SQLiteReplicaStore(reading: folder.path)
      defer { store.close() }
      return try body(store)
    }
  }

  /// Returns the keys of the home; nil if it seals nothing. Another process may hold the home.
  package static func keys(in folder: HomeFolder) throws(CommandFailure) -> SealingKeys? {
    try reading(folder) { store throws(StorageError) in try Replica.keys(in: store) }
  }

  /// Returns what the home knows of its sealed zones. Another process may hold the home.
  package static func sealingState(of folder: HomeFolder) throws(CommandFailure) -> SealingState {
    try reading(folder) { store throws(StorageError) in try Replica.sealingState(of: store) }
  }

  /// Returns the request that gives a home these keys, and a key of its own if it has none.
  package static func request(_ keys: SealingKeys, taking zone: Name? = nil) -> HomeRequest {
    .seal(keys, taking: zone, deviceSecret: DeviceKeys.deviceSecret)
  }

  /// See `KeyRingRecord.store`.
  @discardableResult
  package static func storeRing(
    _ keys: SealingKeys, _ member: HomeAccess
  ) throws(CommandFailure) -> SealingKeys {
    try CommandFailure.wrap { () throws(LockstepError) in try member.keyRing.store(keys) }
  }

  /// Returns the keys wrapped under the second half of a code; nil if there are none.
  package static func wrapped(
    _ keys: SealingKeys?, of account: AccountID, _ secret: JoinSecret
  ) throws(CommandFailure) -> String? {
    try CommandFailure.wrap { () throws(LockstepError) in
      try DeviceKeys.wrapped(keys, of: account, secret)
    }
  }

  /// True if the account's records are sealed, and the home does not have the keys.
  package static func isLocked(_ folder: HomeFolder) throws(CommandFailure) -> Bool {
    try reading(folder) { store throws(StorageError) in try Replica.isLocked(store) }
  }

  /// True if records of the zone are sealed, and the home does not have the keys.
  package static func isLocked(
    _ zone: Name, _ folder: HomeFolder
  ) throws(CommandFailure) -> Bool {
    try reading(folder) { store throws(StorageError) in try Replica.isLocked(zone, in: store) }
  }

  /// Makes the home a device of the account, with these keys if there are any: both or neither.
  /// Returns true if the account's records are sealed, and the home has no keys then: it reads and
  /// changes nothing until it has.
  package static func join(
    _ identity: HomeIdentity, _ keys: SealingKeys?, _ folder: HomeFolder,
    _ store: SQLiteReplicaStore, _ member: HomeAccess
  ) throws(CommandFailure) -> Bool {
    let held = try CommandFailure.wrap { () throws(StorageError) in try Replica.keys(in: store) }
    var joined = JoinedKeys(keys, deviceSecret: DeviceKeys.deviceSecret)
    if keys == nil, held == nil {
      joined.sealed = try CommandFailure.wrap { () throws(LockstepError) in
        try DeviceKeys.sealedZones(identity.credentials, member.call.client)
      }
    }
    let apps = AppCatalog.all(vaultSeal: VaultKeys.source(in: folder))
    var replica = Replica(store: store, apps: apps + (try HomeRules(of: folder)).apps)
    let failure = try CommandFailure.wrap { () throws(StorageError) in
      try replica.join(identity, joined, wall: SystemClock.moment().wall)
    }
    if let failure { throw CommandFailure(failure.explanation) }
    announce(identity.credentials.device, store, member)
    return joined.sealed.map { $0 != .empty } ?? false
  }

  /// Saves the record of the device's own key at once, so that others can give it new keys before
  /// its first sync. Otherwise, that sync saves it.
  private static func announce(
    _ device: DeviceID, _ store: SQLiteReplicaStore, _ member: HomeAccess
  ) {
    let key = RecordKey(zone: KeyRing.zone, name: KeyHandover.deviceRecord(of: device))
    do {
      guard let record = try store.record(key), record.tag == 0 else { return }
      let mutation = Mutation(
        name: record.name, type: record.type, fields: record.fields,
        modifiedAt: record.modifiedAt, baseTag: 0)
      _ = try member.call.save([mutation], zone: key.zone, token: member.token)
    } catch {
      // The relay cannot be reached any more.
    }
  }

  /// Gives the home a key of its own, with which others give it new keys of the account; without
  /// effect if it has one, or not the account's keys. No agent may work on the store.
  package static func makeDeviceKey(
    _ replica: inout Replica<SQLiteReplicaStore>
  ) throws(CommandFailure) {
    try CommandFailure.wrap { () throws(StorageError) in
      try replica.makeDeviceKey(DeviceKeys.deviceSecret, wall: SystemClock.moment().wall)
    }
  }
}

extension HomeAccess {
  /// The relay's record of the account's keys.
  package var keyRing: KeyRingRecord { KeyRingRecord(call.client, token: token) }
}
