import Lockstep
import LockstepLanguage
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

  static var noEndpoint: WakeProblem {
    WakeProblem(
      localized("the distributor accepted the registration, and named no endpoint"),
      nextStep: localized(
        "Check in the distributor's settings that it is connected to its push "
          + "service."))
  }
  static var noPush: WakeProblem {
    WakeProblem(
      localized("the relay's first push did not arrive"),
      nextStep: localized(
        "Check that the distributor is connected to its push service, and that the "
          + "relay reaches that service: lockstep agent wake status shows its last "
          + "error."))
  }
  static var busEnded: WakeProblem {
    WakeProblem(
      localized("the connection to the session bus has ended"),
      nextStep: localized(
        "It connects again by itself. If the session is over, start the agent in "
          + "the next one; if it happens often, a program sends messages over 1 MiB to "
          + "this device."))
  }

  private static var retry: String { localized("It is tried again.") }

  /// The relay refused the registration.
  init(refusedRegistration refusal: Refusal, retry: String = WakeProblem.retry) {
    if refusal.code.advice == .retry {
      self.init(
        localized(
          "the relay cannot take the registration now: {reason}", ["reason": refusal.detail]),
        nextStep: retry)
      return
    }
    let nextStep =
      switch refusal.code {
      case .wakeNotAllowed:
        localized(
          "The relay's owner can allow that push service: lockstep relay run "
            + "--wake-allow HOST.")
      case .tooManySubscriptions:
        localized(
          "Turn wakes off in an app that shares this home; lockstep agent wake "
            + "status lists them.")
      default: localized("Check that device and relay have the same version.") + " " + retry
      }
    self.init(
      localized("the relay does not take the registration: {reason}", ["reason": refusal.detail]),
      nextStep: nextStep)
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
      localized(
        "the relay does not take the code of its push: {reason}", ["reason": refusal.detail]),
      nextStep: localized("It is tried again."))
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
