import LockstepModel
import Testing

@testable import LockstepEventLoop

struct HandshakeQueueTests {
  @Test func fewHaveTheirTurnAndWhoCameFirstGoesFirst() {
    var line = HandshakeQueue(LoopLimits())
    let all = (0..<Limits.handshakesPerTurn * 2 + 1).map {
      Poller.Registration(slot: $0, generation: 1)
    }
    for registration in all { line.append(registration) }
    #expect(line.takeTurn() == Array(all[..<Limits.handshakesPerTurn]))
    line.append(all[0])
    #expect(line.takeTurn().count == Limits.handshakesPerTurn)
    #expect(line.takeTurn() == [all[all.count - 1], all[0]])
    #expect(line.isEmpty)
  }

  @Test func soManyAreUnderWayAndNoMore() {
    var limits = LoopLimits()
    limits.handshakesAtOnce = 2
    var line = HandshakeQueue(limits)
    for _ in 0..<2 { line.enter() }
    #expect(line.isFull)
    line.leave()
    #expect(!line.isFull)
  }
}
