import Glibc
import LockstepEventLoop
import LockstepModel

/// Notifications to the service manager that started a long-running command, if one did
/// (sd_notify(3)): ready, status, watchdog and stopping.
package final class SystemdNotifier {
  private let notifier: ServiceNotifier
  private var keeper: WatchdogKeeper?
  private let log: Log

  /// Reads the environment that systemd sets; returns nil if no notifications are wanted.
  package init?(
    environment: (String) -> String?, process: Int32, log: Log, at now: Instant
  ) throws(SystemFault) {
    guard let socket = environment("NOTIFY_SOCKET"), !socket.isEmpty else { return nil }
    guard let notifier = try ServiceNotifier(socket: socket) else {
      log.warning(
        "NOTIFY_SOCKET is not the path of a socket; the service manager gets no notifications")
      return nil
    }
    self.notifier = notifier
    self.log = log
    keeper = SystemdNotifier.watchdogMicroseconds(environment, process: process).map {
      WatchdogKeeper(microseconds: $0, at: now)
    }
  }

  /// Uses the environment of this process.
  package static func ofThisProcess(_ log: Log) throws(SystemFault) -> SystemdNotifier? {
    try SystemdNotifier(
      environment: { getenv($0).map { String(cString: $0) } }, process: getpid(), log: log,
      at: SystemClock.instant())
  }

  /// Returns the interval of the manager's watchdog, or nil if it does not watch this process
  /// (sd_watchdog_enabled(3)).
  static func watchdogMicroseconds(_ environment: (String) -> String?, process: Int32) -> Int64? {
    guard let text = environment("WATCHDOG_USEC"), let microseconds = Int64(text),
      (1_000...86_400_000_000).contains(microseconds)
    else { return nil }
    if let wanted = environment("WATCHDOG_PID"), Int32(wanted) != process { return nil }
    return microseconds
  }

  package func notifyReady(_ status: String) {
    notifier.send(["READY=1", "STATUS=\(Log.oneLine(status))"])
  }

  package func notifyStopping() { notifier.send(["STOPPING=1", "STATUS=stopping"]) }

  /// Notifies the manager before and after the reload of SIGHUP. The manager requires the time of
  /// CLOCK_MONOTONIC.
  package func notifyReload(_ work: () -> Void) {
    let microseconds = SystemClock.monotonicNanoseconds() / 1_000
    notifier.send(["RELOADING=1", "MONOTONIC_USEC=\(microseconds)"])
    work()
    notifier.send(["READY=1"])
  }

  /// Notifies the manager's watchdog while all loops and the commit thread answer. Returns the time
  /// of the next call, or nil if the manager has no watchdog.
  package func checkWatchdog(
    at now: Instant, unresponsive: UnresponsiveThreads, ping: () -> Void
  ) -> Instant? {
    guard var keeper else { return nil }
    let areAllAnswered = unresponsive.nodes.isEmpty && !unresponsive.lanes.contains(.commits)
    for step in keeper.steps(allAnswered: areAllAnswered, at: now) {
      switch step {
      case .ping: ping()
      case .notify: notifier.send(["WATCHDOG=1"])
      case .reportUnresponsive:
        let names =
          unresponsive.nodes.map { "loop \($0)" } + unresponsive.lanes.map { "\($0)" }
        log.error(
          "a thread does not respond", [LogLine.Field("threads", names.joined(separator: ", "))])
      }
    }
    self.keeper = keeper
    return keeper.nextCheck(at: now)
  }
}

/// Schedule of watchdog notifications and of liveness checks of the threads. It is a plain value,
/// so that a stuck thread can be tested without one.
///
/// The manager ends a process that sends no notification for `interval`. So the threads are pinged
/// shortly before half of it has passed since the last notification, and the next one is sent once
/// all have answered. If one does not answer, none is sent, and the manager ends the process.
struct WatchdogKeeper {
  enum Step: Hashable {
    /// Ping every thread.
    case ping
    /// All have answered: notify the manager.
    case notify
    /// A thread has not answered for half of the interval; reported once each time.
    case reportUnresponsive
  }

  private let interval: Int64
  private var notifiedAt: Instant
  /// Time at which the threads were pinged; nil if no answer is outstanding.
  private var pingedAt: Instant?
  private var isUnresponsiveReported = false

  /// `microseconds`: value of WATCHDOG_USEC, at least 8.
  init(microseconds: Int64, at now: Instant) {
    interval = microseconds * 1_000
    notifiedAt = now
  }

  /// Returns the steps to take now. `allAnswered`: since the last `ping`.
  mutating func steps(allAnswered: Bool, at now: Instant) -> [Step] {
    var steps: [Step] = []
    if let pingedAt {
      if allAnswered {
        notifiedAt = now
        self.pingedAt = nil
        isUnresponsiveReported = false
        steps.append(.notify)
      } else if !isUnresponsiveReported, now.nanoseconds - pingedAt.nanoseconds >= interval / 2 {
        isUnresponsiveReported = true
        steps.append(.reportUnresponsive)
      }
    } else if now.nanoseconds - notifiedAt.nanoseconds >= interval / 2 - interval / 8 {
      pingedAt = now
      steps.append(.ping)
    }
    return steps
  }

  /// Returns the time of the next check: soon while answers are outstanding.
  func nextCheck(at now: Instant) -> Instant {
    if pingedAt != nil {
      return Instant(nanoseconds: now.nanoseconds + min(interval / 16, 50_000_000))
    }
    return Instant(nanoseconds: notifiedAt.nanoseconds + interval / 2 - interval / 8)
  }
}
