import LockstepModel
import Testing

@testable import LockstepClient

struct LadderTests {
  let now = Instant(nanoseconds: 0)

  @Test func oneFailureMayBeChance() {
    var ladder = Ladder([.webSocket, .longPoll, .poll])
    ladder.rungFailed(at: now)
    ladder.rungServed(at: now)
    ladder.rungFailed(at: now)
    #expect(ladder.transport == .webSocket)
  }

  @Test func twoFailuresInARowLeadDown() {
    var ladder = Ladder([.webSocket, .longPoll, .poll])
    for _ in 0..<2 { ladder.rungFailed(at: now) }
    #expect(ladder.transport == .longPoll)
    for _ in 0..<2 { ladder.rungFailed(at: now) }
    #expect(ladder.transport == .poll)
    for _ in 0..<9 { ladder.rungFailed(at: now) }
    #expect(ladder.transport == .poll)
  }

  @Test func theBetterRungIsTriedAtGrowingIntervals() throws {
    var ladder = Ladder([.webSocket, .longPoll])
    #expect(ladder.probeAt == nil)
    #expect(!ladder.hasSocketAbove)
    for _ in 0..<2 { ladder.rungFailed(at: now) }
    #expect(ladder.hasSocketAbove)
    var waits: [Int64] = []
    for _ in 0..<9 {
      waits.append(try #require(ladder.probeAt).milliseconds(since: now))
      ladder.tryBetter(at: now)
    }
    #expect(waits.first == Limits.probeFirstMilliseconds)
    #expect(waits == waits.sorted())
    #expect(waits.last == Limits.probeMilliseconds)
  }

  @Test func aBetterRungThatAnswersIsClimbed() {
    var ladder = Ladder([.webSocket, .longPoll])
    for _ in 0..<2 { ladder.rungFailed(at: now) }
    ladder.climb(to: .webSocket, at: now)
    #expect(ladder.transport == .webSocket)
    #expect(ladder.probeAt == nil)
  }

  @Test func anotherNetworkBeginsAtTheTop() {
    var ladder = Ladder([.webSocket, .longPoll, .poll])
    for _ in 0..<4 { ladder.rungFailed(at: now) }
    ladder.reset()
    #expect(ladder.transport == .webSocket)
    #expect(ladder.probeAt == nil)
  }

  @Test func aSingleRungIsNeverLeft() {
    var ladder = Ladder([.poll])
    for _ in 0..<9 { ladder.rungFailed(at: now) }
    #expect(ladder.transport == .poll)
    #expect(ladder.probeAt == nil)
  }

  @Test func aProbeThatAnswersAfterAFurtherFallIsClimbedToAllTheWay() {
    var ladder = Ladder([.webSocket, .longPoll, .poll])
    for _ in 0..<4 { ladder.rungFailed(at: now) }
    #expect(ladder.transport == .poll)
    ladder.climb(to: .webSocket, at: now)
    #expect(ladder.transport == .webSocket)
  }

  @Test func aLongPollThatIsCutIsHeldForLessAndLeftAtLast() {
    var ladder = Ladder([.webSocket, .longPoll, .poll])
    for _ in 0..<2 { ladder.rungFailed(at: now) }
    var waits: [Int64] = []
    for _ in 0..<3 {
      ladder.longPollCut(heldMilliseconds: nil, at: now)
      waits.append(ladder.waitMilliseconds)
    }
    #expect(waits == [25_000, 12_500, 6_250])
    ladder.longPollCut(heldMilliseconds: nil, at: now)
    #expect(ladder.transport == .longPoll)
    ladder.longPollCut(heldMilliseconds: nil, at: now)
    #expect(ladder.transport == .poll)
  }

  @Test func whatWasCutAfterAWhileIsHeldForLessThanThat() {
    for (held, wait) in [(30_000, 25_000), (10_000, 6_250), (5_000, 6_250), (0, 6_250)] {
      var ladder = Ladder([.longPoll, .poll])
      ladder.longPollCut(heldMilliseconds: Int64(held), at: now)
      #expect(ladder.waitMilliseconds == Int64(wait))
      #expect(ladder.transport == .longPoll)
    }
  }

  @Test func whatIsTriedIsLeftAtTheFirstFailureAndStaysOnceItHasServed() {
    var ladder = Ladder([.webSocket, .longPoll, .poll])
    for _ in 0..<2 { ladder.rungFailed(at: now) }
    for _ in 0..<5 { ladder.longPollCut(heldMilliseconds: nil, at: now) }
    #expect(ladder.transport == .poll)
    ladder.tryBetter(at: now)
    #expect(ladder.transport == .longPoll)
    #expect(ladder.waitMilliseconds == 6_250)
    ladder.longPollCut(heldMilliseconds: nil, at: now)
    #expect(ladder.transport == .poll)
    ladder.tryBetter(at: now)
    ladder.rungServed(at: now)
    ladder.longPollCut(heldMilliseconds: nil, at: now)
    #expect(ladder.transport == .longPoll)
    ladder.tryBetter(at: now)
    #expect(ladder.waitMilliseconds == 6_250)
    ladder.rungServed(at: now)
    var waits: [Int64] = []
    for _ in 0..<3 {
      ladder.tryBetter(at: now)
      ladder.rungServed(at: now)
      waits.append(ladder.waitMilliseconds)
    }
    #expect(waits == [12_500, 25_000, 50_000])
  }

  @Test func aPersonNeedNotWaitForTheNextProbe() throws {
    var ladder = Ladder([.webSocket, .longPoll])
    ladder.probeSoon(at: now)
    #expect(ladder.probeAt == nil)
    for _ in 0..<2 { ladder.rungFailed(at: now) }
    ladder.probeSoon(at: now)
    #expect(try #require(ladder.probeAt) == now)
  }
}
