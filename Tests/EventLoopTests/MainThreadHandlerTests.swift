import Glibc
import LockstepModel
import Testing

@testable import LockstepEventLoop

struct MainThreadHandlerTests {
  /// Runs `body` on a new thread, so that the signals are blocked in no other thread of the tests.
  private func run(_ body: @escaping @Sendable (Signals) throws -> Void) throws {
    let thread = try LoopThread("attended") {
      do {
        try body(try Signals([SIGTERM, SIGUSR1]))
      } catch {
        Issue.record(error)
      }
    }
    thread.join()
  }

  @Test func otherSignalsThanThoseOfTheEndEndNothing() throws {
    try run { signals in
      let group = try NodeGroup<ScriptedNode>(count: 1, GroupSettings { _, _ in })
      try group.add(ScriptedNode())
      var heard: [Int32] = []
      let mainThreadHandler = MainThreadHandler(handleSignal: { number in
        heard.append(number)
        // The group runs on until it is stopped.
        if number == SIGUSR1 { raise(SIGTERM) }
      })
      raise(SIGUSR1)
      #expect(try group.run(signals, mainThreadHandler) == [.done])
      #expect(heard == [SIGUSR1, SIGTERM])
    }
  }

  @Test func theAttendantIsCalledAgainWhenItWants() throws {
    try run { signals in
      let group = try NodeGroup<ScriptedNode>(count: 1, GroupSettings { _, _ in })
      try group.add(ScriptedNode())
      var moments: [Instant] = []
      let mainThreadHandler = MainThreadHandler(tick: { now in
        moments.append(now)
        if moments.count == 3 { raise(SIGTERM) }
        return moments.count < 3 ? now.advanced(milliseconds: 2) : nil
      })
      #expect(try group.run(signals, mainThreadHandler) == [.done])
      #expect(moments.count >= 3)
      #expect(moments == moments.sorted())
      #expect(moments[1].milliseconds(since: moments[0]) >= 2, "not before its time")
    }
  }
}
