import Glibc
import Testing

@testable import LockstepEventLoop

struct SignalsTests {
  @Test func signalsAreNamedAndDoNotEndTheProcess() throws {
    let counts = RunningGroup.Box<[[Int32]]>([])
    let thread = try LoopThread("signals") {
      do throws(SystemFault) {
        let signals = try Signals()
        let before = try signals.receive()
        raise(SIGTERM)
        raise(SIGINT)
        raise(SIGPIPE)
        let after = try signals.receive()
        let atLast = try signals.receive()
        counts.change { $0 = [before, after, atLast] }
      } catch {
        Issue.record(error)
      }
    }
    thread.join()
    #expect(counts.contents == [[], [SIGINT, SIGTERM], []])
  }
}
