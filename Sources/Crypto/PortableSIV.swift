/// AES-SIV (RFC 5297) made of AES alone, for systems whose library has only the block cipher.
package struct PortableSIV<Cipher: BlockCipher> {
  private let authentication: Cipher
  private let encryption: Cipher

  /// `key`: 64 bytes.
  package init(key: [UInt8]) {
    authentication = Cipher(key: Array(key[..<32]))
    encryption = Cipher(key: Array(key[32...]))
  }

  package func sealed(_ bytes: [UInt8], data: [UInt8]) -> [UInt8] {
    let tag = self.tag(bytes, data: data)
    return tag + masked(bytes, tag: tag)
  }

  /// Returns nil if it was not sealed with this key and this data. `sealed` has over 16 bytes.
  package func opened(_ sealed: [UInt8], data: [UInt8]) -> [UInt8]? {
    let tag = Array(sealed[..<16])
    let bytes = masked(Array(sealed[16...]), tag: tag)
    return ConstantTime.equal(self.tag(bytes, data: data), tag) ? bytes : nil
  }

  /// S2V (section 2.4) of the data and the plaintext.
  private func tag(_ bytes: [UInt8], data: [UInt8]) -> [UInt8] {
    var sum = doubled(code(of: [UInt8](repeating: 0, count: 16)))
    xor(&sum, code(of: data))
    var last = bytes
    if bytes.count >= 16 {
      for index in 0..<16 { last[bytes.count - 16 + index] ^= sum[index] }
    } else {
      last.append(0x80)
      last += [UInt8](repeating: 0, count: 16 - last.count)
      xor(&last, doubled(sum))
    }
    return code(of: last)
  }

  /// AES-CMAC (RFC 4493).
  private func code(of bytes: [UInt8]) -> [UInt8] {
    var mask = doubled(authentication.encryptBlocks([UInt8](repeating: 0, count: 16)))
    var message = bytes
    if bytes.isEmpty || !bytes.count.isMultiple(of: 16) {
      mask = doubled(mask)
      message.append(0x80)
      message += [UInt8](repeating: 0, count: (16 - message.count % 16) % 16)
    }
    for index in 0..<16 { message[message.count - 16 + index] ^= mask[index] }
    return Array(authentication.encryptChain(message).suffix(16))
  }

  /// AES in counter mode, from the tag on (section 2.5).
  private func masked(_ bytes: [UInt8], tag: [UInt8]) -> [UInt8] {
    var first = tag
    first[8] &= 0x7F
    first[12] &= 0x7F
    // The upper half never gets a carry, because the topmost bit of the lower half is 0.
    var low = first[8...].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    var counters: [UInt8] = []
    counters.reserveCapacity(bytes.count + 16)
    while counters.count < bytes.count {
      counters += first[..<8]
      withUnsafeBytes(of: low.bigEndian) { counters.append(contentsOf: $0) }
      low &+= 1
    }
    var mask = encryption.encryptBlocks(counters)
    mask.removeLast(mask.count - bytes.count)
    for index in mask.indices { mask[index] ^= bytes[index] }
    return mask
  }

  private func xor(_ block: inout [UInt8], _ other: [UInt8]) {
    for index in 0..<16 { block[index] ^= other[index] }
  }

  /// `dbl` (section 2.3): a multiplication by x in the field of 128 bits.
  private func doubled(_ block: [UInt8]) -> [UInt8] {
    var result = block
    for index in 0..<16 {
      result[index] = block[index] << 1 | (index < 15 ? block[index + 1] >> 7 : 0)
    }
    // No branch, because the block is secret.
    result[15] ^= 0x87 & (0 &- (block[0] >> 7))
    return result
  }
}

/// AES with a key of 32 bytes. Both functions get whole blocks of 16 bytes, and return as many.
package protocol BlockCipher {
  init(key: [UInt8])
  /// Encrypts each block by itself (ECB).
  func encryptBlocks(_ blocks: [UInt8]) -> [UInt8]
  /// Encrypts each block after it is combined with the previous result (CBC), from zeros on.
  func encryptChain(_ blocks: [UInt8]) -> [UInt8]
}
