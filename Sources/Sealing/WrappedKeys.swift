import LockstepCrypto
import LockstepJSON
import LockstepLanguage
import LockstepModel

/// Keys that a pairing code carries to the device that joins: wrapped by the device that issued the
/// code, under the code's second half, which the relay never learns.
///
///      1 byte     01
///     16 bytes    salt
///      n bytes    AES-256-SIV of {"account": ID, "keys": `SealingKeys.storedValue`}
///
/// Base64 for URLs without padding. The key of the seal is scrypt of the second half's letters,
/// with "lockstep wrapped keys", a zero byte and the salt as its salt; the associated data are
/// "lockstep wrapped keys" and the first byte.
package enum WrappedKeys {
  package enum Fault: Error, Hashable {
    /// The text is not the wrapped form of any keys.
    case malformed
    /// The second half of the code is another.
    case wrongSecret
    /// The keys are those of another account.
    case otherAccount
    /// The wrapped form is longer than a relay takes (`Limits.wrappedKeyCharacters`).
    case tooLong
    /// This machine has not the memory that scrypt takes.
    case noMemory

    /// Sentence for a person, without a full stop.
    package var explanation: String {
      switch self {
      case .malformed:
        localized(
          "the keys that came with that code are in a form this version does not "
            + "know")
      case .wrongSecret: localized("the second half of that code is wrong")
      case .otherAccount:
        localized("the keys that came with that code are those of another account")
      case .tooLong: localized("there are too many of them for one code; name fewer zones")
      case .noMemory:
        localized(
          "this machine has not the {size} MiB of memory that a code's second "
            + "half takes; try again when others need less", ["size": "\(Limits.scryptBytes >> 20)"]
        )
      }
    }
  }

  /// Length of a salt in bytes.
  package static let saltBytes = 16
  private static let version: UInt8 = 1
  private static let label = Array("lockstep wrapped keys".utf8)
  /// Cost per guess: about a tenth of a second and 64 MiB.
  private static let strength = Scrypt(cost: 1 << 16, blocks: 8, lanes: 1)

  /// Returns the wrapped form.
  ///
  /// - Parameters:
  ///   - secret: Twelve letters, in upper case and without separators.
  ///   - salt: `saltBytes` random bytes.
  package static func text(
    of keys: SealingKeys, account: AccountID, secret: [UInt8], salt: [UInt8]
  ) throws(Fault) -> String {
    guard let seal = seal(secret, salt) else { throw .noMemory }
    let content: JSONValue = ["account": .string(account.text), "keys": keys.storedValue]
    let sealed = seal.sealed(Array(content.text.utf8), data: label + [version])
    let text = Base64.encodeURL([version] + salt + sealed)
    guard text.utf8.count <= Limits.wrappedKeyCharacters else { throw .tooLong }
    return text
  }

  /// Returns the keys in the wrapped form.
  package static func keys(
    in text: String, account: AccountID, secret: [UInt8]
  ) throws(Fault) -> SealingKeys {
    guard text.utf8.count <= Limits.wrappedKeyCharacters, let bytes = Base64.decodeURL(text),
      bytes.first == version, bytes.count > 1 + saltBytes + SIV.overhead
    else { throw .malformed }
    guard let seal = seal(secret, Array(bytes[1...saltBytes])) else { throw .noMemory }
    guard let opened = seal.opened(Array(bytes[(1 + saltBytes)...]), data: label + [version])
    else { throw .wrongSecret }
    guard let content = JSONValue(ifJSON: opened), let id = content["account"]?.string,
      let keys = content["keys"].flatMap({ SealingKeys(stored: $0) })
    else { throw .malformed }
    guard id == account.text else { throw .otherAccount }
    return keys
  }

  private static func seal(_ secret: [UInt8], _ salt: [UInt8]) -> SIV? {
    strength.derive(
      secret, salt: label + [0] + salt, count: SIV.keyBytes, memoryBytes: Limits.scryptBytes
    ).map { SIV(key: $0) }
  }
}
