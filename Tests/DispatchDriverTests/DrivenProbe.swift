import LockstepDispatchDriver
import LockstepEventLoop
import LockstepModel
import LockstepRuntime
import Synchronization

/// A probe under one of the drivers, and its reports.
final class DrivenProbe: Sendable {
  enum Kind: CaseIterable, Sendable {
    case eventLoop, dispatch
  }

  typealias Reports = [ProbeNode.Report]

  /// A test on a busy machine may look at a node long after it has stopped it.
  private static let stopMilliseconds: Int64 = 3_600_000

  private let log = Log()
  private let driver: any DeviceDriver<ProbeNode.Order>

  /// `perform`: does the jobs of all lanes, each lane's on a thread of its own.
  init(
    _ kind: Kind, perform: @escaping @Sendable (Lane, Int) -> Int = { _, number in number }
  ) throws {
    driver =
      switch kind {
      case .eventLoop: try Self.eventLoop(log, perform)
      case .dispatch: Self.dispatch(log, perform)
      }
    try driver.start()
  }

  private static func eventLoop(
    _ log: Log, _ perform: @escaping @Sendable (Lane, Int) -> Int
  ) throws -> any DeviceDriver<ProbeNode.Order> {
    var settings = GroupSettings<ProbeNode.Report> { _, report in log.add(report) }
    settings.isLastReport = { $0 == .last }
    settings.stopMilliseconds = stopMilliseconds
    let group = try NodeGroup<ProbeNode>(count: 1, settings)
    try group.addCommitWorker {
      NodeGroup<ProbeNode>.CommitWorker.Context(
        perform: { jobs, _ in jobs.map { (perform(.commits, $0.job), nil) } })
    }
    try group.addReadWorker {
      NodeGroup<ProbeNode>.ReadWorker.Context(
        perform: { jobs, _ in jobs.map { (perform(.reads, $0.job), nil) } })
    }
    try group.addFileWorker {
      NodeGroup<ProbeNode>.FileWorker.Context(
        perform: { jobs, _ in jobs.map { (perform(.files, $0.job), nil) } })
    }
    try group.add(ProbeNode())
    return EventLoopDriver(group, ended: { log.end() })
  }

  private static func dispatch(
    _ log: Log, _ perform: @escaping @Sendable (Lane, Int) -> Int
  ) -> any DeviceDriver<ProbeNode.Order> {
    var environment = DriverEnvironment<ProbeNode>(
      connect: { SocketStream($0, on: $1) },
      lanes: LaneWorkers(
        commit: { perform(.commits, $0) }, read: { perform(.reads, $0) },
        file: { perform(.files, $0) }),
      now: { SystemClock.moment() }, report: { log.add($0) }, isLastReport: { $0 == .last },
      ended: { log.end() })
    environment.stopMilliseconds = stopMilliseconds
    return DispatchDriver(ProbeNode(), environment)
  }

  func post(_ orders: ProbeNode.Order...) { for order in orders { driver.post(order) } }

  func stop() { driver.stop() }

  var reports: Reports { log.state.withLock { $0.reports } }

  var ends: Int { log.state.withLock { $0.ends } }

  /// Waits for reports that meet the condition, and returns all so far.
  @discardableResult
  func reports(until condition: @escaping @Sendable (Reports) -> Bool) async -> Reports {
    await log.wait { condition($0.reports) }
    return reports
  }

  @discardableResult
  func reports(with report: ProbeNode.Report) async -> Reports {
    await reports { $0.contains(report) }
  }

  /// Waits for the end, and returns all reports.
  func ended() async -> Reports {
    await log.wait { $0.ends > 0 }
    return reports
  }

  /// Messages of the driver so far.
  private final class Log: Sendable {
    struct State {
      var reports: Reports = []
      var ends = 0
      var waiting: [(condition: @Sendable (State) -> Bool, continuation: Continuation)] = []
    }

    typealias Continuation = CheckedContinuation<Void, Never>

    let state = Mutex(State())

    func add(_ report: ProbeNode.Report) { change { $0.reports.append(report) } }

    func end() { change { $0.ends += 1 } }

    private func change(_ change: (inout State) -> Void) {
      let met = state.withLock { state in
        change(&state)
        let waiting = state.waiting
        state.waiting = []
        let now = state
        state.waiting = waiting.filter { !$0.condition(now) }
        return waiting.filter { $0.condition(now) }
      }
      for waiting in met { waiting.continuation.resume() }
    }

    func wait(_ condition: @escaping @Sendable (State) -> Bool) async {
      await withCheckedContinuation { continuation in
        let isMet = state.withLock { state in
          if condition(state) { return true }
          state.waiting.append((condition, continuation))
          return false
        }
        if isMet { continuation.resume() }
      }
    }
  }
}
