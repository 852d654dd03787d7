import Glibc
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepRuntime
import Synchronization

/// Reports of a node that have not been read yet.
private final class LoadInbox<Report: LoadThreadReport>: Sendable {
  let reports = Mutex<[Report]>([])
}

/// A node that loads a relay, on its own thread, and its reports.
final class LoadThread<N: Node & ~Copyable>
where N.Order == LoadOrder, N.Report: LoadThreadReport, N.Job == NoJob {
  private let group: NodeGroup<N>
  private let inbox: LoadInbox<N.Report>
  private let waiting: BenchWait

  /// `receiveBytes`: maximum bytes of one read from a connection. `isLowPriority`: the load stands
  /// for other machines, so its computation must take little time from the measured processes.
  init(
    _ node: consuming sending N, listeners: [Listener] = [],
    receiveBytes: Int = Limits.receiveBytes, isLowPriority: Bool = false, _ waiting: BenchWait
  ) throws(CommandFailure) {
    let inbox = LoadInbox<N.Report>()
    var settings = GroupSettings<N.Report> { _, report in
      inbox.reports.withLock { $0.append(report) }
    }
    settings.isLastReport = { $0.isLast }
    // It measures time, so each event must carry the time at which it happened.
    settings.clock = .eachEvent
    settings.limits.receiveBytes = receiveBytes
    // A thread cannot be preempted within a system call. What other machines send arrives in
    // portions too.
    if isLowPriority {
      settings.limits.receiveBytes = min(receiveBytes, Self.lowPriorityBytes)
      settings.limits.writeBytes = Self.lowPriorityBytes
    }
    do throws(SystemFault) {
      group = try NodeGroup<N>(count: 1, settings)
      try group.add(node, listeners: listeners)
      let before = Self.threadIDs()
      try group.start()
      if isLowPriority {
        for thread in Self.threadIDs().subtracting(before) {
          var none = sched_param()
          _ = sched_setscheduler(pid_t(thread), Self.idle, &none)
        }
      }
    } catch {
      throw CommandFailure("\(error)")
    }
    self.inbox = inbox
    self.waiting = waiting
  }

  /// Bytes of one read or write of a load that stands for other machines.
  private static var lowPriorityBytes: Int { 32 << 10 }

  /// SCHED_IDLE (sched(7)), which Glibc's module leaves out: runs only if a processor is otherwise
  /// idle.
  private static var idle: Int32 { 5 }

  /// Returns the Linux thread ids of this process.
  private static func threadIDs() -> Set<id_t> {
    guard let folder = opendir("/proc/self/task") else { return [] }
    defer { closedir(folder) }
    var threads: Set<id_t> = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { name in
        String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
      }
      if let thread = id_t(name) { threads.insert(thread) }
    }
    return threads
  }

  func order(_ order: LoadOrder) { group.post(order) }

  /// Waits for the first report for which `pick` returns a result; skips those before it.
  func wait<Result>(
    for what: String, _ pick: (N.Report) -> Result?
  ) throws(CommandFailure) -> Result {
    try waiting.wait(for: what) { () throws(CommandFailure) in
      let reports = inbox.reports.withLock { reports in
        defer { reports.removeAll() }
        return reports
      }
      for report in reports {
        if let reason = report.failure { throw CommandFailure("\(what): \(reason)") }
        if let result = pick(report) { return result }
      }
      return nil
    }
  }

  func stop() throws(CommandFailure) {
    group.stop()
    _ = try CommandFailure.wrap { () throws(SystemFault) in
      try group.waitForEnd()
    }
  }
}

extension LoadThread where N == LoadNode {
  /// Connects the devices at once.
  convenience init(
    _ devices: [LoadDevice], to relay: RelayAddress, _ waiting: BenchWait
  ) throws(CommandFailure) {
    try self.init(
      LoadNode(devices, to: relay, random: Entropy.seededRandom(), at: SystemClock.moment()),
      waiting)
  }
}
