import Testing

@testable import LockstepBench

struct RunFigureTests {
  @Test func everyFigureHasItsUnit() {
    #expect(RunFigure("x", nanoseconds: 1_440_000).text == "1.44 ms")
    #expect(RunFigure("x", thousandths: 129_400, .microseconds).text == "129 µs")
    #expect(RunFigure("x", bytes: 3 << 20).text == "3.00 MiB")
    #expect(RunFigure("x", thousandths: 640_000, .instructions).text == "640 instr.")
    #expect(RunFigure("x", thousandths: 1_500, .times).text == "1.50 ×")
    #expect(RunFigure("x", count: 2_000).text == "2000")
  }

  @Test func whatIsNotKnownIsSaidSo() {
    #expect(RunFigure("x", nanoseconds: nil).text == "–")
    #expect(RunFigure("x", bytes: nil).text == "unknown")
  }

  @Test func aTargetStandsWithItsVerdict() {
    #expect(RunFigure("x", faults: 0).judgement == "0 met")
    #expect(RunFigure("x", faults: 2).judgement == "0 MISSED")
    #expect(RunFigure("x", count: 1, target: "10").judgement == "10")
    #expect(RunFigure("x", count: 1).judgement == "")
  }
}
