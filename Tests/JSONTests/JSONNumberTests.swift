import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepJSON

@Suite struct JSONNumberTests {
  @Test(arguments: [
    ["1", "1.0", "1e0", "10e-1", "0.1e1", "1.000", "1E+0", "100e-02"],
    ["0", "-0", "0.0", "-0.000", "0e5", "-0e-99999999999999999999999"],
    ["-12.5", "-125e-1", "-0.125E2", "-12.50"],
    [
      "123456789012345678901234567890", "12345678901234567890123456789e1",
      "1.2345678901234567890123456789e29",
    ],
    ["1e400", "10e399", "0.1e401", "1000e397"],
    ["1e-400", "10e-401", "0.01e-398"],
    ["1e1000000000000000000", "10e999999999999999999", "0.1e1000000000000000001"],
    ["1e-1000000000000000000", "0.1e-999999999999999999", "10e-1000000000000000001"],
    ["5e99999999999999999999", "50e99999999999999999998", "0.5e100000000000000000000"],
    ["5e-99999999999999999999", "0.5e-99999999999999999998", "50e-100000000000000000000"],
  ]) func sameNumberIsEqualHoweverWritten(_ texts: [String]) throws {
    let numbers = try texts.map { try #require(JSONNumber($0)) }
    for left in numbers {
      for right in numbers {
        #expect(left == right)
        #expect(left.hashValue == right.hashValue)
        #expect(left.canonicalText == right.canonicalText)
      }
    }
  }

  @Test(arguments: [
    ("1", "2"), ("1", "-1"), ("1", "10"), ("1", "1.0000000000000000000000000000001"),
    ("9007199254740993", "9007199254740992"), ("1e400", "1e401"), ("1e400", "-1e400"),
    ("1e-400", "0"), ("0.1", "0.01"), ("1e99999999999999999999", "1e99999999999999999998"),
    ("1e99999999999999999999", "1e-99999999999999999999"), ("101", "11"),
  ]) func differentNumbersAreNotEqual(_ left: String, _ right: String) throws {
    let left = try #require(JSONNumber(left))
    let right = try #require(JSONNumber(right))
    #expect(left != right)
    #expect(left.canonicalText != right.canonicalText)
  }

  @Test(arguments: [
    "", " 1", "1 ", "+1", "01", "1.", ".5", "1e", "1e+", "-", "--1", "0x1", "NaN", "1,0", "١",
    "1\0",
  ]) func whatIsNoNumberIsRefused(_ text: String) {
    #expect(JSONNumber(text) == nil)
  }

  @Test func textIsKeptAsWritten() {
    #expect(JSONNumber("1.50E+2")?.text == "1.50E+2")
    #expect(JSONNumber(-7).text == "-7")
  }

  @Test(arguments: [
    ("0", "0"), ("-0.0", "0"), ("1.0", "1"), ("-1.50", "-1.5"), ("1e2", "100"), ("0.001", "0.001"),
    ("1e20", "100000000000000000000"), ("1e21", "1e21"), ("12e20", "1200000000000000000000"),
    ("1e-6", "0.000001"), ("1e-7", "1e-7"), ("125e-9", "1.25e-7"), ("123.456e1", "1234.56"),
    ("123.456e400", "1.23456e402"), ("10e999999999999999999", "1e1000000000000000000"),
    ("-5E-99999999999999999999", "-5e-99999999999999999999"),
    ("9223372036854775808", "9223372036854775808"),
  ]) func canonicalTextIsTheOneForm(_ text: String, _ canonical: String) throws {
    let number = try #require(JSONNumber(text))
    #expect(number.canonicalText == canonical)
    #expect(JSONNumber(canonical) == number)
  }

  @Test(arguments: [0, 1, 999, 1_000, 1_500, -1, -500, -1_250, .max, .min] as [Int64])
  func thousandthsSurviveTheRoundTrip(_ thousandths: Int64) {
    let number = JSONNumber(thousandths: thousandths)
    #expect(JSONNumber(number.text) != nil)
    #expect(number.thousandths == thousandths)
  }

  @Test(
    arguments: [
      ("7", 7_000), ("7.5", 7_500), ("7.12345", 7_123), ("-0.25", -250), ("0.0009", 0),
      ("1e3", nil), ("1.5E3", nil), ("99999999999999999999", nil), ("9223372036854775.808", nil),
    ] as [(String, Int64?)]) func thousandthsAreCut(_ text: String, _ thousandths: Int64?) throws
  {
    #expect(try #require(JSONNumber(text)).thousandths == thousandths)
  }

  @Test func randomNumberEqualsItsCanonicalForm() throws {
    var random = SeededRandom(seed: 4)
    for _ in 0..<5_000 {
      let number = JSONNumber.random(using: &random)
      let canonical = try #require(JSONNumber(number.canonicalText))
      #expect(canonical == number)
      #expect(canonical.canonicalText == canonical.text)
      // A further digit makes another number; a zero after the decimal point does not.
      #expect(
        JSONNumber(number.text.contains { "eE.".contains($0) } ? number.text : number.text + ".0")
          == number)
    }
  }
}
