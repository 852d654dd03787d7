import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepCrypto
import LockstepEventLoop
import LockstepModel
import LockstepSealing
import LockstepStorage
import LockstepStorageSQLite
import LockstepWire

/// Keys with which a home seals its account's zones: how they are made, given to another device and
/// taken from one. They never leave a device unencrypted, unless a person writes them down.
package enum HomeKeys {
  /// Zones that an account's keys do not seal: the record of the keys is sealed by itself.
  package static let plainZones: Set<Name> = [KeyRing.zone]

  /// Returns the keys of the home; nil if it seals nothing. Another process may hold the home.
  package static func keys(in folder: HomeFolder) throws(CommandFailure) -> SealingKeys? {
    try CommandFailure.wrap { () throws(StorageError) in
      let store = try SQLiteReplicaStore(reading: folder.path)
      defer { store.close() }
      return try Replica.keys(in: store)
    }
  }

  /// Returns the request that gives a home these keys, and a key of its own if it has none.
  package static func request(_ keys: SealingKeys, taking zone: Name? = nil) -> HomeRequest {
    .seal(
      keys, taking: zone, deviceSecret: Entropy.secrets.bytes(X25519PrivateKey.byteCount))
  }

  /// Makes new keys for an account.
  package static func make(_ sealed: ZoneSet = .all(but: plainZones)) -> SealingKeys {
    guard let generation = KeyGeneration(secret: Entropy.secrets.bytes(KeyGeneration.count)),
      let keys = AccountKeys(
        nameSecret: Entropy.secrets.bytes(ZoneKeys.count), generations: [generation])
    else { preconditionFailure("as many bytes were drawn as keys have") }
    return .account(keys, sealed)
  }

  /// True if an account that its relay's owner has made has no other device, and no records yet.
  package static func isUnused(_ member: HomeAccess) throws(CommandFailure) -> Bool {
    guard try member.call.devices(token: member.token).devices.count == 1 else { return false }
    let request = HTTPCallRequest("GET", path: ["v1", "changes"], token: member.token)
    let page = try member.call.decoded(try member.call.perform(request)) {
      body throws(Refusal) in try ChangePage.decoded(body: body)
    }
    return page.changes.isEmpty && !page.more
  }

  /// Returns the keys wrapped under the second half of a code; nil if there are none.
  package static func wrapped(
    _ keys: SealingKeys?, of account: AccountID, _ secret: JoinSecret
  ) throws(CommandFailure) -> String? {
    guard let keys else { return nil }
    do throws(WrappedKeys.Fault) {
      return try WrappedKeys.text(
        of: keys, account: account, secret: secret.letters,
        salt: Entropy.secrets.bytes(WrappedKeys.saltBytes))
    } catch {
      throw CommandFailure("the account's keys cannot be given along: " + reason(error))
    }
  }

  /// Returns the keys that came with a pairing code.
  package static func unwrapped(
    _ text: String, of account: AccountID, _ secret: JoinSecret
  ) throws(WrappedKeys.Fault) -> SealingKeys {
    try WrappedKeys.keys(in: text, account: account, secret: secret.letters)
  }

  /// Returns a sentence about a fault, without a full stop.
  package static func reason(_ fault: WrappedKeys.Fault) -> String {
    switch fault {
    case .malformed: "the keys that came with that code are in a form this version does not know"
    case .wrongSecret: "the second half of that code is wrong"
    case .otherAccount: "the keys that came with that code are those of another account"
    case .tooLong: "there are too many of them for one code; name fewer zones"
    case .noMemory:
      "this machine has not the \(Limits.scryptBytes >> 20) MiB of memory that a code's second "
        + "half takes; try again when others need less"
    }
  }

  /// True if the account's records are sealed, and the home does not have the keys.
  package static func isLocked(_ folder: HomeFolder) throws(CommandFailure) -> Bool {
    try CommandFailure.wrap { () throws(StorageError) in
      let store = try SQLiteReplicaStore(reading: folder.path)
      defer { store.close() }
      return try Replica.isLocked(store)
    }
  }

  /// True if records of the zone are sealed, and the home does not have the keys.
  package static func isLocked(
    _ zone: Name, _ folder: HomeFolder
  ) throws(CommandFailure) -> Bool {
    try CommandFailure.wrap { () throws(StorageError) in
      let store = try SQLiteReplicaStore(reading: folder.path)
      defer { store.close() }
      return try Replica.isLocked(zone, in: store)
    }
  }

  /// Makes the home a device of the account, with these keys if there are any: both or neither.
  /// Returns true if the account's records are sealed, and the home has no keys then: it reads and
  /// changes nothing until it has.
  package static func join(
    _ identity: HomeIdentity, _ keys: SealingKeys?, _ folder: HomeFolder,
    _ store: SQLiteReplicaStore, _ member: HomeAccess
  ) throws(CommandFailure) -> Bool {
    let held = try CommandFailure.wrap { () throws(StorageError) in try Replica.keys(in: store) }
    var ring: Record?
    if keys == nil, held == nil, identity.credentials.scope.zones == nil {
      ring = try member.call.record(KeyRing.record, zone: KeyRing.zone, token: member.token)
    }
    // Before the identity, without which nothing is sent.
    if keys == nil, held == nil {
      try CommandFailure.wrap { () throws(StorageError) in
        try Replica.setLock(of: store, by: ring?.value)
      }
    }
    let apps = AppCatalog.all(vaultSeal: VaultKeys.source(in: folder))
    var replica = Replica(store: store, apps: apps + (try HomeRules(of: folder)).apps)
    let failure = try CommandFailure.wrap { () throws(StorageError) in
      try replica.join(identity, keys, wall: SystemClock.moment().wall)
    }
    if let failure { throw CommandFailure(failure.explanation) }
    try makeDeviceKey(&replica)
    announce(identity.credentials.device, store, member)
    return ring != nil
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
    let secret = Entropy.secrets.bytes(X25519PrivateKey.byteCount)
    try CommandFailure.wrap { () throws(StorageError) in
      try replica.makeDeviceKey(secret, wall: SystemClock.moment().wall)
    }
  }
}
