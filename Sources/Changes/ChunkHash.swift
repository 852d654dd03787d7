/// The name of a piece of a file: the SHA-256 of its bytes (docs/protocol.md, "Pieces of files").
public struct ChunkHash: Hashable, Comparable, Sendable {
  /// The 32 bytes, eight a word, so that a hash needs no memory of its own.
  private let words: (UInt64, UInt64, UInt64, UInt64)

  /// nil where there are not 32 bytes.
  public init?(bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    func word(_ index: Int) -> UInt64 {
      bytes[8 * index..<8 * index + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
    words = (word(0), word(1), word(2), word(3))
  }

  /// nil where `text` is not 64 hexadecimal digits.
  public init?(text: String) {
    let digits = text.utf8Span.span
    guard digits.count == 64 else { return nil }
    var words: [4 of UInt64] = [0, 0, 0, 0]
    for index in digits.indices {
      guard let digit = HexText.digit(digits[index]) else { return nil }
      words[index / 16] = words[index / 16] << 4 | UInt64(digit)
    }
    self.words = (words[0], words[1], words[2], words[3])
  }

  public var bytes: [UInt8] {
    [words.0, words.1, words.2, words.3].flatMap { word in
      stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
    }
  }

  /// 64 lowercase hexadecimal digits, as on the wire.
  public var text: String {
    HexText.text(words.0) + HexText.text(words.1) + HexText.text(words.2) + HexText.text(words.3)
  }

  public static func == (left: Self, right: Self) -> Bool { left.words == right.words }

  public static func < (left: Self, right: Self) -> Bool { left.words < right.words }

  /// Of all words: whoever asks about pieces chooses the hashes, and may choose them alike in part.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(words.0)
    hasher.combine(words.1)
    hasher.combine(words.2)
    hasher.combine(words.3)
  }
}
