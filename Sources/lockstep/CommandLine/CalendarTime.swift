import Glibc

/// Points in time as people read them, in universal time, so that all who look see the same.
enum CalendarTime {
  /// `2026-03-01 12:34 UTC`. `milliseconds` since the Unix epoch.
  static func text(_ milliseconds: Int64) -> String {
    var seconds = time_t(milliseconds / 1_000)
    var parts = tm()
    guard gmtime_r(&seconds, &parts) != nil else { return "\(milliseconds) ms after 1970" }
    let day = [parts.tm_year + 1_900, parts.tm_mon + 1, parts.tm_mday].map(padded)
    let clock = [parts.tm_hour, parts.tm_min].map(padded)
    return day.joined(separator: "-") + " " + clock.joined(separator: ":") + " UTC"
  }

  private static func padded(_ number: Int32) -> String { (number < 10 ? "0" : "") + "\(number)" }
}
