import Testing

@testable import LockstepModel

@Suite struct TimeTests {
  @Test func instantsAdvanceByMilliseconds() {
    let start = Instant(nanoseconds: 5)
    #expect(start.advanced(milliseconds: 2) == Instant(nanoseconds: 2_000_005))
    #expect(start.advanced(milliseconds: -1) < start)
    #expect(start.advanced(milliseconds: 30_000).milliseconds(since: start) == 30_000)
  }

  @Test func partOfAMillisecondIsLeftOut() {
    let start = Instant(nanoseconds: 0)
    #expect(Instant(nanoseconds: 1_999_999).milliseconds(since: start) == 1)
    #expect(Instant(nanoseconds: 999_999).milliseconds(since: start) == 0)
    #expect(start.milliseconds(since: Instant(nanoseconds: 1_999_999)) == -1)
  }
}
