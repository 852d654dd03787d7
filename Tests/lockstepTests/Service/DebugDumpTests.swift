import LockstepModel
import Testing

@testable import LockstepCommand
@testable import LockstepRelay

struct DebugDumpTests {
  private func state() -> NodeState {
    let node = RelayNode(
      configuration: RelayConfiguration(),
      secrets: SecretSource { [UInt8](repeating: 0, count: $0) },
      random: SeededRandom(seed: 1))
    return node.currentState
  }

  private let start = Instant(nanoseconds: 5_000_000_000)

  @Test func findingsAreThereAsSoonAsAllHaveAnswered() {
    let board = DebugDump()
    #expect(board.nextLook(at: start) == nil)
    #expect(board.begin(nodes: 2, at: start))
    #expect(!board.begin(nodes: 2, at: start), "one inquiry at a time")
    board.answered(1, state())
    #expect(board.findings(busyLanes: [], at: start) == nil)
    board.answered(0, state())
    #expect(board.findings(busyLanes: [.commits], at: start) == nil, "a thread is still busy")
    let findings = board.findings(busyLanes: [], at: start)
    #expect(findings?.states == [state(), state()])
    #expect(board.findings(busyLanes: [], at: start) == nil, "it is told once")
    #expect(board.nextLook(at: start) == nil)
  }

  @Test func whoDoesNotAnswerIsNamedWhenTheTimeIsUp() throws {
    let board = DebugDump()
    #expect(board.begin(nodes: 2, at: start))
    board.answered(0, state())
    let end = start.advanced(milliseconds: Limits.stateMilliseconds)
    #expect(try #require(board.nextLook(at: start)) < end)
    let findings = try #require(board.findings(busyLanes: [.commits], at: end))
    let text = findings.block(uptime: 3_605_000, process: 7)
    #expect(text.contains("loop 0: running\n"))
    #expect(text.contains("loop 1: did not answer within a second"))
    #expect(text.contains("the thread of commits has been at one piece of work"))
    #expect(
      text.hasPrefix(
        "lockstep relay: state of version \(Lockstep.version), process 7, up 3605 s, 2 loops\n"))
    let fields = findings.fields(uptime: 3_605_000, process: 7)
    let json = JSONValue.object(fields.map { JSONMember($0.name, $0.value) })
    #expect(json["uptimeSeconds"]?.int64 == 3_605)
    #expect(json["loops"]?.array?.map { $0["answered"]?.bool } == [true, false])
    #expect(json["busyLanes"] == ["commits"])
    board.answered(1, state())
    #expect(board.nextLook(at: end) == nil, "an answer that comes late is dropped")
  }
}
