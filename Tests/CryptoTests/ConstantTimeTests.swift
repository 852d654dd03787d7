import LockstepCrypto
import Testing

struct ConstantTimeTests {
  @Test func equalBytesAreEqual() {
    #expect(ConstantTime.equal([], []))
    #expect(ConstantTime.equal([1, 2, 3], [1, 2, 3]))
  }

  @Test func anyDifferenceIsSeen() {
    let bytes = [UInt8](0..<32)
    for index in bytes.indices {
      for bit in 0..<8 {
        var other = bytes
        other[index] ^= 1 << UInt8(bit)
        #expect(!ConstantTime.equal(bytes, other))
      }
    }
    #expect(!ConstantTime.equal(bytes, bytes.dropLast()))
    #expect(!ConstantTime.equal([], [0]))
  }
}
