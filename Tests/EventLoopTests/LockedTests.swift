import Testing

@testable import LockstepEventLoop

struct LockedTests {
  @Test func countsOfManyThreadsAddUp() throws {
    let count = Locked(0)
    let threads = try (0..<4).map { _ in
      try LoopThread("count") { for _ in 0..<10_000 { count.withLock { $0 += 1 } } }
    }
    for thread in threads { thread.join() }
    #expect(count.withLock { $0 } == 40_000)
  }

  @Test func aLockThatIsHeldIsNotWaitedFor() throws {
    let value = Locked(1)
    let seen = Locked<[Int?]>([])
    func look() throws {
      let thread = try LoopThread("look") {
        let found = value.withLockIfFree { $0 }
        seen.withLock { $0.append(found) }
      }
      thread.join()
    }
    try look()
    try value.withLock { value throws in
      value = 2
      try look()
    }
    try look()
    #expect(seen.withLock { $0 } == [1, nil, 2])
  }

  @Test func faultLeavesItUnlocked() {
    let value = Locked(1)
    #expect(throws: SystemFault.self) {
      try value.withLock { (_) throws(SystemFault) in throw SystemFault(call: "none", code: 1) }
    }
    #expect(value.withLock { $0 } == 1)
  }
}
