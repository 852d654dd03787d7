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
  public init?(text: String) { self.init(digits: text.utf8Span.span.bytes) }

  /// nil where `digits` are not 64 hexadecimal ones, in ASCII.
  package init?(digits: RawSpan) {
    guard digits.byteCount == 64, let first = Self.word(digits, 0),
      let second = Self.word(digits, 16), let third = Self.word(digits, 32),
      let fourth = Self.word(digits, 48)
    else { return nil }
    words = (first, second, third, fourth)
  }

  private static func word(_ digits: RawSpan, _ start: Int) -> UInt64? {
    guard let high = half(digits, start), let low = half(digits, start + 8) else { return nil }
    return high << 32 | low
  }

  /// Eight digits at once, each in its byte, and without a branch: a record may name thousands of
  /// pieces, and no predictor guesses which of their digits are letters.
  private static func half(_ digits: RawSpan, _ start: Int) -> UInt64? {
    let text = UInt64(bigEndian: digits.unsafeLoadUnaligned(fromByteOffset: start, as: UInt64.self))
    let each: UInt64 = 0x0101_0101_0101_0101
    let top = each << 7
    // In a sum of two bytes below 0x80 the top bit tells whether they make 0x80.
    let plain = text & ~top
    let lower = plain | each << 5
    let numerals = (plain + 0x50 * each) & ~(plain + 0x46 * each) & top
    let letters = (lower + 0x1F * each) & ~(lower + 0x19 * each) & top
    guard text & top == 0, numerals | letters == top else { return nil }
    var value = (text & (0x0F * each)) + 9 * (letters >> 7)
    value = (value | value >> 4) & 0x00FF_00FF_00FF_00FF
    value = (value | value >> 8) & 0x0000_FFFF_0000_FFFF
    return (value | value >> 16) & 0xFFFF_FFFF
  }

  public var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(32)
    append(to: &bytes)
    return bytes
  }

  /// Adds its 32 bytes. A record may name thousands of pieces, so none of them takes memory of its
  /// own on the way.
  public func append(to bytes: inout [UInt8]) {
    let ordered = (
      words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian
    )
    withUnsafeBytes(of: ordered) { bytes.append(contentsOf: $0) }
  }

  /// 64 lowercase hexadecimal digits, as on the wire.
  public var text: String {
    HexText.text(words.0) + HexText.text(words.1) + HexText.text(words.2) + HexText.text(words.3)
  }

  public static func == (left: Self, right: Self) -> Bool { left.words == right.words }

  public static func < (left: Self, right: Self) -> Bool { left.words < right.words }

  /// Of all words: whoever asks about pieces chooses the hashes, and may choose them alike in part.
  public func hash(into hasher: inout Hasher) {
    withUnsafeBytes(of: words) { hasher.combine(bytes: $0) }
  }
}
