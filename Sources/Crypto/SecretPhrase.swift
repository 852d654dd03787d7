/// A secret in words that a person can write down (`Proquints`): two bytes a word, and one word as
/// a checksum, the first two bytes of SHA-256 of the label and the secret.
package struct SecretPhrase: Sendable {
  private let secretCount: Int
  private let label: [UInt8]

  /// - Parameter secretCount: Bytes of the secret, an even number.
  /// - Parameter label: Distinguishes kinds of secrets: the phrase of one kind is not valid as that
  ///   of another.
  package init(secretCount: Int, label: String) {
    precondition(secretCount.isMultiple(of: 2), "a word stands for two bytes")
    self.secretCount = secretCount
    self.label = Array(label.utf8)
  }

  package var wordCount: Int { secretCount / 2 + 1 }

  /// Returns the words, separated by spaces.
  package func text(of secret: [UInt8]) -> String { Proquints.text(of: secret + checksum(secret)) }

  /// Reason why some words are not a valid phrase.
  package enum Fault: Error, Hashable, Sendable {
    /// Number of letters in all; five are required for each word.
    case letters(Int)
    /// The word at this position, from 1, is not a valid word.
    case word(Int)
    /// Every word is valid, but one is wrong, or two are swapped.
    case checksum
  }

  /// Returns the secret of these words. Upper and lower case and separators have no effect.
  package func secret(from text: String) throws(Fault) -> [UInt8] {
    let letters = text.lowercased().utf8.filter { (UInt8(ascii: "a")...UInt8(ascii: "z")) ~= $0 }
    guard letters.count == wordCount * Proquints.letterCount else { throw .letters(letters.count) }
    var bytes: [UInt8] = []
    for place in 0..<wordCount {
      let start = place * Proquints.letterCount
      guard let number = Proquints.number(letters[start..<start + Proquints.letterCount]) else {
        throw .word(place + 1)
      }
      bytes += [UInt8(number >> 8), UInt8(number & 0xFF)]
    }
    let secret = Array(bytes.prefix(secretCount))
    guard Array(bytes.suffix(2)) == checksum(secret) else { throw .checksum }
    return secret
  }

  private func checksum(_ secret: [UInt8]) -> [UInt8] {
    Array(SHA256.hash(label + secret).prefix(2))
  }
}
