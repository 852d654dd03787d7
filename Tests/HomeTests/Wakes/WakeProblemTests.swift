import Lockstep
import LockstepModel
import Testing

@testable import LockstepHome

/// Faults between device and relay, with what follows from each.
struct WakeProblemTests {
  @Test func onlyTheRelaysWordMakesACodeAnOldOne() {
    #expect(WakeMachine.Event(proofAnswer: nil) == .proved)
    #expect(WakeMachine.Event(proofAnswer: Refusal(.badWakeCode, "It is old.")) == .codeRefused)
  }

  @Test(arguments: [RefusalCode.tooManyRequests, .storeUnavailable, .overloaded, .internalError])
  func aRelayThatIsBusyGetsTheCodeAgain(_ code: RefusalCode) {
    guard case .proofDelayed(let problem) = WakeMachine.Event(proofAnswer: Refusal(code, "Later."))
    else {
      Issue.record("\(code) is no delay")
      return
    }
    #expect(problem.reason.hasSuffix("Later."))
  }

  @Test func aRelayThatIsNotReachedGetsTheCodeAgain() {
    for error: LockstepError in [
      .unreachable(relay: "https://r.example", reason: "no route"),
      .unanswered(relay: "https://r.example", reason: "no answer"),
    ] {
      #expect(WakeMachine.Event(proofFailure: error) == .proofDelayed(WakeProblem(error)))
    }
  }

  @Test func otherRefusalsOfTheCodeRegisterAgain() {
    guard case .failed = WakeMachine.Event(proofAnswer: Refusal(.notFound, "There is none.")) else {
      Issue.record("it is no failure")
      return
    }
    guard case .failed = WakeMachine.Event(proofFailure: .revoked(reason: "It is revoked.")) else {
      Issue.record("it is no failure")
      return
    }
  }

  @Test func aRefusedRegistrationNamesItsOwnNextStep() {
    let notAllowed = WakeProblem(refusedRegistration: Refusal(.wakeNotAllowed, "No."))
    #expect(notAllowed.nextStep.contains("--wake-allow"))
    let tooMany = WakeProblem(refusedRegistration: Refusal(.tooManySubscriptions, "It has 4."))
    #expect(tooMany.nextStep.contains("wake status") && !tooMany.nextStep.contains("--wake-allow"))
    let busy = WakeProblem(refusedRegistration: Refusal(.tooManyRequests, "Wait."))
    #expect(busy.nextStep == "It is tried again." && busy.reason.contains("now: Wait."))
  }

  @Test func aRelayThatIsAwayRefusesNothing() {
    let error = LockstepError.unreachable(relay: "https://r.example", reason: "no route")
    let problem = WakeProblem(error)
    #expect(problem.reason == "\(error)" && !problem.nextStep.contains("--wake-allow"))
  }

}
