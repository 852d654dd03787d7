import Lockstep
import LockstepModel

/// Reason for which the device cannot be woken, and what a person can do.
package struct WakeProblem: Hashable, Sendable {
  /// Clause without a full stop.
  package let reason: String
  /// Sentence.
  package let nextStep: String

  package init(_ reason: String, nextStep: String) {
    self.reason = reason
    self.nextStep = nextStep
  }

  static let noEndpoint = WakeProblem(
    "the distributor accepted the registration, and named no endpoint",
    nextStep: "Check in the distributor's settings that it is connected to its push service.")
  static let noPush = WakeProblem(
    "the relay's first push did not arrive",
    nextStep: "Check that the distributor is connected to its push service, and that the relay "
      + "reaches that service: lockstep agent wake status shows its last error.")
  static let busEnded = WakeProblem(
    "the connection to the session bus has ended",
    nextStep: "It connects again by itself. If the session is over, start the agent in the next "
      + "one; if it happens often, a program sends messages over 1 MiB to this device.")

  private static let retry = "It is tried again."

  /// The relay refused the registration.
  init(refusedRegistration refusal: Refusal, retry: String = WakeProblem.retry) {
    if refusal.code.advice == .retry {
      self.init("the relay cannot take the registration now: \(refusal.detail)", nextStep: retry)
      return
    }
    let nextStep =
      switch refusal.code {
      case .wakeNotAllowed:
        "The relay's owner can allow that push service: lockstep relay run --wake-allow HOST."
      case .tooManySubscriptions:
        "Turn wakes off in an app that shares this home; lockstep agent wake status lists them."
      default: "Check that device and relay have the same version. " + retry
      }
    self.init(
      "the relay does not take the registration: \(refusal.detail)", nextStep: nextStep)
  }

  /// The relay was not reached, or did not say whether it has done what was asked.
  init(_ error: LockstepError, retry: String = WakeProblem.retry) {
    self.init("\(error)", nextStep: retry)
  }
}

extension WakeMachine.Event {
  /// Answer of the relay to the code of its first push; nil: it has the code.
  init(proofAnswer refusal: Refusal?) {
    guard let refusal else {
      self = .proved
      return
    }
    if refusal.code == .badWakeCode {
      self = .codeRefused
      return
    }
    let problem = WakeProblem(
      "the relay does not take the code of its push: \(refusal.detail)",
      nextStep: "It is tried again.")
    self = refusal.code.advice == .retry ? .proofDelayed(problem) : .failed(problem)
  }

  /// Failure of the request with the code.
  init(proofFailure error: LockstepError) {
    switch error {
    case .unreachable, .unanswered, .offline: self = .proofDelayed(WakeProblem(error))
    default: self = .failed(WakeProblem(error))
    }
  }
}
