/// Incremental check that bytes are UTF-8 (RFC 3629): no overlong forms, no surrogates and nothing
/// above U+10FFFF. Fails at the first byte that no continuation can make valid.
struct UTF8Check: Sendable {
  /// Continuation bytes that the current character still needs.
  private var missing: UInt8 = 0
  /// Bounds of the next continuation byte; narrower after some first bytes.
  private var low: UInt8 = 0x80
  private var high: UInt8 = 0xBF

  /// True if the bytes so far end with a complete character.
  var isComplete: Bool { missing == 0 }

  /// Returns false if the bytes so far cannot begin a valid text.
  mutating func accepts(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while index < bytes.count {
      if missing == 0 {
        index = UTF8Check.skipASCII(bytes, from: index)
        guard index < bytes.count else { return true }
      }
      guard accepts(bytes[index]) else { return false }
      index += 1
    }
    return true
  }

  private mutating func accepts(_ byte: UInt8) -> Bool {
    if missing > 0 {
      guard byte >= low, byte <= high else { return false }
      (low, high) = (0x80, 0xBF)
      missing -= 1
      return true
    }
    switch byte {
    case 0x00...0x7F: break
    case 0xC2...0xDF: missing = 1
    case 0xE0: (missing, low) = (2, 0xA0)
    case 0xED: (missing, high) = (2, 0x9F)
    case 0xE1...0xEF: missing = 2
    case 0xF0: (missing, low) = (3, 0x90)
    case 0xF1...0xF3: missing = 3
    case 0xF4: (missing, high) = (3, 0x8F)
    default: return false
    }
    return true
  }

  /// Skips eight ASCII bytes at a time, then single ones, up to the first other byte.
  private static func skipASCII(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    var index = start
    while index + 8 <= bytes.count,
      bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
    {
      index += 8
    }
    while index < bytes.count, bytes[index] < 0x80 { index += 1 }
    return index
  }
}
