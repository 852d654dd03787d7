/// Running hash over all actions of nodes and the final state. Two runs of one seed count as equal
/// if and only if their hashes are equal. Not for secrets.
package struct RunHash: Hashable {
  package private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

  package init() {}

  package mutating func add(_ word: UInt64) {
    var mixed = value ^ word
    mixed = (mixed ^ (mixed >> 32)) &* 0xD6E8_FEB8_6659_FD93
    mixed = (mixed ^ (mixed >> 32)) &* 0xD6E8_FEB8_6659_FD93
    value = mixed ^ (mixed >> 32)
  }

  package mutating func add(_ number: Int) { add(UInt64(bitPattern: Int64(number))) }

  package mutating func add(_ number: Int64) { add(UInt64(bitPattern: number)) }

  package mutating func add(_ text: String) { add(Array(text.utf8)) }

  package mutating func add(_ bytes: [UInt8]) {
    add(UInt64(bytes.count))
    var words: [UInt64] = []
    bytes.withUnsafeBytes { buffer in
      var offset = 0
      while offset + 8 <= buffer.count {
        words.append(buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self).littleEndian)
        offset += 8
      }
      var rest: UInt64 = 0
      while offset < buffer.count {
        rest = rest << 8 | UInt64(buffer[offset])
        offset += 1
      }
      words.append(rest)
    }
    for word in words { add(word) }
  }
}
