import Testing

@testable import LockstepDashboard

/// The same texts as on the status page in the browser
/// (Tests/WebClientTests/status/scales.test.js).
struct TopWordsTests {
  @Test func figuresHaveTheirUnitAndNoMoreDigitsThanMatter() {
    #expect(
      [0, 0.004, 0.041, 0.4, 1, 1.34, 9.94, 9.96, 27.3, 1_204].map(TopWords.few)
        == ["0", "< 0.01", "0.04", "0.4", "1", "1.3", "9.9", "10", "27", "1,204"])
    #expect(
      [0.0000946, 0.001, 0.0214, 1.5, 10].map(TopWords.duration)
        == ["95 µs", "1 ms", "21 ms", "1.5 s", "10 s"])
    #expect(
      [0, 1_023, 1_024, 22_000_000, 1_125_899_906_842_624].map(TopWords.bytes)
        == ["0 B", "1,023 B", "1 KiB", "21 MiB", "1,024 TiB"])
    #expect(TopWords.percent(0.021) == "2.1 %")
    #expect(TopWords.count(1_234_567) == "1,234,567" && TopWords.count(-1_000) == "-1,000")
    #expect(
      [0, 14, 60, 185, 7_800, 90_000, 86_460].map(TopWords.span)
        == ["0 s", "14 s", "1 min", "3 min 5 s", "2 h 10 min", "1 d 1 h", "1 d"])
    #expect(
      [400, 10_000, 59_700, 90_000].map(TopWords.lately)
        == ["1 s", "10 s", "minute", "1 min 30 s"])
  }

  @Test func whatIsNotKnownIsADashNeverZero() {
    #expect(TopWords.count(nil) == "–" && TopWords.few(nil) == "–" && TopWords.bytes(nil) == "–")
    #expect(TopWords.duration(seconds: nil) == "–" && TopWords.percent(nil) == "–")
  }

  /// A relay, or another server in its place, may report any number.
  @Test(arguments: [.nan, .infinity, -.infinity, 1e300, -1e300, .leastNonzeroMagnitude, -0.0])
  func noNumberIsTooMuch(_ value: Double) {
    let texts = [
      TopWords.count(value), TopWords.few(value), TopWords.bytes(value), TopWords.percent(value),
      TopWords.duration(seconds: value),
    ]
    #expect(texts.allSatisfy { !$0.isEmpty })
  }

  @Test func codesAreWords() {
    #expect(
      ["badJSON", "connectionsPerAddress", "uriTooLong", "overloaded", ""].map(TopWords.reason)
        == ["bad JSON", "connections per address", "URI too long", "overloaded", ""])
  }
}
