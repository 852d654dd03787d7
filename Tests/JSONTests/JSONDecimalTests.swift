import LockstepJSON
import Testing

@testable import LockstepJSON

@Suite struct JSONDecimalTests {
  @Test func eachValueHasOneForm() throws {
    let decimal = JSONDecimal(try #require(JSONNumber("-0.0120e3")))
    #expect(decimal.isNegative)
    #expect(decimal.digits == Array("12".utf8))
    #expect(decimal.exponent == .small(0))
    let zero = JSONDecimal(try #require(JSONNumber("-0.00e9")))
    #expect(!zero.isNegative)
    #expect(zero.digits.isEmpty)
    #expect(zero.exponent == .small(0))
  }

  @Test func exponentsOfAnySizeAreAddedExactly() {
    let nines = String(repeating: "9", count: 30)
    let cases: [(String, Int, String)] = [
      ("5", -7, "-2"), ("-5", 7, "2"), ("0", 0, "0"),
      ("999999999999999999", 1, "1000000000000000000"),
      ("1000000000000000000", -1, "999999999999999999"),
      ("-999999999999999999", -1, "-1000000000000000000"),
      ("-1000000000000000000", 1, "-999999999999999999"),
      (nines, 1, "1" + String(repeating: "0", count: 30)),
      ("-" + nines, -1, "-1" + String(repeating: "0", count: 30)),
      ("1" + String(repeating: "0", count: 30), -1, nines),
      (nines, -1_000_000, String(repeating: "9", count: 23) + "8999999"),
      ("+007", 3, "10"),
    ]
    for (text, change, sum) in cases {
      #expect(JSONDecimal.Exponent(Array(text.utf8)).adding(change).text == sum)
    }
  }
}
