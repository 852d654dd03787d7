import Testing

@testable import LockstepCommandLine

struct CalendarTimeTests {
  @Test func aMomentReadsAlikeEverywhere() {
    #expect(CalendarTime.text(0) == "1970-01-01 00:00 UTC")
    #expect(CalendarTime.text(1_709_210_096_789) == "2024-02-29 12:34 UTC")
    #expect(CalendarTime.text(4_102_444_799_999) == "2099-12-31 23:59 UTC")
  }

  /// The hour depends on the local time zone, which a test does not know.
  @Test func aClockOnTheWallHasSecondsWhereTheyMatter() {
    #expect(CalendarTime.clockWithSeconds(1_709_210_096_789).hasSuffix(":56"))
    #expect(
      CalendarTime.clockWithSeconds(1_709_210_096_789)
        == CalendarTime.clock(1_709_210_096_789) + ":56")
  }

  @Test func whatNoCalendarHasIsStillToldAsANumber() {
    #expect(CalendarTime.text(.max) != "")
  }
}
