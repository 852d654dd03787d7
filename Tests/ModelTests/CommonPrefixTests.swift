import Testing

@testable import LockstepModel

struct CommonPrefixTests {
  private func common(_ left: [UInt8], _ right: [UInt8]) -> Int {
    left.span.bytes.commonPrefix(with: right.span.bytes)
  }

  @Test func itEndsAtTheFirstByteThatDiffers() {
    let bytes = (0..<40).map { UInt8($0) }
    for place in bytes.indices {
      var other = bytes
      other[place] ^= 0x80
      #expect(common(bytes, other) == place)
    }
    #expect(common(bytes, bytes) == 40)
  }

  @Test func theShorterOneMayBeAllOfIt() {
    let bytes = [UInt8](repeating: 7, count: 33)
    for count in bytes.indices {
      #expect(common(Array(bytes.prefix(count)), bytes) == count)
      #expect(common(bytes, Array(bytes.prefix(count))) == count)
    }
  }
}
