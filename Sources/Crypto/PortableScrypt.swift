/// scrypt (RFC 7914) in Swift, for systems whose library has none. Slower than OpenSSL's by a small
/// factor.
package struct PortableScrypt {
  private let parameters: Scrypt
  /// Words of 32 bits in one element of the table: 2 r blocks of 64 bytes.
  private var words: Int { 32 * parameters.blocks }

  /// Returns nil if the parameters are not valid (RFC 7914 section 2).
  package init?(_ parameters: Scrypt) {
    let (cost, blocks, lanes) = (parameters.cost, parameters.blocks, parameters.lanes)
    guard cost > 1, cost & (cost - 1) == 0, (1..<1 << 30).contains(blocks),
      (1..<1 << 30).contains(lanes),
      blocks.multipliedReportingOverflow(by: lanes).overflow == false,
      blocks * lanes < 1 << 30, blocks > 3 || cost < 1 << (16 * blocks)
    else { return nil }
    self.parameters = parameters
  }

  /// Returns a key of `count` bytes; nil if that needs more memory than `memoryBytes`.
  package func derive(
    _ secret: [UInt8], salt: [UInt8], count: Int, memoryBytes: Int
  ) -> [UInt8]? {
    let element = 4 * words
    let (elements, isOver) = parameters.cost.addingReportingOverflow(parameters.lanes + 2)
    let (bytes, isTooLarge) = elements.multipliedReportingOverflow(by: element)
    guard !isOver, !isTooLarge, bytes <= memoryBytes else { return nil }
    var blocks = PortableScrypt.pbkdf2(secret, salt: salt, count: parameters.lanes * element)
    var table = [UInt32](repeating: 0, count: parameters.cost * words)
    var scratch = [UInt32](repeating: 0, count: 2 * words + 16)
    blocks.withUnsafeMutableBytes { blocks in
      table.withUnsafeMutableBufferPointer { table in
        scratch.withUnsafeMutableBufferPointer { scratch in
          guard let block = blocks.baseAddress, let table = table.baseAddress,
            let scratch = scratch.baseAddress
          else { return }
          for lane in 0..<parameters.lanes {
            mix(block + lane * element, table, scratch)
          }
        }
      }
    }
    return PortableScrypt.pbkdf2(secret, salt: blocks, count: count)
  }

  /// scryptROMix (section 5): fills the table with successive states, then mixes the state with
  /// elements that it selects. `scratch` has room for two states and one block.
  private func mix(
    _ block: UnsafeMutableRawPointer, _ table: UnsafeMutablePointer<UInt32>,
    _ scratch: UnsafeMutablePointer<UInt32>
  ) {
    var (state, next) = (scratch, scratch + words)
    for index in 0..<words {
      state[index] = UInt32(
        littleEndian: block.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self))
    }
    for index in 0..<parameters.cost {
      (table + index * words).update(from: state, count: words)
      mixBlocks(state, next, scratch + 2 * words)
      swap(&state, &next)
    }
    for _ in 0..<parameters.cost {
      let last = state + (words - 16)
      let selector = UInt64(last[1]) << 32 | UInt64(last[0])
      let element = table + Int(truncatingIfNeeded: selector & UInt64(parameters.cost - 1)) * words
      for index in 0..<words { state[index] ^= element[index] }
      mixBlocks(state, next, scratch + 2 * words)
      swap(&state, &next)
    }
    for index in 0..<words {
      block.storeBytes(of: state[index].littleEndian, toByteOffset: 4 * index, as: UInt32.self)
    }
  }

  /// scryptBlockMix (section 4). `sum` has room for one block.
  private func mixBlocks(
    _ state: UnsafeMutablePointer<UInt32>, _ next: UnsafeMutablePointer<UInt32>,
    _ sum: UnsafeMutablePointer<UInt32>
  ) {
    let count = 2 * parameters.blocks
    sum.update(from: state + 16 * (count - 1), count: 16)
    for index in 0..<count {
      let block = state + 16 * index
      for word in 0..<16 { sum[word] ^= block[word] }
      PortableScrypt.salsa(sum)
      // The even blocks come first.
      (next + 16 * (index / 2 + index % 2 * parameters.blocks)).update(from: sum, count: 16)
    }
  }

  /// Salsa20/8 (section 3).
  private static func salsa(_ block: UnsafeMutablePointer<UInt32>) {
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 16) { state in
      guard let x = state.baseAddress else { return }
      x.initialize(from: block, count: 16)
      for _ in 0..<4 {
        quarterRound(x, 0, 4, 8, 12)
        quarterRound(x, 5, 9, 13, 1)
        quarterRound(x, 10, 14, 2, 6)
        quarterRound(x, 15, 3, 7, 11)
        quarterRound(x, 0, 1, 2, 3)
        quarterRound(x, 5, 6, 7, 4)
        quarterRound(x, 10, 11, 8, 9)
        quarterRound(x, 15, 12, 13, 14)
      }
      for index in 0..<16 { block[index] &+= x[index] }
    }
  }

  @inline(__always)
  private static func quarterRound(
    _ x: UnsafeMutablePointer<UInt32>, _ a: Int, _ b: Int, _ c: Int, _ d: Int
  ) {
    x[b] ^= rotated(x[a] &+ x[d], 7)
    x[c] ^= rotated(x[b] &+ x[a], 9)
    x[d] ^= rotated(x[c] &+ x[b], 13)
    x[a] ^= rotated(x[d] &+ x[c], 18)
  }

  @inline(__always)
  private static func rotated(_ word: UInt32, _ bits: UInt32) -> UInt32 {
    word << bits | word >> (32 - bits)
  }

  /// PBKDF2 with HMAC-SHA-256 and one iteration (RFC 8018 section 5.2).
  private static func pbkdf2(_ secret: [UInt8], salt: [UInt8], count: Int) -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(count + 32)
    var number: UInt32 = 1
    while key.count < count {
      let index = withUnsafeBytes(of: number.bigEndian) { [UInt8]($0) }
      key += HMACSHA256.code(of: salt + index, key: secret)
      number += 1
    }
    return Array(key.prefix(count))
  }
}
