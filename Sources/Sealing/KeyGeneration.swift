import LockstepCrypto
import LockstepLanguage
import LockstepModel

/// One generation of an account's key: a secret that the account's devices share and the relay
/// never learns. A later generation does not follow from an earlier one, so that a device which was
/// revoked in between does not know it.
///
///     HKDF-SHA-256(secret, salt "lockstep account", info)
///       "id"                      8 bytes    identifies the generation; not secret
///       "check words"             12 bytes   for two people to compare
///       "zone" ‖ 00 ‖ ZONE        32 bytes   the zone's key, see `ZoneKeys`
///       "ring"                    64 bytes   seals the record of all keys, see `KeyRing`
///       "device key"              64 bytes   seals a device's public key, see `KeyHandover`
///     HKDF-SHA-256(secret ‖ secret of the one with the greater id, salt "lockstep account", info)
///       "merge"                   32 bytes   the generation that follows from both
package struct KeyGeneration: Hashable, Sendable {
  /// Number of bytes of a secret: 256 random bits.
  package static let count = 32

  package let secret: [UInt8]
  /// Identifier, sixteen hexadecimal digits; not secret.
  package let id: String

  /// Returns nil if there are not exactly `count` bytes.
  package init?(secret: [UInt8]) {
    guard secret.count == KeyGeneration.count else { return nil }
    self.secret = secret
    id = HexText.text(of: derived(secret, Array("id".utf8), 8))
  }

  /// Six words that are the same on two devices if both have this generation, separated by spaces.
  /// They do not reveal the secret.
  package var checkWords: String {
    Proquints.text(of: derived(secret, Array("check words".utf8), 12))
  }

  func zoneKey(_ zone: Name) -> [UInt8] { LockstepSealing.zoneKey(of: secret, zone) }

  /// Returns the generation that follows from both, which nobody has who lacks one of them.
  fileprivate func merged(with other: KeyGeneration) -> KeyGeneration? {
    let (first, second) = id < other.id ? (self, other) : (other, self)
    return KeyGeneration(
      secret: derived(first.secret + second.secret, Array("merge".utf8), KeyGeneration.count))
  }
}

extension KeyGeneration: CustomStringConvertible, CustomReflectable {
  /// Hides the secret in logs.
  package var description: String { "key generation \(id)" }

  package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

/// An account's keys: every generation that a device has, and the secret of the records' names.
package struct AccountKeys: Hashable, Sendable {
  /// Secret of the records' names, 32 random bytes. No rotation changes it: a record keeps its
  /// name.
  package let nameSecret: [UInt8]
  /// Generations, oldest first; at least one, at most `Limits.keyGenerations`. The last one seals.
  package let generations: [KeyGeneration]

  /// Returns nil if the name secret does not have 32 bytes, or there are no generations, too many,
  /// or one of them twice.
  package init?(nameSecret: [UInt8], generations: [KeyGeneration]) {
    guard nameSecret.count == 32, (1...Limits.keyGenerations).contains(generations.count),
      Set(generations.map(\.id)).count == generations.count
    else { return nil }
    self.nameSecret = nameSecret
    self.generations = generations
  }

  /// Returns these keys with one more generation, which seals from now on; nil if there are too
  /// many, or it is among them.
  package func adding(_ generation: KeyGeneration) -> AccountKeys? {
    AccountKeys(nameSecret: nameSecret, generations: generations + [generation])
  }

  /// Returns the keys that a device has which gets the others. If two devices have made a
  /// generation at the same time, each without another device, neither may seal: what follows from
  /// both does, on all devices that have both. nil: they are of another account, or too many.
  package func joined(with others: AccountKeys) -> AccountKeys? {
    guard nameSecret == others.nameSecret else { return nil }
    if others.generations.allSatisfy(generations.contains) { return self }
    if generations.allSatisfy(others.generations.contains) { return others }
    let added = others.generations.filter { !generations.contains($0) }
    var all = generations + added
    if let own = generations.last, let other = others.generations.last,
      let merged = own.merged(with: other)
    {
      all.removeAll { $0 == merged }
      all.append(merged)
    }
    return AccountKeys(nameSecret: nameSecret, generations: all)
  }

  /// Returns the keys of one zone. They reveal nothing about other zones.
  package func keys(of zone: Name) -> ZoneKeys {
    ZoneKeys(
      zone: zone, names: zoneKey(of: nameSecret, zone),
      generations: generations.map { ZoneKeys.Generation(id: $0.id, key: $0.zoneKey(zone)) })
  }
}

extension AccountKeys: CustomStringConvertible, CustomReflectable {
  /// Hides the secrets in logs.
  package var description: String { "account keys \(generations.map(\.id))" }

  package var customMirror: Mirror { Mirror(self, children: ["generations": generations]) }
}

func derived(_ secret: [UInt8], _ info: [UInt8], _ count: Int) -> [UInt8] {
  HKDF.derive(secret, salt: Array("lockstep account".utf8), info: info, count: count)
}

private func zoneKey(of secret: [UInt8], _ zone: Name) -> [UInt8] {
  derived(secret, Array("zone".utf8) + [0] + Array(zone.text.utf8), ZoneKeys.count)
}

/// A generation's secret in words that a person can write down: sixteen words, and one as a
/// checksum.
package enum KeyPhrase {
  private static let form = SecretPhrase(
    secretCount: KeyGeneration.count, label: "lockstep account phrase")

  package typealias Fault = SecretPhrase.Fault

  package static var wordCount: Int { form.wordCount }

  /// Returns seventeen words, separated by spaces.
  package static func text(of generation: KeyGeneration) -> String {
    form.text(of: generation.secret)
  }

  /// Returns the generation of these words. Upper and lower case and separators have no effect.
  package static func generation(from text: String) throws(Fault) -> KeyGeneration {
    guard let generation = KeyGeneration(secret: try form.secret(from: text)) else {
      throw .checksum
    }
    return generation
  }

  /// Returns a sentence for a person, without a full stop.
  package static func explanation(_ fault: Fault) -> String {
    switch fault {
    case .letters(let count):
      localized(
        "a recovery phrase of an account has {words} words of five letters, "
          + "{letters} letters in all, and this has {count}; nothing was changed",
        ["words": "\(wordCount)", "letters": "\(5 * wordCount)", "count": "\(count)"])
    case .word(let place):
      localized(
        "word {place} is misspelt: it cannot be in a recovery phrase; nothing "
          + "was changed", ["place": "\(place)"])
    case .checksum:
      localized(
        "the checksum is wrong: a word is misspelt, or two are swapped; nothing "
          + "was changed")
    }
  }
}
