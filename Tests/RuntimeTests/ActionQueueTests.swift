import LockstepModel
import LockstepRuntime
import Testing

@Suite struct ActionQueueTests {
  @Test func actionsLeaveInTheOrderInWhichTheyCame() {
    var random = SeededRandom(seed: 3)
    var queue = ActionQueue<Int>()
    var next = 0
    var expected = 0
    for _ in 0..<5_000 {
      if Bool.random(using: &random) {
        queue.append(next)
        next += 1
      } else if let action = queue.popFirst() {
        #expect(action == expected)
        expected += 1
      } else {
        #expect(expected == next)
      }
      #expect(queue.isEmpty == (expected == next))
    }
    while let action = queue.popFirst() {
      #expect(action == expected)
      expected += 1
    }
    #expect(expected == next && next > 2_000)
  }
}
