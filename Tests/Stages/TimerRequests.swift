import Lockstep
import LockstepApps
import LockstepJSON

/// Requests of the timer's commands to a home.
extension HomeRequest {
  package static func timer(_ event: TimerEvent) -> HomeRequest {
    .order(app: "timer", TimerAction.event(event).json)
  }

  package static var screen: HomeRequest { .show(app: "timer", TimerQuestion.screen.json) }

  package static func watchTimer(isTicking: Bool) -> HomeRequest {
    .watch(app: "timer", TimerQuestion.screen.json, isTicking: isTicking)
  }
}

extension JSONValue {
  /// First row of a view that was sent.
  package var row: String? { self["lines"]?.array?.first?.string }
}
