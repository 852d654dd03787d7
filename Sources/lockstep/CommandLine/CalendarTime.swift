import Glibc
import LockstepModel

/// Points in time as text: in UTC, so that all readers see the same; in local time for output to
/// one person.
enum CalendarTime {
  /// Returns a text such as `2026-03-01 12:34 UTC`. `milliseconds`: since the Unix epoch.
  static func text(_ milliseconds: Int64) -> String {
    let time = UniversalTime(milliseconds)
    return time.date + " " + [time.hour, time.minute].map(padded).joined(separator: ":") + " UTC"
  }

  /// Returns the local time, such as `12:34`.
  static func clock(_ milliseconds: Int64) -> String {
    guard let parts = local(milliseconds) else { return "--:--" }
    return [parts.tm_hour, parts.tm_min].map { padded(Int($0)) }.joined(separator: ":")
  }

  /// Returns the local time, such as `12:34:56`.
  static func clockWithSeconds(_ milliseconds: Int64) -> String {
    guard let parts = local(milliseconds) else { return "--:--:--" }
    return clock(milliseconds) + ":" + padded(Int(parts.tm_sec))
  }

  private static func local(_ milliseconds: Int64) -> tm? {
    var seconds = time_t(milliseconds / 1_000)
    var parts = tm()
    return localtime_r(&seconds, &parts) == nil ? nil : parts
  }

  private static func padded(_ number: Int) -> String { (number < 10 ? "0" : "") + "\(number)" }
}
