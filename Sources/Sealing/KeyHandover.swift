import LockstepCrypto
import LockstepJSON
import LockstepModel

/// Records by which an account's devices give each other new keys, in the zone of `KeyRing`:
///
///     "device/ID"   type "deviceKey"   a device's public key: {"key", "sealed"}
///     "next/ID"     type "nextKeys"    all keys of the account for that device: {"by", "sealed"}
///
/// `key` is the id of the generation that seals the public key, `by` the author of the keys, and
/// `sealed` AES-256-SIV, as Base64 for URLs. The relay has no generation, so it can make no public
/// key known. The new keys are sealed with what author and addressee share (X25519), so a device
/// that was removed can make none in another's name.
package enum KeyHandover {
  package static let deviceType = Name(trusted: "deviceKey")
  package static let nextType = Name(trusted: "nextKeys")
  private static let devicePrefix = "device/"
  private static let nextPrefix = "next/"

  /// Device that a record of the zone is about.
  package enum Subject: Hashable, Sendable {
    case device(DeviceID)
    case next(DeviceID)
  }

  package static func deviceRecord(of device: DeviceID) -> Name {
    Name(trusted: devicePrefix + device.text)
  }

  package static func nextRecord(for device: DeviceID) -> Name {
    Name(trusted: nextPrefix + device.text)
  }

  /// Returns nil for any other record.
  package static func subject(of name: Name) -> Subject? {
    if name.text.hasPrefix(devicePrefix) {
      return DeviceID(text: String(name.text.dropFirst(devicePrefix.count))).map { .device($0) }
    }
    guard name.text.hasPrefix(nextPrefix) else { return nil }
    return DeviceID(text: String(name.text.dropFirst(nextPrefix.count))).map { .next($0) }
  }

  // MARK: public keys

  /// Returns the fields of the device's record.
  package static func fields(
    ofKey publicKey: [UInt8], of device: DeviceID, _ generation: KeyGeneration
  ) -> JSONValue {
    let bytes = deviceSeal(generation).sealed(publicKey, data: deviceData(device))
    return ["key": .string(generation.id), "sealed": .string(Base64.encodeURL(bytes))]
  }

  /// Returns the device's public key; nil if this generation has not sealed it.
  package static func publicKey(
    in fields: JSONValue?, of device: DeviceID, _ generation: KeyGeneration
  ) -> [UInt8]? {
    guard fields?["key"]?.string == generation.id,
      let sealed = fields?["sealed"]?.string.flatMap({ Base64.decodeURL($0) }),
      let bytes = deviceSeal(generation).opened(sealed, data: deviceData(device)),
      bytes.count == X25519PrivateKey.byteCount
    else { return nil }
    return bytes
  }

  private static func deviceSeal(_ generation: KeyGeneration) -> SIV {
    SIV(key: derived(generation.secret, Array("device key".utf8), SIV.keyBytes))
  }

  private static func deviceData(_ device: DeviceID) -> [UInt8] {
    Array("lockstep device key \(device.text)".utf8)
  }

  // MARK: new keys

  /// New keys of an account.
  package struct Next: Hashable, Sendable {
    package let all: SealingKeys
    /// Device that has made them.
    package let author: DeviceID
    /// Devices that do not get them.
    package let without: [DeviceID]

    package init(_ all: SealingKeys, author: DeviceID, without: [DeviceID]) {
      self.all = all
      self.author = author
      self.without = without
    }
  }

  /// Returns the fields of the record for `device`; nil if its public key is no key.
  ///
  /// - Parameters:
  ///   - publicKey: The addressee's.
  ///   - key: The author's.
  package static func fields(
    of next: Next, for device: DeviceID, _ publicKey: [UInt8], key: X25519PrivateKey
  ) -> JSONValue? {
    guard let seal = nextSeal(key, publicKey) else { return nil }
    let content: JSONValue = [
      "keys": next.all.storedValue, "without": .array(next.without.map { .string($0.text) }),
    ]
    let bytes = seal.sealed(
      Array(content.text.utf8), data: nextData(from: next.author, to: device))
    return ["by": .string(next.author.text), "sealed": .string(Base64.encodeURL(bytes))]
  }

  /// Returns the device that says that it has made the record; nil if it is not one.
  package static func author(of fields: JSONValue?) -> DeviceID? {
    fields?["by"]?.string.flatMap { DeviceID(text: $0) }
  }

  /// Returns the new keys; nil unless the author whose public key this is has made them for this
  /// device.
  package static func next(
    in fields: JSONValue?, for device: DeviceID, by author: DeviceID, _ publicKey: [UInt8],
    key: X25519PrivateKey
  ) -> Next? {
    guard let sealed = fields?["sealed"]?.string.flatMap({ Base64.decodeURL($0) }),
      let bytes = nextSeal(key, publicKey)?.opened(
        sealed, data: nextData(from: author, to: device)),
      let content = JSONValue(ifJSON: bytes),
      let keys = content["keys"].flatMap({ SealingKeys(stored: $0) })
    else { return nil }
    let without = (content["without"]?.array ?? []).compactMap { id in
      id.string.flatMap { DeviceID(text: $0) }
    }
    return Next(keys, author: author, without: without)
  }

  private static func nextSeal(_ key: X25519PrivateKey, _ publicKey: [UInt8]) -> SIV? {
    key.sharedSecret(with: publicKey).map { shared in
      SIV(key: derived(shared, Array("next keys".utf8), SIV.keyBytes))
    }
  }

  private static func nextData(from author: DeviceID, to device: DeviceID) -> [UInt8] {
    Array("lockstep next keys \(author.text) \(device.text)".utf8)
  }
}
