import Changes

/// Points in time as people read them, in universal time, so that all who look see the same.
enum CalendarTime {
  /// `2026-03-01 12:34 UTC`. `milliseconds` since the Unix epoch.
  static func text(_ milliseconds: Int64) -> String {
    let time = UniversalTime(milliseconds)
    return time.date + " " + [time.hour, time.minute].map(padded).joined(separator: ":") + " UTC"
  }

  private static func padded(_ number: Int) -> String { (number < 10 ? "0" : "") + "\(number)" }
}
