import LockstepCommandLine
import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepRelay
@testable import LockstepRelayService

struct DebugDumpTests {
  private func state() -> NodeState {
    var node = RelayNode(
      configuration: RelayConfiguration(),
      secrets: SecretSource { [UInt8](repeating: 0, count: $0) },
      random: SeededRandom(seed: 1))
    return node.currentState
  }

  private let start = Instant(nanoseconds: 5_000_000_000)

  @Test func findingsAreThereAsSoonAsAllHaveAnswered() {
    let dump = DebugDump()
    #expect(dump.nextPoll(at: start) == nil)
    #expect(dump.begin(nodes: 2, at: start))
    #expect(!dump.begin(nodes: 2, at: start), "one inquiry at a time")
    dump.storeAnswer(1, state())
    #expect(dump.findings(busyLanes: [], at: start) == nil)
    dump.storeAnswer(0, state())
    #expect(dump.findings(busyLanes: [.commits], at: start) == nil, "a thread is still busy")
    let findings = dump.findings(busyLanes: [], at: start)
    #expect(findings?.states == [state(), state()])
    #expect(dump.findings(busyLanes: [], at: start) == nil, "it is told once")
    #expect(dump.nextPoll(at: start) == nil)
  }

  @Test func whoDoesNotAnswerIsNamedWhenTheTimeIsUp() throws {
    let dump = DebugDump()
    #expect(dump.begin(nodes: 2, at: start))
    dump.storeAnswer(0, state())
    let end = start.advanced(milliseconds: Limits.stateMilliseconds)
    #expect(try #require(dump.nextPoll(at: start)) < end)
    let findings = try #require(dump.findings(busyLanes: [.commits], at: end))
    let text = findings.block(uptime: 3_605_000, process: 7)
    #expect(text.contains("loop 0: running\n"))
    #expect(text.contains("loop 1: did not answer within a second"))
    #expect(text.contains("the thread of commits has worked on one job"))
    #expect(
      text.hasPrefix(
        "lockstep relay: state of version \(LockstepVersion.current), process 7, up 3605 s, 2 loops\n"
      ))
    let fields = findings.fields(uptime: 3_605_000, process: 7)
    let json = JSONValue.object(fields.map { JSONMember($0.name, $0.value) })
    #expect(json["uptimeSeconds"]?.int64 == 3_605)
    #expect(json["loops"]?.array?.map { $0["answered"]?.bool } == [true, false])
    #expect(json["busyLanes"] == ["commits"])
    dump.storeAnswer(1, state())
    #expect(dump.nextPoll(at: end) == nil, "an answer that comes late is dropped")
  }
}
