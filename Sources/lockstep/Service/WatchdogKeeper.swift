import LockstepModel

/// Schedule of watchdog notifications and of liveness checks of the threads. It is a plain value,
/// so that a stuck thread can be tested without one.
///
/// The manager ends a process that sends no notification for `interval`. So the threads are asked
/// shortly before half of it has passed since the last notification, and the next one is sent once
/// all have answered. If one does not answer, none is sent, and the manager ends the process.
struct WatchdogKeeper {
  enum Step: Hashable {
    /// Ask every thread for a sign of life.
    case ask
    /// All have answered: notify the manager.
    case beat
    /// A thread has not answered for half of the interval; reported once each time.
    case silent
  }

  private let interval: Int64
  private var toldAt: Instant
  /// Time at which the threads were asked; nil if no answer is outstanding.
  private var askedAt: Instant?
  private var isSilenceTold = false

  /// `microseconds`: value of WATCHDOG_USEC, at least 8.
  init(microseconds: Int64, at now: Instant) {
    interval = microseconds * 1_000
    toldAt = now
  }

  /// Returns the steps to take now. `allAnswered`: since the last `ask`.
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

  /// Returns the time of the next check: soon while answers are outstanding.
  func nextLook(at now: Instant) -> Instant {
    if askedAt != nil {
      return Instant(nanoseconds: now.nanoseconds + min(interval / 16, 50_000_000))
    }
    return Instant(nanoseconds: toldAt.nanoseconds + interval / 2 - interval / 8)
  }
}
