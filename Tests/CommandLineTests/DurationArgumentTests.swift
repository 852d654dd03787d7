import Testing

@testable import LockstepCommandLine

struct DurationArgumentTests {
  @Test func peopleWriteUnits() {
    #expect(DurationArgument.parse("90s") == 90_000)
    #expect(DurationArgument.parse("5m") == 300_000)
    #expect(DurationArgument.parse("12h") == 43_200_000)
    #expect(DurationArgument.parse("30d") == 2_592_000_000)
    #expect(DurationArgument.parse("0s") == 0)
  }

  @Test func whatIsNoSpanIsNone() {
    // A number alone could mean days as well as seconds.
    for text in [
      "", "d", "30", "1.5d", "-1s", "+1s", "1 d", "1w", "1d12h", "99999999999999999999d",
    ] {
      #expect(DurationArgument.parse(text) == nil, "\(text)")
    }
  }

  @Test func aSpanReadsAsItIsWritten() {
    for text in ["90s", "5m", "12h", "30d"] {
      #expect(DurationArgument.parse(text).map(DurationArgument.text) == text)
    }
    #expect(DurationArgument.text(1_500) == "1500 ms")
  }

  @Test func anOptionTakesThemWithinItsRange() throws {
    let kind = ValueKind.duration(1_000...86_400_000)
    #expect(try kind.parse("24h") == 86_400_000)
    #expect(throws: ValueFault("2d is not between 1s and 1d")) { try kind.parse("2d") }
    #expect(throws: ValueFault("\"30\" is no span of time, such as 30d, 12h, 5m or 90s")) {
      try kind.parse("30")
    }
  }
}
