/// The time as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
enum HTTPDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// `milliseconds` since the Unix epoch.
  static func text(_ milliseconds: Int64) -> String {
    let seconds = max(0, milliseconds / 1_000)
    let (day, second) = (seconds / 86_400, seconds % 86_400)
    // Days counted from 1 March of the year 0 make leap days the last of their year.
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
    let clock = [second / 3_600, second / 60 % 60, second % 60].map { padded($0, 2) }
    return "\(days[Int(day % 7)]), \(padded(dayOfMonth, 2)) \(months[Int(month - 1)]) "
      + "\(padded(year, 4)) \(clock.joined(separator: ":")) GMT"
  }

  private static func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
