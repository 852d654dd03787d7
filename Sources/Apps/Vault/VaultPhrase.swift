import LockstepCrypto

/// A vault's key in words that a person can write down and speak: proquints (arXiv 0901.4016), five
/// letters for 16 bits; eight words for the key, and one as a checksum.
///
///     bits   0…3   4…5   6…9   10…11  12…15
///            bdfghjklmnprstvz at 0, 2 and 4; aiou at 1 and 3
package enum VaultPhrase {
  package static let wordCount = 9

  private static let consonants = Array("bdfghjklmnprstvz".utf8)
  private static let vowels = Array("aiou".utf8)
  private static let letterCount = 5

  /// Returns nine words, separated by spaces.
  package static func text(of key: VaultKey) -> String {
    let bytes = key.bytes + checksum(key)
    return stride(from: 0, to: bytes.count, by: 2).map { index in
      word(UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1]))
    }.joined(separator: " ")
  }

  /// Reason why some words are not a valid phrase.
  package enum Fault: Error, Hashable, Sendable {
    /// Number of letters in all; 45 are required.
    case letters(Int)
    /// The word at this position, from 1, is not a valid word.
    case word(Int)
    /// Every word is valid, but one is wrong, or two are swapped.
    case checksum
  }

  /// Returns the key of these words. Upper and lower case and separators have no effect.
  package static func key(from text: String) throws(Fault) -> VaultKey {
    let letters = text.lowercased().utf8.filter { (UInt8(ascii: "a")...UInt8(ascii: "z")) ~= $0 }
    guard letters.count == wordCount * letterCount else { throw .letters(letters.count) }
    var bytes: [UInt8] = []
    for place in 0..<wordCount {
      let start = place * letterCount
      guard let number = number(Array(letters[start..<start + letterCount])) else {
        throw .word(place + 1)
      }
      bytes += [UInt8(number >> 8), UInt8(number & 0xFF)]
    }
    guard let key = VaultKey(bytes: Array(bytes.prefix(VaultKey.count))),
      Array(bytes.suffix(2)) == checksum(key)
    else { throw .checksum }
    return key
  }

  static func word(_ number: UInt16) -> String {
    let letters = [
      consonants[Int(number >> 12)], vowels[Int(number >> 10 & 3)],
      consonants[Int(number >> 6 & 15)], vowels[Int(number >> 4 & 3)],
      consonants[Int(number & 15)],
    ]
    return String(decoding: letters, as: UTF8.self)
  }

  /// Returns nil if one of the five letters is not allowed at its position.
  static func number(_ letters: [UInt8]) -> UInt16? {
    var number: UInt16 = 0
    for (place, letter) in letters.enumerated() {
      let isVowel = place == 1 || place == 3
      guard let value = (isVowel ? vowels : consonants).firstIndex(of: letter) else { return nil }
      number = number << (isVowel ? 2 : 4) | UInt16(value)
    }
    return number
  }

  private static func checksum(_ key: VaultKey) -> [UInt8] {
    Array(SHA256.hash(Array("lockstep vault phrase".utf8) + key.bytes).prefix(2))
  }
}
