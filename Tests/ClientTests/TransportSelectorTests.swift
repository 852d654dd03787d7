import LockstepModel
import Testing

@testable import LockstepClient

struct TransportSelectorTests {
  let now = Instant(nanoseconds: 0)

  @Test func oneFailureMayBeChance() {
    var transportSelector = TransportSelector([.webSocket, .longPoll, .poll])
    transportSelector.transportFailed(at: now)
    transportSelector.transportServed(at: now)
    transportSelector.transportFailed(at: now)
    #expect(transportSelector.transport == .webSocket)
  }

  @Test func twoFailuresInARowLeadDown() {
    var transportSelector = TransportSelector([.webSocket, .longPoll, .poll])
    for _ in 0..<2 { transportSelector.transportFailed(at: now) }
    #expect(transportSelector.transport == .longPoll)
    for _ in 0..<2 { transportSelector.transportFailed(at: now) }
    #expect(transportSelector.transport == .poll)
    for _ in 0..<9 { transportSelector.transportFailed(at: now) }
    #expect(transportSelector.transport == .poll)
  }

  @Test func aBetterTransportIsTriedAtGrowingIntervals() throws {
    var transportSelector = TransportSelector([.webSocket, .longPoll])
    #expect(transportSelector.probeAt == nil)
    #expect(!transportSelector.canUpgradeToSocket)
    for _ in 0..<2 { transportSelector.transportFailed(at: now) }
    #expect(transportSelector.canUpgradeToSocket)
    var waits: [Int64] = []
    for _ in 0..<9 {
      waits.append(try #require(transportSelector.probeAt).milliseconds(since: now))
      transportSelector.tryBetter(at: now)
    }
    #expect(waits.first == Limits.probeFirstMilliseconds)
    #expect(waits == waits.sorted())
    #expect(waits.last == Limits.probeMilliseconds)
  }

  @Test func aBetterTransportThatAnswersIsUsed() {
    var transportSelector = TransportSelector([.webSocket, .longPoll])
    for _ in 0..<2 { transportSelector.transportFailed(at: now) }
    transportSelector.upgrade(to: .webSocket, at: now)
    #expect(transportSelector.transport == .webSocket)
    #expect(transportSelector.probeAt == nil)
  }

  @Test func anotherNetworkBeginsAtTheTop() {
    var transportSelector = TransportSelector([.webSocket, .longPoll, .poll])
    for _ in 0..<4 { transportSelector.transportFailed(at: now) }
    transportSelector.reset()
    #expect(transportSelector.transport == .webSocket)
    #expect(transportSelector.probeAt == nil)
  }

  @Test func aSingleTransportIsNeverReplaced() {
    var transportSelector = TransportSelector([.poll])
    for _ in 0..<9 { transportSelector.transportFailed(at: now) }
    #expect(transportSelector.transport == .poll)
    #expect(transportSelector.probeAt == nil)
  }

  @Test func aProbeThatAnswersAfterAFurtherFallbackIsUsed() {
    var transportSelector = TransportSelector([.webSocket, .longPoll, .poll])
    for _ in 0..<4 { transportSelector.transportFailed(at: now) }
    #expect(transportSelector.transport == .poll)
    transportSelector.upgrade(to: .webSocket, at: now)
    #expect(transportSelector.transport == .webSocket)
  }

  @Test func aLongPollThatIsCutIsHeldForLessAndLeftAtLast() {
    var transportSelector = TransportSelector([.webSocket, .longPoll, .poll])
    for _ in 0..<2 { transportSelector.transportFailed(at: now) }
    var waits: [Int64] = []
    for _ in 0..<3 {
      transportSelector.longPollCut(heldMilliseconds: nil, at: now)
      waits.append(transportSelector.waitMilliseconds)
    }
    #expect(waits == [25_000, 12_500, 6_250])
    transportSelector.longPollCut(heldMilliseconds: nil, at: now)
    #expect(transportSelector.transport == .longPoll)
    transportSelector.longPollCut(heldMilliseconds: nil, at: now)
    #expect(transportSelector.transport == .poll)
  }

  @Test func whatWasCutAfterAWhileIsHeldForLessThanThat() {
    for (held, wait) in [(30_000, 25_000), (10_000, 6_250), (5_000, 6_250), (0, 6_250)] {
      var transportSelector = TransportSelector([.longPoll, .poll])
      transportSelector.longPollCut(heldMilliseconds: Int64(held), at: now)
      #expect(transportSelector.waitMilliseconds == Int64(wait))
      #expect(transportSelector.transport == .longPoll)
    }
  }

  @Test func whatIsTriedIsLeftAtTheFirstFailureAndStaysOnceItHasServed() {
    var transportSelector = TransportSelector([.webSocket, .longPoll, .poll])
    for _ in 0..<2 { transportSelector.transportFailed(at: now) }
    for _ in 0..<5 { transportSelector.longPollCut(heldMilliseconds: nil, at: now) }
    #expect(transportSelector.transport == .poll)
    transportSelector.tryBetter(at: now)
    #expect(transportSelector.transport == .longPoll)
    #expect(transportSelector.waitMilliseconds == 6_250)
    transportSelector.longPollCut(heldMilliseconds: nil, at: now)
    #expect(transportSelector.transport == .poll)
    transportSelector.tryBetter(at: now)
    transportSelector.transportServed(at: now)
    transportSelector.longPollCut(heldMilliseconds: nil, at: now)
    #expect(transportSelector.transport == .longPoll)
    transportSelector.tryBetter(at: now)
    #expect(transportSelector.waitMilliseconds == 6_250)
    transportSelector.transportServed(at: now)
    var waits: [Int64] = []
    for _ in 0..<3 {
      transportSelector.tryBetter(at: now)
      transportSelector.transportServed(at: now)
      waits.append(transportSelector.waitMilliseconds)
    }
    #expect(waits == [12_500, 25_000, 50_000])
  }

  @Test func aPersonNeedNotWaitForTheNextProbe() throws {
    var transportSelector = TransportSelector([.webSocket, .longPoll])
    transportSelector.probeSoon(at: now)
    #expect(transportSelector.probeAt == nil)
    for _ in 0..<2 { transportSelector.transportFailed(at: now) }
    transportSelector.probeSoon(at: now)
    #expect(try #require(transportSelector.probeAt) == now)
  }
}
