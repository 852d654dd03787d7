/// Words that a person can write down and speak: proquints (arXiv 0901.4016), five letters for 16
/// bits.
///
///     bits   0…3   4…5   6…9   10…11  12…15
///            bdfghjklmnprstvz at 0, 2 and 4; aiou at 1 and 3
package enum Proquints {
  /// Letters of a word.
  package static let letterCount = 5

  private static let consonants = Array("bdfghjklmnprstvz".utf8)
  private static let vowels = Array("aiou".utf8)

  package static func word(_ number: UInt16) -> String {
    let letters = [
      consonants[Int(number >> 12)], vowels[Int(number >> 10 & 3)],
      consonants[Int(number >> 6 & 15)], vowels[Int(number >> 4 & 3)],
      consonants[Int(number & 15)],
    ]
    return String(decoding: letters, as: UTF8.self)
  }

  /// Returns nil if one of the five letters is not allowed at its position.
  package static func number(_ letters: some Collection<UInt8>) -> UInt16? {
    guard letters.count == letterCount else { return nil }
    var number: UInt16 = 0
    for (place, letter) in letters.enumerated() {
      let isVowel = place == 1 || place == 3
      guard let value = (isVowel ? vowels : consonants).firstIndex(of: letter) else { return nil }
      number = number << (isVowel ? 2 : 4) | UInt16(value)
    }
    return number
  }

  /// Returns the words of `bytes`, an even number of them, separated by spaces.
  package static func text(of bytes: [UInt8]) -> String {
    precondition(bytes.count.isMultiple(of: 2), "a word stands for two bytes")
    return stride(from: 0, to: bytes.count, by: 2).map { index in
      word(UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1]))
    }.joined(separator: " ")
  }
}
