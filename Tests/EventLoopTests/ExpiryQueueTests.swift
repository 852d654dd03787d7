import LockstepModel
import Testing

@testable import LockstepEventLoop

struct ExpiryQueueTests {
  @Test func oldestExpiresFirstAndNoneExpiresEarly() {
    var queue = ExpiryQueue(milliseconds: 10)
    let start = Instant(nanoseconds: 0)
    for slot in 0..<100 {
      queue.add(
        Poller.Registration(slot: slot, generation: 1), unsent: slot,
        at: start.advanced(milliseconds: Int64(slot)))
    }
    #expect(queue.next == start.advanced(milliseconds: 10))
    #expect(queue.popExpired(at: start.advanced(milliseconds: 9)) == nil)
    for slot in 0..<100 {
      let entry = queue.popExpired(at: start.advanced(milliseconds: Int64(slot) + 10))
      #expect(entry?.registration.slot == slot && entry?.unsent == slot)
      #expect(queue.popExpired(at: start.advanced(milliseconds: Int64(slot) + 10)) == nil)
    }
    #expect(queue.next == nil)
  }
}
