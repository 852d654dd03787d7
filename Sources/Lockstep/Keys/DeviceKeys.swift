import LockstepClient
import LockstepCrypto
import LockstepLanguage
import LockstepModel
import LockstepSealing
import LockstepStorage
import LockstepStorageSQLite
import LockstepWire

/// Keys with which a device seals its account's zones: how they are made, given to another device
/// and taken from one. They never leave a device unencrypted, unless a person writes them down.
package enum DeviceKeys {
  /// Zones that an account's keys do not seal: the record of the keys is sealed by itself.
  package static let plainZones: Set<Name> = [KeyRing.zone]

  /// Makes new keys for an account.
  package static func make(_ sealed: ZoneSet = .all(but: plainZones)) -> SealingKeys {
    let secrets = DevicePlatform.secrets
    guard let generation = KeyGeneration(secret: secrets.bytes(KeyGeneration.count)),
      let keys = AccountKeys(
        nameSecret: secrets.bytes(ZoneKeys.count), generations: [generation])
    else { preconditionFailure("as many bytes were drawn as keys have") }
    return .account(keys, sealed)
  }

  /// Random bytes for a device's own key.
  package static var deviceSecret: [UInt8] {
    DevicePlatform.secrets.bytes(X25519PrivateKey.byteCount)
  }

  // MARK: with a pairing code

  /// Returns the keys wrapped under the second half of a code; nil if there are none. Takes a tenth
  /// of a second.
  package static func wrapped(
    _ keys: SealingKeys?, of account: AccountID, _ secret: JoinSecret
  ) throws(LockstepError) -> String? {
    guard let keys else { return nil }
    do throws(WrappedKeys.Fault) {
      return try WrappedKeys.text(
        of: keys, account: account, secret: secret.letters,
        salt: DevicePlatform.secrets.bytes(WrappedKeys.saltBytes))
    } catch {
      throw .refused(
        reason: localized(
          "the account's keys cannot be given along: {reason}", ["reason": error.explanation]))
    }
  }

  /// Returns the keys that came with a code; nil if it carries none. Takes a tenth of a second.
  ///
  /// - Throws: `keysNotOpened`, also if the code has a second half and the relay's answer no keys:
  ///   a relay that withholds them must not get records that are not sealed.
  static func opened(_ joined: JoinAnswer, _ code: JoinCode) throws(LockstepError) -> SealingKeys? {
    guard let wrapped = joined.wrapped else {
      guard code.secret == nil else {
        throw notOpened(
          "that code has a second half, and the relay sent no keys that it opens",
          "get a new one; if the account is not sealed, give its first 12 letters alone")
      }
      return nil
    }
    let next = "get a new one, and give all of its 24 letters"
    guard let secret = code.secret else {
      throw notOpened("the account's records are sealed, and that code is its first half", next)
    }
    do throws(WrappedKeys.Fault) {
      return try WrappedKeys.keys(
        in: wrapped, account: joined.credentials.account, secret: secret.letters)
    } catch {
      throw notOpened(error.explanation, next)
    }
  }

  private static func notOpened(_ problem: String, _ next: String) -> LockstepError {
    .keysNotOpened(
      reason: "\(problem); this device has not joined, and the code is used up: \(next)")
  }

  /// Returns the account's sealed zones, for a device that has no keys; nil: not known, because the
  /// device is paired for a part of the account, and does not see the record of the keys.
  package static func sealedZones(
    _ credentials: Credentials, _ call: RelayClient
  ) throws(LockstepError) -> ZoneSet? {
    guard credentials.scope.zones == nil else { return nil }
    let ring = try call.record(KeyRing.record, zone: KeyRing.zone, token: credentials.token)
    return ring.map { KeyRing.sealedZones(in: $0.value) } ?? .empty
  }

  /// True if an account that its relay's owner has made has no other device, and no records yet.
  package static func isUnused(
    _ call: RelayClient, token: String
  ) throws(LockstepError) -> Bool {
    guard try call.devices(token: token).devices.count == 1 else { return false }
    let request = HTTPCallRequest("GET", path: ["v1", "changes"], token: token)
    let page = try call.decoded(try call.perform(request)) { body throws(Refusal) in
      try ChangePage.decoded(body: body)
    }
    return page.changes.isEmpty && !page.more
  }

  // MARK: in a home

  /// Keys that a home has, and what it lacks.
  package struct Held {
    /// nil: the home seals nothing.
    package let keys: SealingKeys?
    /// True if zones are sealed with keys that the home does not have.
    package let isLocked: Bool
  }

  /// Reason for which a device without the keys does not do what needs them.
  static var missing: LockstepError {
    .keysMissing(
      reason: "the account's records are sealed, and this device does not have the keys: call "
        + "restoreKeys with the recovery phrase, or join with a code of a device that has them")
  }

  static var noneOfAccount: LockstepError {
    .keysMissing(
      reason:
        "this device does not have the keys of a whole account: its account is not sealed, or "
        + "it was paired for some zones, or without the keys")
  }

  package static func held(in folder: HomeFolder) throws(LockstepError) -> Held {
    try HomeReading.perform(folder) { store throws(StorageError) in
      Held(keys: try Replica.keys(in: store), isLocked: try Replica.isLocked(store))
    }
  }
}
