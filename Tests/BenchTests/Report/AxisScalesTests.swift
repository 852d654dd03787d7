import Testing

@testable import LockstepBench

struct AxisScalesTests {
  private func isNear(_ value: Double, _ wanted: Double) -> Bool { abs(value - wanted) < 1e-9 }

  @Test func logarithmsAreThoseOfTheTables() {
    for (value, wanted) in [
      (1.0, 0.0), (10, 1), (0.001, -3), (2, 0.301029995663981), (5e12, 12.698970004336019),
      (1.999999, 0.301029778515762),
    ] {
      #expect(isNear(Logarithm.decimal(value), wanted), "\(value)")
    }
  }

  @Test func anAxisBeginsAndEndsAtARoundNumberAroundItsValues() {
    let scale = LogScale(holding: [1_400_000, 37_000_000])
    #expect(scale.least == 1_000_000 && scale.greatest == 50_000_000)
    #expect(scale.position(of: 1_000_000) == 0 && scale.position(of: 50_000_000) == 1)
    #expect(isNear(LogScale(holding: [1_000, 1_000_000]).position(of: 10_000), 1.0 / 3))
    #expect(scale.position(of: 0) == 0 && scale.position(of: .max) == 1)
  }

  @Test func oneValueAndNoneHaveAnAxisToo() {
    let one = LogScale(holding: [2_000_000])
    #expect(one.least == 2_000_000 && one.greatest == 5_000_000)
    let none = LogScale(holding: [])
    #expect(none.least < none.greatest)
    let extreme = LogScale(holding: [0, .max])
    #expect(extreme.least == 1_000 && extreme.greatest == 5_000_000_000_000)
    let beyond = LogScale(holding: [.max])
    #expect(beyond.least < beyond.greatest)
  }

  @Test func ticksAreFewAndRound() {
    #expect(
      LogScale(holding: [1_400_000, 37_000_000]).ticks.map(LogScale.label)
        == ["1 ms", "2 ms", "5 ms", "10 ms", "20 ms", "50 ms"])
    #expect(
      LogScale(holding: [400_000, 3_000_000_000]).ticks.map(LogScale.label)
        == ["1 ms", "10 ms", "100 ms", "1 s"])
    #expect(LogScale.label(200_000) == "200 µs")
  }

  @Test func everyNineTakesTheSameRoom() {
    let nines = NinesScale(count: 10_000)
    let distances = [0.9, 0.99, 0.999, 0.9999].map(nines.position)
    #expect(isNear(distances[1], 2 * distances[0]) && isNear(distances[3], 4 * distances[0]))
    #expect(nines.position(of: 0) == 0 && nines.position(of: 1) == 1)
    #expect(nines.ticks.map(\.label) == ["0", "50", "90", "99", "99.9", "99.99"])
    #expect(NinesScale(count: 100_000).ticks.last?.label == "99.999")
    #expect(NinesScale(count: 0).ticks.map(\.label) == ["0", "50", "90"])
    #expect(nines.end(count: 10_000) == 1)
    #expect(nines.end(count: 100) < nines.position(of: 0.999))
    #expect(NinesScale(count: .max).end(count: .max) <= 1)
  }

  @Test(arguments: [1, 2, 7, 10, 59, 600, 900, 3_600])
  func secondsHaveATickNowAndThen(_ seconds: Int) {
    let scale = SecondScale(seconds: seconds)
    #expect(scale.ticks.first == 0 && (2...7).contains(scale.ticks.count))
    #expect(scale.ticks.allSatisfy { (0...1).contains(scale.position(of: $0)) })
  }
}
