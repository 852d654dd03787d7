import LockstepTerminal
import Testing

@testable import LockstepCommandLine

struct ByteCountTests {
  @Test func peopleWriteUnits() {
    #expect(ByteCount.parse("0") == 0)
    #expect(ByteCount.parse("17") == 17)
    #expect(ByteCount.parse("64K") == 65_536)
    #expect(ByteCount.parse("64k") == 65_536)
    #expect(ByteCount.parse("500M") == 500 << 20)
    #expect(ByteCount.parse("10G") == 10 << 30)
    #expect(ByteCount.parse("2T") == 2 << 40)
  }

  @Test func whatIsNoNumberOfBytesIsNone() {
    for text in [
      "", "G", "1.5G", "-1", "+1", "1GB", "1 G", "0x10", "99999999999999999999", "9999999T",
    ] {
      #expect(ByteCount.parse(text) == nil, "\(text)")
    }
  }

  @Test func peopleReadUnits() {
    #expect(ByteCount.text(0) == "0 B")
    #expect(ByteCount.text(1_023) == "1023 B")
    #expect(ByteCount.text(1_024) == "1.0 KiB")
    #expect(ByteCount.text(3_565_159) == "3.4 MiB")
    #expect(ByteCount.text(10 << 30) == "10.0 GiB")
    #expect(ByteCount.text((1 << 20) - 1) == "1023.9 KiB")
    #expect(ByteCount.text(Int64.max).hasSuffix(" TiB"))
  }

  @Test func anOptionTakesThemWithinItsRange() throws {
    let kind = ValueKind.bytes(1_024...1 << 30)
    #expect(try kind.parse("1G") == 1 << 30)
    #expect(throws: ValueFault("2G is not between 1.0 KiB and 1.0 GiB")) { try kind.parse("2G") }
    #expect(throws: ValueFault("\"big\" is no number of bytes, such as 10G, 500M or 64K")) {
      try kind.parse("big")
    }
  }
}
