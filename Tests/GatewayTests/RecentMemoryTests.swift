import LockstepModel
import Testing

@testable import LockstepGateway

struct RecentMemoryTests {
  private func instant(_ milliseconds: Int64) -> Instant { Samples.moment(milliseconds).instant }

  @Test func valueIsRememberedUntilItsTimeIsOver() {
    var memory = RecentMemory<Int, String>(keys: 10, milliseconds: 1_000)
    memory.remember("a", of: 1, at: instant(0))
    #expect(memory.value(of: 1, at: instant(999)) == "a")
    #expect(memory.value(of: 1, at: instant(1_000)) == nil)
    memory.remember("b", of: 1, at: instant(500))
    #expect(memory.value(of: 1, at: instant(1_499)) == "b")
    memory.forget(1)
    #expect(memory.value(of: 1, at: instant(500)) == nil)
    #expect(memory.value(of: 2, at: instant(0)) == nil)
  }

  @Test func newestKeysAreRememberedWithinTheLimit() {
    var memory = RecentMemory<Int, Int>(keys: 10, milliseconds: 1_000)
    for key in 0..<1_000 {
      memory.remember(key, of: key, at: instant(0))
      #expect(memory.count <= 10)
      for recent in max(0, key - 4)...key {
        #expect(memory.value(of: recent, at: instant(0)) == recent)
      }
    }
    #expect(memory.value(of: 0, at: instant(0)) == nil)
  }

  @Test func keyThatIsUsedAgainIsKept() {
    var memory = RecentMemory<Int, Int>(keys: 10, milliseconds: 1_000)
    for key in 1..<100 {
      memory.remember(0, of: 0, at: instant(0))
      memory.remember(key, of: key, at: instant(0))
    }
    #expect(memory.value(of: 0, at: instant(0)) == 0)
    memory.forget(0)
    #expect(memory.value(of: 0, at: instant(0)) == nil, "also in the older half")
  }
}
