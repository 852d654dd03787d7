import LockstepModel

/// Time in the format of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
package enum HTTPDate {
  private static let days: StaticString = "ThuFriSatSunMonTueWed"
  private static let months: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"

  /// Formats `milliseconds` since the Unix epoch.
  package static func text(_ milliseconds: Int64) -> String {
    let seconds = max(0, milliseconds / 1_000)
    let (day, second) = (seconds / 86_400, seconds % 86_400)
    // Days are counted from 1 March of the year 0, so that a leap day is the last day of its year.
    let shifted = day + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let dayOfMonth = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    var text = Array("Thu, 01 Jan 1970 00:00:00 GMT".utf8)
    put(days, Int(day % 7), into: &text, at: 0)
    put(dayOfMonth, into: &text, at: 5)
    put(months, Int(month - 1), into: &text, at: 8)
    put(year / 100 % 100, into: &text, at: 12)
    put(year % 100, into: &text, at: 14)
    put(second / 3_600, into: &text, at: 17)
    put(second / 60 % 60, into: &text, at: 20)
    put(second % 60, into: &text, at: 23)
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns the milliseconds since the Unix epoch for a text in the format of `text`; nil for any
  /// other.
  package static func milliseconds(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count == 29, let month = (1...12).first(where: { isMonth($0, of: bytes) }) else {
      return nil
    }
    func digits(_ places: Range<Int>) -> String { String(decoding: bytes[places], as: UTF8.self) }
    let date = "\(digits(12..<16))-\(month < 10 ? "0" : "")\(month)-\(digits(5..<7))"
    guard let day = UniversalTime.day(of: date), let hour = Int64(digits(17..<19)),
      let minute = Int64(digits(20..<22)), let second = Int64(digits(23..<25))
    else { return nil }
    let milliseconds = (day * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000
    // Another form of the same instant, or a leap second, is not accepted.
    return HTTPDate.text(milliseconds) == text ? milliseconds : nil
  }

  private static func isMonth(_ number: Int, of text: [UInt8]) -> Bool {
    (0..<3).allSatisfy { text[8 + $0] == months.utf8Start[(number - 1) * 3 + $0] }
  }

  /// Writes the three-letter word with this number out of `words`, which are stored one after
  /// another.
  private static func put(
    _ words: StaticString, _ number: Int, into text: inout [UInt8], at place: Int
  ) {
    for letter in 0..<3 { text[place + letter] = words.utf8Start[number * 3 + letter] }
  }

  /// Writes two digits.
  private static func put(_ number: Int64, into text: inout [UInt8], at place: Int) {
    text[place] = UInt8(ascii: "0") + UInt8(number / 10)
    text[place + 1] = UInt8(ascii: "0") + UInt8(number % 10)
  }
}
