import Glibc
import LockstepApps
import LockstepLanguage

/// Days, weeks, months and years in this machine's time zone.
enum LocalCalendar {
  enum Unit: String, CaseIterable, Sendable {
    case day
    case week
    case month
    case year

    /// Number of periods that a view shows if the person names none.
    var usualCount: Int {
      switch self {
      case .day: 7
      case .week: 8
      case .month: 12
      case .year: 5
      }
    }

    /// Form of a period's name, for `strftime`.
    fileprivate var form: String {
      switch self {
      case .day: "%Y-%m-%d"
      case .week: "%G-W%V"
      case .month: "%Y-%m"
      case .year: "%Y"
      }
    }
  }

  /// Returns the last `count` periods, the current one last. Days with a change of summer time have
  /// 23 or 25 hours.
  ///
  /// - Parameter instant: Milliseconds since the Unix epoch.
  static func periods(
    _ unit: Unit, last count: Int, until instant: Int64
  ) -> [TimerStatistics.Period] {
    (0..<count).reversed().compactMap { period(unit, back: Int32($0), from: instant) }
  }

  private static func period(
    _ unit: Unit, back: Int32, from instant: Int64
  ) -> TimerStatistics.Period? {
    var seconds = time_t(instant / 1_000)
    var parts = tm()
    guard localtime_r(&seconds, &parts) != nil else { return nil }
    (parts.tm_hour, parts.tm_min, parts.tm_sec, parts.tm_isdst) = (0, 0, 0, -1)
    switch unit {
    case .day: parts.tm_mday -= back
    case .week: parts.tm_mday -= (parts.tm_wday + 6) % 7 + 7 * back
    case .month: (parts.tm_mday, parts.tm_mon) = (1, parts.tm_mon - back)
    case .year: (parts.tm_mday, parts.tm_mon, parts.tm_year) = (1, 0, parts.tm_year - back)
    }
    let beginning = mktime(&parts)
    guard beginning != -1 else { return nil }
    var dates: String?
    if unit == .week {
      var last = parts
      last.tm_mday += 6
      guard mktime(&last) != -1 else { return nil }
      dates = localized(
        "{first} to {last}", ["first": text(parts, "%m-%d"), "last": text(last, "%m-%d")])
    }
    return TimerStatistics.Period(
      name: text(parts, unit.form), from: Int64(beginning) * 1_000, dates: dates)
  }

  /// `form`: for `strftime`.
  private static func text(_ parts: tm, _ form: String) -> String {
    var parts = parts
    let bytes = [UInt8](unsafeUninitializedCapacity: 32) { buffer, filled in
      buffer.withMemoryRebound(to: CChar.self) { text in
        filled = text.baseAddress.map { strftime($0, text.count, form, &parts) } ?? 0
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
