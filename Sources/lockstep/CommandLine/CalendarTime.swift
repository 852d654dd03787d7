import Glibc
import LockstepModel

/// Points in time as people read them: in universal time, so that all who look see the same, but
/// for what one person looks at only.
enum CalendarTime {
  /// `2026-03-01 12:34 UTC`. `milliseconds` since the Unix epoch.
  static func text(_ milliseconds: Int64) -> String {
    let time = UniversalTime(milliseconds)
    return time.date + " " + [time.hour, time.minute].map(padded).joined(separator: ":") + " UTC"
  }

  /// `12:34`, where the person is.
  static func clock(_ milliseconds: Int64) -> String {
    guard let parts = local(milliseconds) else { return "--:--" }
    return [parts.tm_hour, parts.tm_min].map { padded(Int($0)) }.joined(separator: ":")
  }

  /// `12:34:56`, where the person is.
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
