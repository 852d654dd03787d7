import LockstepHome
import LockstepJSON
import LockstepModel
import LockstepTerminal

/// Registrations of a device for wakes, as the relay and the running agent report them.
package struct WakesFindings: Hashable, Sendable {
  /// As the relay has them; nil if it did not answer.
  package var statuses: [WakeStatus]?
  /// Reason why the relay did not answer.
  package var fault = ""
  /// True if the home has keys for wakes: lockstep agent run --wake has made them.
  package var hasKeys = false
  /// Reason for which the running agent cannot be woken, or does not say.
  package var problem: WakeProblem?
  /// Current relay time as estimated from the home, milliseconds.
  package var relayTime: Int64

  package init(relayTime: Int64) { self.relayTime = relayTime }
}

extension DoctorCheck {
  /// Checks that the device is woken by pushes, if it has registered for them.
  package static func wakes(_ findings: WakesFindings) -> DoctorCheck {
    guard let statuses = findings.statuses else {
      let unknown = "the relay does not report this device's registrations: \(findings.fault)"
      // What this machine knows is shown whatever the relay does.
      if let problem = findings.problem {
        return DoctorCheck(
          .home, "wakes", .warning, "\(problem.reason); \(unknown)", nextStep: problem.nextStep)
      }
      return .skipped(.home, "wakes", unknown, nextStep: "See the checks of the relay.")
    }
    let proved = statuses.compactMap(\.provedAt).max()
    let figures = [
      JSONMember("registrations", .whole(Int64(statuses.count))),
      JSONMember("lastProvedMilliseconds", .whole(proved.map { max(0, findings.relayTime - $0) })),
    ]
    func warning(_ seen: String, _ nextStep: String) -> DoctorCheck {
      DoctorCheck(.home, "wakes", .warning, seen, nextStep: nextStep, figures: figures)
    }
    if let problem = findings.problem { return warning(problem.reason, problem.nextStep) }
    guard !statuses.isEmpty else {
      guard findings.hasKeys else {
        return DoctorCheck(.home, "wakes", .ok, "not used", figures: figures)
      }
      return warning(
        "the relay has no registration of this device, which has keys for wakes",
        "Start lockstep agent run --wake, or end its use with lockstep agent wake off.")
    }
    // The first one with a fault; several usually work or fail together.
    for status in statuses {
      let summary = WakeSummary(status)
      if let nextStep = summary.nextStep {
        return warning("\(status.id): \(summary.text(at: findings.relayTime))", nextStep)
      }
    }
    let seen = WakeSummary.works(provedAt: proved ?? 0).text(at: findings.relayTime)
    return DoctorCheck(.home, "wakes", .ok, seen, figures: figures)
  }
}
