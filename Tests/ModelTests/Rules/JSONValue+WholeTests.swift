import LockstepJSON
import LockstepModel
import Testing

struct JSONValueWholeTests {
  @Test func numbersAreRoundedDown() throws {
    let cases: [(String, Int64)] = [
      ("0", 0), ("-7", -7), ("1.5", 1), ("-1.5", -2), ("1500.0", 1_500), ("1.5e3", 1_500),
      ("1e-400", 0),
    ]
    for (text, expected) in cases { #expect(try json(text).wholeNumber == expected, "\(text)") }
  }

  @Test func hugeNumbersAreKeptWithinBounds() throws {
    for text in ["1e400", "9223372036854775807", "1e19"] {
      #expect(try json(text).wholeNumber == 1 << 60, "\(text)")
    }
    #expect(try json("-1e400").wholeNumber == -(1 << 60))
    #expect(try json("-9223372036854775808").wholeNumber == -(1 << 60))
  }

  @Test func otherValuesAreNoNumbers() throws {
    for text in ["null", "true", "\"1\"", "[1]", "{}"] {
      #expect(try json(text).wholeNumber == nil, "\(text)")
    }
  }
}
