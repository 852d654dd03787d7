import LockstepRuntime
import Testing

@testable import LockstepRuntime

struct FIFOQueueTests {
  @Test func whoCameFirstGoesFirst() {
    var line = FIFOQueue<Int>()
    #expect(line.isEmpty && line.first == nil && line.popFirst() == nil)
    for number in 0..<3 { line.append(number) }
    #expect(line.first == 0 && line.count == 3)
    #expect([line.popFirst(), line.popFirst()] == [0, 1])
    line.append(3)
    #expect([line.popFirst(), line.popFirst(), line.popFirst()] == [2, 3, nil])
    #expect(line.isEmpty)
  }

  /// Otherwise a queue that is never empty would grow for ever.
  @Test func takenPlacesAreUsedAgain() {
    var line = FIFOQueue<Int>()
    for number in 0..<10 { line.append(number) }
    for number in 10..<10_000 {
      line.append(number)
      #expect(line.popFirst() == number - 10)
    }
    #expect(line.count == 10)
    #expect(line.places.count < 100)
  }
}
