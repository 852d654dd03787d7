import Glibc
import LockstepEventLoop
import LockstepModel

/// Notifications to the service manager that started a long-running command, if one did
/// (sd_notify(3)): ready, status, watchdog and stopping.
final class SystemdNotifier {
  private let notifier: ServiceNotifier
  private var keeper: WatchdogKeeper?
  private let log: Log

  /// Reads the environment that systemd sets; returns nil if no notifications are wanted.
  init?(
    environment: (String) -> String?, process: Int32, log: Log, at now: Instant
  ) throws(SystemFault) {
    guard let socket = environment("NOTIFY_SOCKET"), !socket.isEmpty else { return nil }
    guard let notifier = try ServiceNotifier(socket: socket) else {
      log.warning("NOTIFY_SOCKET is no path of a socket; the service manager is not told anything")
      return nil
    }
    self.notifier = notifier
    self.log = log
    keeper = SystemdNotifier.watchdogMicroseconds(environment, process: process).map {
      WatchdogKeeper(microseconds: $0, at: now)
    }
  }

  /// Uses the environment of this process.
  static func ofThisProcess(_ log: Log) throws(SystemFault) -> SystemdNotifier? {
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

  func ready(_ status: String) { notifier.tell(["READY=1", "STATUS=\(Log.oneLine(status))"]) }

  func status(_ status: String) { notifier.tell(["STATUS=\(Log.oneLine(status))"]) }

  func stopping() { notifier.tell(["STOPPING=1", "STATUS=stopping"]) }

  /// Notifies the manager before and after the reload of SIGHUP. The manager requires the time of
  /// CLOCK_MONOTONIC.
  func reload(_ work: () -> Void) {
    let microseconds = SystemClock.monotonicNanoseconds() / 1_000
    notifier.tell(["RELOADING=1", "MONOTONIC_USEC=\(microseconds)"])
    work()
    notifier.tell(["READY=1"])
  }

  /// Notifies the manager's watchdog while all loops and the commit thread answer. Returns the time
  /// of the next call, or nil if the manager has no watchdog.
  func attend(
    at now: Instant, silent: UnresponsiveThreads, ask: () -> Void
  ) -> Instant? {
    guard var keeper else { return nil }
    let isWell = silent.nodes.isEmpty && !silent.lanes.contains(.commits)
    for step in keeper.steps(allAnswered: isWell, at: now) {
      switch step {
      case .ask: ask()
      case .beat: notifier.tell(["WATCHDOG=1"])
      case .silent:
        let names = silent.nodes.map { "loop \($0)" } + silent.lanes.map { "\($0)" }
        log.error(
          "a thread does not answer", [LogLine.Field("threads", names.joined(separator: ", "))])
      }
    }
    self.keeper = keeper
    return keeper.nextLook(at: now)
  }
}
