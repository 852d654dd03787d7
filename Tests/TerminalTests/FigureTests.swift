import LockstepJSON
import Testing

@testable import LockstepTerminal

struct FigureTests {
  @Test func smallNumbersHaveMorePlaces() {
    #expect(Figure.decimal(thousandths: 0) == "0.00")
    #expect(Figure.decimal(thousandths: 9_994) == "9.99")
    #expect(Figure.decimal(thousandths: 10_049) == "10.0")
    #expect(Figure.decimal(thousandths: 100_400) == "100")
    #expect(Figure.milliseconds(nil) == "–")
    #expect(Figure.milliseconds(1_230_000) == "1.23 ms")
  }

  @Test func whatBecameLessHasItsSign() {
    #expect(Figure.decimal(thousandths: -1_234) == "-1.23")
    #expect(Figure.milliseconds(-40_400_000) == "-40.4 ms")
  }

  @Test func theMiddleOneIsTheLowerOfTwo() {
    #expect(Figure.median([]) == nil)
    #expect(Figure.median([5]) == 5)
    #expect(Figure.median([9, 1, 5]) == 5)
    #expect(Figure.median([4, 3]) == 3)
  }

  @Test func columnsStandBelowEachOther() {
    let rows = [Figure.row("a", ["1", "2"]), Figure.row("longer", ["100", "20"])]
    #expect(rows[0].count == rows[1].count)
    #expect(Figure.row(String(repeating: "x", count: 40), ["1"]).hasSuffix(" 1"))
  }

  @Test func whatIsNotKnownIsNull() {
    #expect(JSONValue.whole(nil) == .null && JSONValue.milliseconds(nil) == .null)
    #expect(JSONValue.milliseconds(1_500_000).text == "1.5")
    #expect(JSONValue.decimal(thousandths: 2_000).text == "2")
    #expect(Figure.ratio(thousandths: nil) == "–" && Figure.mebibytes(nil) == "unknown")
  }
}
