import Lockstep
import LockstepClient
import LockstepCommandLine
import LockstepCrypto
import LockstepEventLoop
import LockstepJSON
import LockstepModel
import LockstepSealing
import LockstepStorage
import LockstepStorageSQLite
import LockstepWire

/// New keys that a home has made for its account.
package struct NewKeys {
  /// Keys that the home has from now on.
  package let keys: SealingKeys
  /// Other devices that get them with their next sync.
  package let receivers: [Device]
  /// Other devices of the whole account that do not get them, because they have not made a public
  /// key known: they must be paired again.
  package let others: [Device]

  /// Makes new keys, and saves them for all devices but `gone`.
  package static func make(
    _ session: HomeSession, without gone: [DeviceID] = []
  ) throws(CommandFailure) -> NewKeys {
    // Others may have made newer keys, or joined.
    _ = try session.send(.sync(milliseconds: HomeSession.patienceMilliseconds))
    let member = try HomeAccess(of: session)
    let devices = try member.call.devices(token: member.token).devices
    let own = HomeStatus(json: try session.send(.status)).device
    guard let device = DeviceID(text: own) else {
      throw CommandFailure("the process that holds the home has another version; stop it")
    }
    let home = try Home(session.folder)
    guard
      let rotation = KeyRotation(
        of: home.keys, secret: Entropy.secrets.bytes(KeyGeneration.count), by: device,
        home.deviceKey, for: home.members, listed: devices.map(\.id), without: gone)
    else {
      throw CommandFailure(
        "this account has had \(Limits.keyGenerations) keys, and can have no more of them")
    }
    try save(rotation, over: home, member)
    _ = try session.send(HomeKeys.request(rotation.keys))
    let remaining = devices.filter {
      $0.id != device && !gone.contains($0.id) && $0.scope.zones == nil
    }
    return NewKeys(
      keys: rotation.keys,
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

    init(_ folder: HomeFolder) throws(CommandFailure) {
      let found = try CommandFailure.wrap { () throws(StorageError) in
        let store = try SQLiteReplicaStore(reading: folder.path)
        defer { store.close() }
        return (
          try Replica.keys(in: store), try Replica.deviceKey(in: store),
          try Replica.members(in: store),
          try store.records(zone: KeyRing.zone, type: nil).map(\.name)
        )
      }
      guard let keys = found.0, keys.current != nil else {
        throw CommandFailure(
          "the home \(folder.path) does not have the account's keys, so it cannot make new ones")
      }
      guard let deviceKey = found.1 else {
        throw CommandFailure(
          "this device has not made its own key known yet; run lockstep agent sync --home "
            + "\(folder.path), then try again")
      }
      self.keys = keys
      self.deviceKey = deviceKey
      members = found.2
      recordNames = found.3
    }
  }

  /// Saves all records or none. The record of the keys decides: no other device may have replaced
  /// it since this home's keys were the newest.
  private static func save(
    _ rotation: KeyRotation, over home: Home, _ member: HomeAccess
  ) throws(CommandFailure) {
    let (call, token) = (member.call, member.token)
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
      case .refused(_, let refusal): throw CommandFailure(refusal.detail)
      }
    }
  }

  private static var isOvertaken: CommandFailure {
    CommandFailure(
      "another device has just changed the account's keys; run lockstep agent sync, then try again")
  }

  package var json: JSONValue {
    [
      "words": .string(keys.current?.checkWords ?? ""), "key": .string(keys.current?.id ?? ""),
      "receivers": .array(receivers.map { .string($0.id.text) }),
      "pairAgain": .array(others.map { .string($0.id.text) }),
    ]
  }

  /// Several lines for a person.
  package var text: String {
    var lines = ["The account has new keys. All devices with them show these six words:"]
    lines.append("  " + (keys.current?.checkWords ?? ""))
    if !receivers.isEmpty {
      let verb = receivers.count == 1 ? "gets" : "get"
      lines.append("\(Self.names(receivers)) \(verb) them with the next sync.")
    }
    if !others.isEmpty {
      lines.append(
        "\(Self.names(others)) cannot get them: pair again with a code of lockstep agent pair.")
    }
    lines.append("A phrase that was written down before is void: print lockstep agent key phrase.")
    return lines.joined(separator: "\n")
  }

  private static func names(_ devices: [Device]) -> String {
    devices.map { Log.oneLine($0.description.deviceName) }.joined(separator: ", ")
  }
}
