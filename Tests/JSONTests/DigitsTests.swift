import LockstepModel
import Testing

@testable import LockstepJSON

@Suite struct DigitsTests {
  @Test func numberIsAddedBehindWhatStandsThere() {
    var bytes = OutputBytes(capacity: 0)
    bytes.append("tag ")
    bytes.appendDecimal(1_764_000_000_000_000)
    bytes.appendHexadecimal(UInt32(0xAB))
    bytes.appendHexadecimal(0xCD, digits: 4)
    #expect(bytes.finishText() == "tag 1764000000000000ab00cd")
  }

  @Test(arguments: [
    0, 1, -1, 9, 10, 99, 100, 9_007_199_254_740_991, -9_007_199_254_740_991, Int64.max, Int64.min,
  ]) func decimalDigitsAreThoseOfTheNumber(_ value: Int64) {
    var bytes = OutputBytes(capacity: 0)
    bytes.appendDecimal(value)
    #expect(bytes.finishText() == String(value))
  }

  @Test func hexadecimalDigitsAreThoseOfTheNumber() {
    for shift in 0...32 {
      for near in [-1, 0, 1] as [Int64] {
        let value = UInt32(truncatingIfNeeded: Int64(1) << Int64(shift) + near)
        var bytes = OutputBytes(capacity: 0)
        bytes.appendHexadecimal(value)
        #expect(bytes.finishText() == String(value, radix: 16))
      }
    }
  }

  @Test func wordHasAsManyDigitsAsAreAskedFor() {
    for (count, text) in [(0, ""), (1, "f"), (8, "89abcdef"), (16, "0123456789abcdef")] {
      var bytes = OutputBytes(capacity: 0)
      bytes.appendHexadecimal(0x0123_4567_89AB_CDEF, digits: count)
      #expect(bytes.finishText() == text)
    }
  }

  @Test func numbersOfAnySizeAreWrittenAsTextHasThem() {
    var random = SeededRandom(seed: 5)
    for _ in 0..<1_000 {
      let value = Int64(bitPattern: random.next() >> (random.next() % 64))
      var bytes = OutputBytes(capacity: 0)
      bytes.appendDecimal(value)
      #expect(bytes.finishText() == String(value))
    }
  }
}
