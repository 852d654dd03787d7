/// Letters of codes that people read aloud and type: Crockford's base 32, which has no I, L, O or
/// U. A typed I, L or O counts as the digit that it resembles.
package enum CodeLetters {
  /// Number of letters in one part of a code: 60 bits.
  package static let count = 12

  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

  /// Returns the letters of one part. `word`: random bits, of which 60 are used.
  package static func draw(_ word: UInt64) -> [UInt8] {
    (0..<count).map { alphabet[Int(word >> UInt64(5 * $0) & 31)] }
  }

  /// Returns the letter for a typed one; nil if there is none.
  package static func meant(_ typed: UInt8) -> UInt8? {
    let letter = (UInt8(ascii: "a")...UInt8(ascii: "z")) ~= typed ? typed & ~0x20 : typed
    return switch letter {
    case UInt8(ascii: "O"): UInt8(ascii: "0")
    case UInt8(ascii: "I"), UInt8(ascii: "L"): UInt8(ascii: "1")
    default: alphabet.contains(letter) ? letter : nil
    }
  }

  /// Returns the letters in groups of four, `XXXX-XXXX-XXXX`.
  package static func grouped(_ letters: [UInt8]) -> String {
    stride(from: 0, to: letters.count, by: 4).map { start in
      String(decoding: letters[start..<min(start + 4, letters.count)], as: UTF8.self)
    }.joined(separator: "-")
  }
}
