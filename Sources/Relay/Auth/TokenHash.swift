/// Hash of a device's token (SHA-256). It needs no memory besides its 32 bytes, because each
/// session has one.
struct TokenHash: Equatable, Sendable {
  private let first, second, third, fourth: UInt64

  /// `bytes`: the hash as the store knows it.
  init(_ bytes: [UInt8]) {
    precondition(bytes.count == 32, "a token's hash has 32 bytes")
    func word(at start: Int) -> UInt64 {
      bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
    (first, second, third, fourth) = (word(at: 0), word(at: 8), word(at: 16), word(at: 24))
  }

  /// The hash as the store knows it.
  var bytes: [UInt8] {
    [first, second, third, fourth].flatMap { word in
      stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
    }
  }

  /// Compares all bytes, so that the time does not show where two hashes differ.
  static func == (left: Self, right: Self) -> Bool {
    (left.first ^ right.first) | (left.second ^ right.second) | (left.third ^ right.third)
      | (left.fourth ^ right.fourth) == 0
  }
}
