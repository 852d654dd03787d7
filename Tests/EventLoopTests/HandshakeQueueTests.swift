import LockstepModel
import Testing

@testable import LockstepEventLoop

struct HandshakeQueueTests {
  @Test func onlyAFewRunPerTurnInOrderOfArrival() {
    var queue = HandshakeQueue(LoopLimits())
    let all = (0..<Limits.handshakesPerTurn * 2 + 1).map {
      Poller.Registration(slot: $0, generation: 1)
    }
    for registration in all { queue.append(registration) }
    #expect(queue.dequeueTurn() == Array(all[..<Limits.handshakesPerTurn]))
    queue.append(all[0])
    #expect(queue.dequeueTurn().count == Limits.handshakesPerTurn)
    #expect(queue.dequeueTurn() == [all[all.count - 1], all[0]])
    #expect(queue.isEmpty)
  }

  @Test func soManyAreUnderWayAndNoMore() {
    var limits = LoopLimits()
    limits.handshakesAtOnce = 2
    var queue = HandshakeQueue(limits)
    for _ in 0..<2 { queue.countStart() }
    #expect(queue.isFull)
    queue.countEnd()
    #expect(!queue.isFull)
  }
}
