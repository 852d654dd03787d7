import Lockstep
import LockstepEventLoop
import LockstepJSON
import TemporaryFolders
import Testing

@testable import LockstepHome

/// The state of wakes in the process that holds a home.
struct WakeAgentTests {
  private static let problem = WakeProblem("there is no bus", nextStep: "Start one.")

  @Test(arguments: [
    WakeAgent.none, .running(isReady: true, distributor: "a.b", nil),
    .running(isReady: false, distributor: nil, WakeAgentTests.problem),
  ])
  func anAnswerIsReadAsItWasWritten(_ agent: WakeAgent) throws {
    #expect(WakeAgent(try JSONValue(parsing: agent.json.serialized())) == agent)
  }

  @Test func anAnswerOfAnotherFormIsNone() {
    for answer: JSONValue in ["x", [:], ["distributor": "a.b"]] {
      #expect(WakeAgent(answer) == nil)
    }
  }

  @Test func withoutASocketNoAgentRuns() throws {
    let folder = try TemporaryFolder()
    #expect(WakeAgent(in: HomeFolder(path: folder.path), milliseconds: 1) == .none)
  }

  @Test func anAgentThatDoesNotAnswerIsNotTakenForNone() throws {
    let folder = try TemporaryFolder()
    let home = HomeFolder(path: folder.path)
    let listener = try Listener.open(.local(path: home.socket), listenerKind: .control)
    defer { withExtendedLifetime(listener) {} }
    let agent = WakeAgent(in: home, milliseconds: 50)
    #expect(agent.isSilent)
    #expect(agent.problem?.reason.contains("did not answer") == true)
    #expect(agent.json["problem"]?["nextStep"]?.string?.isEmpty == false)
  }
}
