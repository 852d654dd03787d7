import Testing

@testable import LockstepWire

@Suite struct ByteRangeTests {
  @Test(
    arguments: [
      ("bytes=0-0", 0..<1), ("bytes=0-99", 0..<100), ("bytes=0-100", 0..<100),
      ("bytes=10-19", 10..<20), ("bytes=99-", 99..<100), ("bytes=0-", 0..<100),
      ("bytes=-1", 99..<100), ("bytes=-100", 0..<100), ("bytes=-101", 0..<100),
      ("Bytes=7-7", 7..<8), ("bytes=007-8", 7..<9),
      ("bytes=5-99999999999999999999999", 5..<100), ("bytes=-99999999999999999999999", 0..<100),
      ("bytes=0-9223372036854775807", 0..<100),
    ] as [(String, Range<Int>)])
  func oneRangeIsUnderstood(_ field: String, _ range: Range<Int>) {
    #expect(ByteRange(field, of: 100) == .part(range))
  }

  @Test(arguments: [
    "bytes=100-", "bytes=100-200", "bytes=-0", "bytes=99999999999999999999999-",
  ])
  func whatLiesBehindTheEndIsNotSatisfiable(_ field: String) {
    #expect(ByteRange(field, of: 100) == .unsatisfiable)
  }

  @Test(arguments: [
    "", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=1", "bytes=2-1", "bytes=1-2-3",
    "bytes=0-1,5-6", "bytes=,0-1", "items=0-1", "bytes =0-1", "bytes= 0-1", "bytes=+1-2",
    "bytes=1-٢", "bytes=0x1-2", "byte=0-1", "bytes=--1", "é=0-1",
  ])
  func whatIsNoSingleRangeIsPassedOver(_ field: String) {
    #expect(ByteRange(field, of: 100) == .whole)
  }

  @Test func withoutAFieldItIsAll() {
    #expect(ByteRange(nil, of: 100) == .whole)
  }

  @Test func nothingHasNoPart() {
    #expect(ByteRange("bytes=0-", of: 0) == .unsatisfiable)
    #expect(ByteRange("bytes=0-0", of: 0) == .unsatisfiable)
    #expect(ByteRange("bytes=-5", of: 0) == .whole)
  }
}
