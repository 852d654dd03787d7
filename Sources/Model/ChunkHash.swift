import LockstepJSON

/// Name of a chunk of a file: the SHA-256 of its bytes (docs/protocol.md, "Chunks of files").
@usableFromInline
package struct ChunkHash: Hashable, Comparable, Sendable {
  /// The 32 bytes, eight per word, so that a hash needs no heap memory.
  private let words: (UInt64, UInt64, UInt64, UInt64)

  /// Returns nil if there are not exactly 32 bytes.
  @usableFromInline
  package init?(bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    func word(_ index: Int) -> UInt64 {
      bytes[8 * index..<8 * index + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
    words = (word(0), word(1), word(2), word(3))
  }

  /// Returns nil if `text` is not 64 hexadecimal digits.
  @usableFromInline
  package init?(text: String) {
    guard let hash = text.withUTF8Bytes({ ChunkHash(digits: $0.bytes) }) else { return nil }
    self = hash
  }

  /// Returns nil if `digits` are not 64 hexadecimal digits in ASCII.
  package init?(digits: RawSpan) {
    guard digits.byteCount == 64, let first = HexText.word(digits, at: 0),
      let second = HexText.word(digits, at: 16), let third = HexText.word(digits, at: 32),
      let fourth = HexText.word(digits, at: 48)
    else { return nil }
    words = (first, second, third, fourth)
  }

  @usableFromInline
  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(32)
    append(to: &bytes)
    return bytes
  }

  /// Appends the 32 bytes. A record may name thousands of chunks, so no array is allocated for
  /// each.
  @usableFromInline
  package func append(to bytes: inout [UInt8]) {
    let ordered = (
      words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian
    )
    withUnsafeBytes(of: ordered) { bytes.append(contentsOf: $0) }
  }

  /// 64 lowercase hexadecimal digits, as on the wire.
  @usableFromInline
  package var text: String {
    HexText.text(words.0) + HexText.text(words.1) + HexText.text(words.2) + HexText.text(words.3)
  }

  @usableFromInline
  package static func == (left: Self, right: Self) -> Bool { left.words == right.words }

  @usableFromInline
  package static func < (left: Self, right: Self) -> Bool { left.words < right.words }

  /// Hashes all words: a client chooses the hashes that it asks about, and may choose hashes that
  /// are equal in part.
  @usableFromInline
  package func hash(into hasher: inout Hasher) {
    withUnsafeBytes(of: words) { hasher.combine(bytes: $0) }
  }
}

extension JSONScanner {
  /// Reads the next string as a hash; nil if it is not one.
  package mutating func chunkHash() throws(JSONFault) -> ChunkHash? {
    let text = try text()
    if text.hasEscapes { return ChunkHash(text: try string(text)) }
    return ChunkHash(digits: bytes.extracting(text.range))
  }
}
