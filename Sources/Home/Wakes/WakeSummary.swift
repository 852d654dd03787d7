import LockstepLanguage
import LockstepModel

/// State of one registration for wakes, for a person.
package enum WakeSummary: Hashable, Sendable {
  /// Pushes arrived last at this relay time, milliseconds.
  case works(provedAt: Int64)
  /// No push has arrived yet.
  case unverified
  /// The last push was not accepted. `provedAt`: pushes arrived before.
  case failing(WakeFault, provedAt: Int64?)

  package init(_ status: WakeStatus) {
    let proved = status.provedAt
    if let fault = status.fault {
      self = .failing(fault, provedAt: proved)
    } else if let proved {
      self = .works(provedAt: proved)
    } else {
      self = .unverified
    }
  }

  /// Clause; `now`: relay time, milliseconds.
  package func text(at now: Int64) -> String {
    switch self {
    case .works(let proved):
      localized("works, last proved {time}", ["time": Self.age(of: proved, at: now)])
    case .unverified: localized("registered, but never verified: no push has arrived yet")
    case .failing(let fault, nil): localized("never verified: {reason}", ["reason": fault.reason])
    case .failing(let fault, let proved?):
      localized(
        "{reason}; last proved {time}",
        ["reason": fault.reason, "time": Self.age(of: proved, at: now)])
    }
  }

  /// Sentence; nil if there is nothing to do.
  package var nextStep: String? {
    switch self {
    case .works: nil
    case .unverified:
      localized(
        "Test it with lockstep agent wake test, or open the app that has "
          + "registered.")
    case .failing(let fault, _): fault.nextStep
    }
  }

  /// Time since `instant`, with its unit.
  package static func age(of instant: Int64, at now: Int64) -> String {
    let seconds = max(0, now - instant) / 1_000
    return switch seconds {
    case ..<60: localized("just now")
    case ..<7_200: localized("{count} min ago", ["count": "\(seconds / 60)"])
    case ..<172_800: localized("{count} h ago", ["count": "\(seconds / 3_600)"])
    default: localized("{count} days ago", ["count": "\(seconds / 86_400)"])
    }
  }
}

extension WakeStatus {
  /// Relay time at which pushes last arrived, milliseconds; nil: never.
  package var provedAt: Int64? { verifiedAt.map { max($0, answeredAt ?? 0) } }
}

extension WakeFault {
  /// Clause without a full stop.
  package var reason: String {
    switch self {
    case .rejected: localized("the push service refused the last push")
    case .keyRefused: localized("the push service does not accept the relay's key")
    case .throttled: localized("the push service asks the relay to wait")
    case .unavailable: localized("the push service does not answer the relay")
    case .notAllowed: localized("the relay does not send to this push service")
    }
  }

  /// Sentence for a person.
  package var nextStep: String {
    switch self {
    case .rejected, .keyRefused:
      localized(
        "Register again: restart lockstep agent run --wake, or turn the app's "
          + "notifications off and on.")
    case .throttled: localized("The relay tries again by itself.")
    case .unavailable:
      localized("Check that the push service runs; the relay tries again by itself.")
    case .notAllowed:
      localized("The relay's owner can allow it: lockstep relay run --wake-allow HOST.")
    }
  }
}
