import LockstepModel
import Testing

struct UniversalTimeTests {
  @Test(arguments: [
    (0, "1970-01-01T00-00-00.000Z"),
    (-1, "1969-12-31T23-59-59.999Z"),
    (951_782_399_999, "2000-02-28T23-59-59.999Z"),
    (951_782_400_000, "2000-02-29T00-00-00.000Z"),
    (951_868_800_000, "2000-03-01T00-00-00.000Z"),
    (1_772_366_400_000, "2026-03-01T12-00-00.000Z"),
    (1_790_000_005_001, "2026-09-21T14-13-25.001Z"),
    (4_107_542_400_000, "2100-03-01T00-00-00.000Z"),
    (253_402_300_800_000, "10000-01-01T00-00-00.000Z"),
    (-62_167_219_200_000, "0000-01-01T00-00-00.000Z"),
    (-62_167_219_200_001, "-0001-12-31T23-59-59.999Z"),
  ])
  func anInstantIsADate(_ milliseconds: Int64, _ text: String) {
    #expect(UniversalTime(milliseconds).fileName == text)
    #expect(text.hasPrefix(UniversalTime(milliseconds).date))
  }

  @Test func everyDayOfFourHundredYearsFollowsTheOneBefore() {
    var before = UniversalTime(-62_167_219_200_000)
    #expect(UniversalTime.day(of: before.date) == -719_528)
    for number in 1...146_097 {
      let day = UniversalTime(-62_167_219_200_000 + Int64(number) * 86_400_000)
      #expect(UniversalTime.day(of: day.date) == Int64(number) - 719_528)
      if day.day == 1 {
        #expect(before.day == length(of: before.month, before.year), "\(before.date)")
        #expect(day.month == before.month % 12 + 1)
        #expect(day.year == before.year + (day.month == 1 ? 1 : 0))
      } else {
        #expect((day.year, day.month, day.day) == (before.year, before.month, before.day + 1))
      }
      before = day
    }
    #expect(before.date == "0400-01-01")
  }

  @Test(arguments: [
    "", "2026", "2026-2-01", "2026-02-29", "2026-02-30", "2026-13-01", "2026-00-01", "2026-01-00",
    "2026-01-32", "+026-01-01", "2026-01-+1", "2026-01-01-", "2026-01-01T", "²026-01-01",
  ])
  func whatIsNoDayIsNone(_ text: String) {
    #expect(UniversalTime.day(of: text) == nil)
  }

  @Test func noInstantIsTooFar() {
    #expect(UniversalTime(.max).year > 200_000_000)
    #expect(UniversalTime(.min).year < -200_000_000)
  }

  private func length(of month: Int, _ year: Int64) -> Int {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
  }
}
