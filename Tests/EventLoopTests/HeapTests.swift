import Testing

@testable import LockstepEventLoop

struct HeapTests {
  @Test func aHeapIsTrimmedOnceForEachFlood() {
    var watch = HeapWatch(slackBytes: 100)
    // Memory returned to the system counts as free until it is in use again.
    let trims = [99, 500, 550, 20, 110, 500].map { watch.shouldTrim(freeBytes: $0) }
    #expect(trims == [false, true, false, false, false, true])
  }

  @Test func freeMemoryIsCountedAndGivenBack() {
    let blocks = (0..<2_000).map { _ in [UInt8](repeating: 1, count: 10_000) }
    #expect(blocks.count == 2_000)
    #expect(Heap.freeBytes >= 0)
    Heap.trim()
  }
}
