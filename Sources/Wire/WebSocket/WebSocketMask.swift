/// Masking of a client's payload (RFC 6455 section 5.3). Masking twice gives the payload again.
enum WebSocketMask {
  /// Masks in place, eight bytes at a time. `key`: its topmost byte masks the first byte.
  static func apply(_ key: UInt32, to bytes: UnsafeMutableRawBufferPointer) {
    let word = (UInt64(key) << 32 | UInt64(key)).bigEndian
    var index = 0
    while index + 8 <= bytes.count {
      let masked = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ word
      bytes.storeBytes(of: masked, toByteOffset: index, as: UInt64.self)
      index += 8
    }
    // The number of bytes so far is a multiple of four, so the key starts again at its first byte.
    var rest = key
    while index < bytes.count {
      rest = rotated(rest, by: 1)
      bytes[index] ^= UInt8(truncatingIfNeeded: rest)
      index += 1
    }
  }

  /// Returns the key for the bytes after the next `count` bytes.
  static func rotated(_ key: UInt32, by count: Int) -> UInt32 {
    let bits = UInt32(count & 3) * 8
    return bits == 0 ? key : key << bits | key >> (32 - bits)
  }
}
