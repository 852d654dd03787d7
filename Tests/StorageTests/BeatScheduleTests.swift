import LockstepModel
import Testing

@testable import LockstepStorage

struct BeatScheduleTests {
  private func time(_ milliseconds: Int64) -> Instant {
    Instant(nanoseconds: 1).advanced(milliseconds: milliseconds)
  }

  @Test func aRelayThatChangesNothingBeatsSeldom() {
    var schedule = BeatSchedule(at: time(0))
    #expect(schedule.isDue(at: time(0)), "the others are to hear that it is there")
    schedule.recordBeat(at: time(0))
    #expect(!schedule.isDue(at: time(Limits.beatMilliseconds - 1)))
    #expect(schedule.isDue(at: time(Limits.beatMilliseconds)))
    #expect(Limits.silentLineMilliseconds > Limits.beatMilliseconds + 1_000)
  }

  /// Of many notices one after the other, the first sets the time: a later one may not delay it.
  @Test func aSecondAfterANoticeOthersCanTellWhetherTheyMissedIt() {
    var schedule = BeatSchedule(at: time(0))
    schedule.recordBeat(at: time(0))
    schedule.recordNotices(at: time(500))
    schedule.recordNotices(at: time(1_400))
    #expect(schedule.next == time(500 + Limits.noticeBeatMilliseconds))
    schedule.recordBeat(at: time(1_500))
    #expect(schedule.next == time(1_500 + Limits.beatMilliseconds))
    // A beat that is nearer than that stays.
    schedule.recordNotices(at: time(5_400))
    #expect(schedule.next == time(1_500 + Limits.beatMilliseconds))
  }
}
