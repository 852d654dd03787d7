/// Parts of a binary form, read one after the other. Numbers have their most significant byte
/// first.
package struct ByteReader {
  /// Bytes that were not read yet.
  package private(set) var rest: ArraySlice<UInt8>

  package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  package init(_ bytes: [UInt8]) { self.init(bytes[...]) }

  package var isAtEnd: Bool { rest.isEmpty }

  /// Returns nil at the end, as the others do if fewer bytes are left than they read.
  package mutating func byte() -> UInt8? { rest.popFirst() }

  package mutating func part(_ count: Int) -> ArraySlice<UInt8>? {
    guard count <= rest.count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  /// Reads a number of two bytes.
  package mutating func length() -> Int? { part(2)?.reduce(0) { $0 << 8 | Int($1) } }

  /// Reads a number of eight bytes.
  package mutating func word() -> UInt64? { part(8)?.reduce(0) { $0 << 8 | UInt64($1) } }
}

extension [UInt8] {
  /// Appends a number in eight bytes, the most significant one first.
  package mutating func append(word: UInt64) {
    for shift in stride(from: UInt64(56), through: 0, by: -8) {
      append(UInt8(truncatingIfNeeded: word >> shift))
    }
  }
}
