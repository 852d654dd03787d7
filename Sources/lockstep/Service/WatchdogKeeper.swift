import LockstepModel

/// When the service manager is told that all is well, and when the threads are asked whether it is:
/// a plain value, so that a stuck thread can be tried without one.
///
/// The manager ends a process that says nothing for `interval`. So the threads are asked when half
/// of it has passed since the last word, and the word goes out once all have answered. Where one
/// does not, none goes out, and the manager does what it is there for.
struct WatchdogKeeper {
  enum Step: Hashable {
    /// Ask every thread for a sign of life.
    case ask
    /// All have answered: say so.
    case beat
    /// Somebody has not answered for half of the interval; told once each time.
    case silent
  }

  private let interval: Int64
  private var toldAt: Instant
  /// When the threads were asked; nil when no answer is waited for.
  private var askedAt: Instant?
  private var isSilenceTold = false

  /// `microseconds`: of WATCHDOG_USEC, at least 8.
  init(microseconds: Int64, at now: Instant) {
    interval = microseconds * 1_000
    toldAt = now
  }

  /// What to do now. `allAnswered`: since the last `ask`.
  mutating func steps(allAnswered: Bool, at now: Instant) -> [Step] {
    var steps: [Step] = []
    if let askedAt {
      if allAnswered {
        toldAt = now
        self.askedAt = nil
        isSilenceTold = false
        steps.append(.beat)
      } else if !isSilenceTold, now.nanoseconds - askedAt.nanoseconds >= interval / 2 {
        isSilenceTold = true
        steps.append(.silent)
      }
    } else if now.nanoseconds - toldAt.nanoseconds >= interval / 2 - interval / 8 {
      askedAt = now
      steps.append(.ask)
    }
    return steps
  }

  /// When to look again: soon while answers are waited for.
  func nextLook(at now: Instant) -> Instant {
    if askedAt != nil {
      return Instant(nanoseconds: now.nanoseconds + min(interval / 16, 50_000_000))
    }
    return Instant(nanoseconds: toldAt.nanoseconds + interval / 2 - interval / 8)
  }
}
