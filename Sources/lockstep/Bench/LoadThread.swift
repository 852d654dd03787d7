import Changes
import Devices
import Loop
import Synchronization
import Tools

/// A `LoadNode` on a thread of its own, and what it reports.
final class LoadThread {
  private final class Inbox: Sendable {
    let reports = Mutex<[LoadReport]>([])
  }

  private let group: NodeGroup<LoadNode>
  private let inbox: Inbox
  private let waiting: BenchWait

  /// Its devices connect at once.
  init(
    _ devices: [LoadDevice], to relay: RelayAddress, _ waiting: BenchWait
  ) throws(CommandFailure) {
    let inbox = Inbox()
    var settings = GroupSettings<LoadReport> { _, report in
      inbox.reports.withLock { $0.append(report) }
    }
    settings.isLastReport = { report in
      switch report {
      case .failed, .stopped: true
      case .ready, .window, .done: false
      }
    }
    // It measures: what it is told must carry the time at which it happened.
    settings.clock = .eachEvent
    do throws(SystemFault) {
      group = try NodeGroup<LoadNode>(count: 1, settings)
      try group.add(
        LoadNode(devices, to: relay, random: Entropy.seededRandom(), at: SystemClock.moment()))
      try group.start()
    } catch {
      throw CommandFailure("\(error)")
    }
    self.inbox = inbox
    self.waiting = waiting
  }

  func order(_ order: LoadOrder) { group.post(order) }

  /// Waits for the report that `pick` makes something of; those before it are passed over.
  func wait<Result>(
    for what: String, _ pick: (LoadReport) -> Result?
  ) throws(CommandFailure) -> Result {
    try waiting.wait(for: what) { () throws(CommandFailure) in
      let reports = inbox.reports.withLock { reports in
        defer { reports.removeAll() }
        return reports
      }
      for report in reports {
        if case .failed(let reason) = report { throw CommandFailure("\(what): \(reason)") }
        if let result = pick(report) { return result }
      }
      return nil
    }
  }

  func stop() throws(CommandFailure) {
    group.stop()
    do throws(SystemFault) {
      _ = try group.waitForEnd()
    } catch {
      throw CommandFailure("\(error)")
    }
  }
}
