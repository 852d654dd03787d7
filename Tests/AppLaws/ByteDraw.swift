import LockstepModel

/// Choices made by the bytes of an input, so that a fuzzer that changes a byte changes a choice.
/// After the end of the bytes every choice is the first option.
package struct ByteDraw {
  private let bytes: [UInt8]
  private var position = 0

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  package mutating func byte() -> UInt8 {
    guard position < bytes.count else { return 0 }
    defer { position += 1 }
    return bytes[position]
  }

  /// Returns a number below `count`, which is 1 to 256.
  package mutating func below(_ count: Int) -> Int { Int(byte()) % count }

  package mutating func one<Element>(of list: [Element]) -> Element { list[below(list.count)] }

  package mutating func word() -> UInt64 {
    (0..<8).reduce(0) { word, _ in word << 8 | UInt64(byte()) }
  }

  /// Returns an instant of relay time that is valid on the wire.
  package mutating func instant() -> Int64 {
    switch below(4) {
    case 0: 1_772_366_400_000
    case 1: 1_772_366_400_000 + Int64(byte()) * 1_000
    case 2: one(of: [0, 1, Limits.sequenceLimit - 1, 1 << 43])
    default: Int64(word() % UInt64(Limits.sequenceLimit))
    }
  }
}
