import LockstepModel
import Testing

struct TagGapTests {
  @Test func aGapBeginsBehindTheLastTagThatWasGiven() {
    let gap = TagGap(after: 100, through: 20_000)
    #expect(!gap.contains(100) && gap.contains(101))
    #expect(gap.contains(20_000) && !gap.contains(20_001))
  }
}
