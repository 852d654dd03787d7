import Glibc
import LockstepModel

/// Spans of time in the form that people use: `30d`, `12h`, `5m`, `90s`.
enum DurationArgument {
  private static let units: [(letter: String, milliseconds: Int64)] = [
    ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000),
  ]

  /// Returns milliseconds, or nil if the text is no such span.
  static func parse(_ text: String) -> Int64? {
    guard let unit = units.first(where: { text.hasSuffix($0.letter) }) else { return nil }
    let digits = text.dropLast()
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let count = Int64(digits)
    else { return nil }
    let (milliseconds, isTooLarge) = count.multipliedReportingOverflow(by: unit.milliseconds)
    return isTooLarge ? nil : milliseconds
  }

  /// Returns the span in the largest unit of which it is a whole number.
  static func text(_ milliseconds: Int64) -> String {
    let unit = units.first { milliseconds % $0.milliseconds == 0 }
    return unit.map { "\(milliseconds / $0.milliseconds)\($0.letter)" } ?? "\(milliseconds) ms"
  }
}

extension ValueKind where Value == Int64 {
  /// A span of time in milliseconds, such as `30d`.
  static func lapse(_ range: ClosedRange<Int64>) -> ValueKind {
    ValueKind("TIME") { text throws(ValueFault) in
      guard let value = DurationArgument.parse(text) else {
        throw ValueFault("\"\(text)\" is no span of time, such as 30d, 12h, 5m or 90s")
      }
      guard range.contains(value) else {
        throw ValueFault(
          "\(text) is not between \(DurationArgument.text(range.lowerBound)) and "
            + DurationArgument.text(range.upperBound))
      }
      return value
    }
  }
}

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
