import Lockstep
import LockstepCommandLine
import LockstepHome
import LockstepModel
import Testing

@testable import LockstepCommand

/// Texts of `lockstep agent wake`.
struct AgentWakeCommandsTests {
  private let problem = WakeProblem("no distributor is there", nextStep: "Start one.")
  private let away = Result<[WakeStatus], LockstepError>.failure(
    .unreachable(relay: "https://r.example", reason: "no route"))

  @Test func statusShowsWhatThisMachineKnowsWhileTheRelayIsAway() {
    let text = AgentWakeCommand.text(
      away, .running(isReady: false, distributor: nil, problem), at: 0)
    let lines = text.split(separator: "\n")
    #expect(lines.count == 3)
    #expect(lines[0].contains("not known") && lines[0].contains("no route"))
    #expect(lines[1] == "the agent cannot be woken: no distributor is there")
    #expect(lines[2] == "→ Start one.")
  }

  @Test func statusShowsTheRelaysPartWhileTheAgentIsSilent() {
    let wake = WakeStatus(id: Name(trusted: "agent"), verifiedAt: 0)
    let text = AgentWakeCommand.text(
      .success([wake]), .silent(reason: "it did not answer"), at: 0)
    #expect(text.contains("works, last proved"))
    #expect(text.contains("does not say how it is woken: it did not answer"))
    #expect(!text.contains("no agent runs"))
  }

  @Test func offRefusesAnAgentThatMayRegisterAgain() {
    #expect(throws: Never.self) { try AgentWakeCommand.requireNoneRuns(.none) }
    let running = #expect(throws: CommandFailure.self) {
      try AgentWakeCommand.requireNoneRuns(.running(isReady: true, distributor: "a.b", nil))
    }
    #expect(running?.message?.contains("runs with --wake") == true)
    let silent = #expect(throws: CommandFailure.self) {
      try AgentWakeCommand.requireNoneRuns(.silent(reason: "it did not answer"))
    }
    #expect(silent?.message?.contains("not known") == true)
    #expect(silent?.message?.contains("stop that process") == true)
  }

  @Test func offSaysWhatMayStayAtTheDistributor() {
    #expect(!AgentWakeCommand.text(of: .ended(distributor: "a.b")).contains("\n"))
    #expect(!AgentWakeCommand.text(of: .notRegistered).contains("\n"))
    let text = AgentWakeCommand.text(of: .unknown(problem))
    #expect(text.contains("may keep a registration: no distributor is there\n→ Start one."))
  }
}
