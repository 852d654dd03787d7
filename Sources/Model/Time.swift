/// Point on the monotonic clock, in nanoseconds since some start. Used for deadlines and measured
/// spans; it has no meaning on another machine.
@usableFromInline
package struct Instant: Hashable, Comparable, Sendable {
  @usableFromInline package var nanoseconds: Int64

  @inlinable package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  @inlinable package static func < (left: Instant, right: Instant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  @inlinable package func advanced(milliseconds: Int64) -> Instant {
    Instant(nanoseconds: nanoseconds + milliseconds * 1_000_000)
  }

  /// Whole milliseconds from `earlier` to this instant, rounded towards zero.
  @inlinable package func milliseconds(since earlier: Instant) -> Int64 {
    (nanoseconds - earlier.nanoseconds) / 1_000_000
  }
}

/// Time of an event: the monotonic clock, and the wall clock, which people and other processes set
/// and which may jump.
@usableFromInline
package struct Moment: Hashable, Sendable {
  @usableFromInline package var instant: Instant
  /// Milliseconds since the Unix epoch, by this machine's clock.
  @usableFromInline package var wall: Int64

  @inlinable package init(instant: Instant, wall: Int64) {
    self.instant = instant
    self.wall = wall
  }
}

/// Instant as date and time of day in UTC (the Gregorian calendar of ISO 8601, also for the years
/// before it was in use).
@usableFromInline
package struct UniversalTime: Hashable, Sendable {
  @usableFromInline package var year: Int64
  /// 1 to 12, and 1 to 31.
  @usableFromInline package var month: Int
  @usableFromInline package var day: Int
  @usableFromInline package var hour: Int
  @usableFromInline package var minute: Int
  @usableFromInline package var second: Int
  @usableFromInline package var millisecond: Int

  /// Converts `milliseconds` since the Unix epoch; any number is an instant.
  @usableFromInline
  package init(_ milliseconds: Int64) {
    let (days, rest) = UniversalTime.divided(milliseconds, by: 86_400_000)
    let time = Int(rest)
    hour = time / 3_600_000
    minute = time / 60_000 % 60
    second = time / 1_000 % 60
    millisecond = time % 1_000
    // Years are counted from 1 March, so that the leap day is the last day of its year. The pattern
    // repeats every 400 years and begins on 1 March of the year 0.
    let (cycle, dayOfCycle) = UniversalTime.divided(days + 719_468, by: 146_097)
    let leapDays = dayOfCycle / 1_460 - dayOfCycle / 36_524 + dayOfCycle / 146_096
    let yearOfCycle = (dayOfCycle - leapDays) / 365
    let dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
    // From March on, five months have 153 days.
    let monthFromMarch = Int((5 * dayOfYear + 2) / 153)
    day = Int(dayOfYear) - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = cycle * 400 + yearOfCycle + (month <= 2 ? 1 : 0)
  }

  /// `2026-03-01`.
  @usableFromInline
  package var date: String {
    [UniversalTime.padded(year, 4), UniversalTime.padded(month), UniversalTime.padded(day)]
      .joined(separator: "-")
  }

  /// Days from 1970-01-01 to a date in the form of `date`; nil if it is not a day of the calendar.
  @usableFromInline
  package static func day(of date: String) -> Int64? {
    let parts = date.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    let numbers = parts.compactMap { Int64(String(decoding: $0, as: UTF8.self)) }
    guard parts.map(\.count) == [4, 2, 2], numbers.count == 3 else { return nil }
    // As in `init`: years begin with March.
    let year = numbers[1] <= 2 ? numbers[0] - 1 : numbers[0]
    let monthFromMarch = (numbers[1] + 9) % 12
    let (cycle, yearOfCycle) = divided(year, by: 400)
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + numbers[2] - 1
    let dayOfCycle = 365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100 + dayOfYear
    let day = cycle * 146_097 + dayOfCycle - 719_468
    // 30 February would give the number of another day, and +1 is another spelling of a number.
    return UniversalTime(day * 86_400_000).date == date ? day : nil
  }

  /// `2026-03-01T12:00:00.000Z` (RFC 3339).
  @usableFromInline
  package var timestamp: String {
    let clock = [hour, minute, second].map { UniversalTime.padded($0) }.joined(separator: ":")
    return date + "T" + clock + "." + UniversalTime.padded(millisecond, 3) + "Z"
  }

  /// `2026-03-01T12-00-00.000Z`: ISO 8601, except for the hyphens in the time, which make it a
  /// valid file name on all systems.
  @usableFromInline
  package var fileName: String {
    let clock = [hour, minute, second].map { UniversalTime.padded($0) }.joined(separator: "-")
    return date + "T" + clock + "." + UniversalTime.padded(millisecond, 3) + "Z"
  }

  private static func divided(_ number: Int64, by divisor: Int64) -> (quotient: Int64, rest: Int64)
  {
    let (quotient, rest) = number.quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
  }

  private static func padded(_ number: some BinaryInteger, _ digits: Int = 2) -> String {
    let text = String(number.magnitude)
    let zeros = String(repeating: "0", count: max(0, digits - text.utf8.count))
    return (number < 0 ? "-" : "") + zeros + text
  }
}
