import Changes
import Testing

@testable import Devices

struct LadderTests {
  let now = Instant(nanoseconds: 0)

  @Test func oneFailureMayBeChance() {
    var ladder = Ladder([.webSocket, .longPoll, .poll])
    ladder.rungFailed(at: now)
    ladder.rungServed()
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
    #expect(ladder.better == nil)
    for _ in 0..<2 { ladder.rungFailed(at: now) }
    #expect(ladder.better == .webSocket)
    var waits: [Int64] = []
    for _ in 0..<9 {
      waits.append(try #require(ladder.probeAt).milliseconds(since: now))
      ladder.probeFailed(at: now)
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
}
