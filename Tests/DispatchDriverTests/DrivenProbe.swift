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

  private struct State {
    var reports: Reports = []
    var ends = 0
    var waiting: [(condition: @Sendable (State) -> Bool, continuation: Continuation)] = []
  }

  private typealias Continuation = CheckedContinuation<Void, Never>

  private let state = Mutex(State())
  private let driver: any DeviceDriver<ProbeNode.Order>

  /// `perform`: does the jobs of all lanes, each lane's on a thread of its own.
  init(
    _ kind: Kind, perform: @escaping @Sendable (Lane, Int) -> Int = { _, number in number }
  ) throws {
    let relay = Relay()
    driver =
      switch kind {
      case .eventLoop: try Self.eventLoop(relay, perform)
      case .dispatch: Self.dispatch(relay, perform)
      }
    relay.connect(to: self)
  }

  /// Passes on what the driver says; keeps it until the probe is made.
  private final class Relay: Sendable {
    private let early = Mutex<(probe: DrivenProbe?, changes: [@Sendable (DrivenProbe) -> Void])>(
      (nil, []))

    func pass(_ change: @escaping @Sendable (DrivenProbe) -> Void) {
      early.withLock { early in
        if let probe = early.probe { change(probe) } else { early.changes.append(change) }
      }
    }

    func connect(to probe: DrivenProbe) {
      early.withLock { early in
        early.probe = probe
        for change in early.changes { change(probe) }
        early.changes = []
      }
    }
  }

  private static func eventLoop(
    _ relay: Relay, _ perform: @escaping @Sendable (Lane, Int) -> Int
  ) throws -> any DeviceDriver<ProbeNode.Order> {
    var settings = GroupSettings<ProbeNode.Report> { _, report in
      relay.pass { $0.add(report) }
    }
    settings.isLastReport = { $0 == .last }
    return try EventLoopDriver(
      ProbeNode(), settings,
      addWorkers: { group throws(SystemFault) in
        for lane in Lane.allCases {
          try group.addWorker(on: lane) { assignments, _ in
            assignments.map { (perform(lane, $0.job.number), nil) }
          }
        }
      }, ended: { relay.pass { $0.end() } })
  }

  private static func dispatch(
    _ relay: Relay, _ perform: @escaping @Sendable (Lane, Int) -> Int
  ) -> any DeviceDriver<ProbeNode.Order> {
    DispatchDriver(
      ProbeNode(),
      DispatchDriver<ProbeNode>.Surroundings(
        connect: { SocketStream($0, on: $1) },
        lanes: Lane.allCases.map { lane in { perform(lane, $0.number) } },
        now: { SystemClock.moment() }, report: { report in relay.pass { $0.add(report) } },
        isLastReport: { $0 == .last }, ended: { relay.pass { $0.end() } }))
  }

  private func add(_ report: ProbeNode.Report) { change { $0.reports.append(report) } }

  private func end() { change { $0.ends += 1 } }

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

  // MARK: use

  func post(_ orders: ProbeNode.Order...) { for order in orders { driver.post(order) } }

  func stop() { driver.stop() }

  var reports: Reports { state.withLock { $0.reports } }

  var ends: Int { state.withLock { $0.ends } }

  /// Waits for reports that meet the condition, and returns all so far.
  @discardableResult
  func reports(until condition: @escaping @Sendable (Reports) -> Bool) async -> Reports {
    await wait { condition($0.reports) }
    return reports
  }

  @discardableResult
  func reports(with report: ProbeNode.Report) async -> Reports {
    await reports { $0.contains(report) }
  }

  /// Waits for the end, and returns all reports.
  func ended() async -> Reports {
    await wait { $0.ends > 0 }
    return reports
  }

  private func wait(_ condition: @escaping @Sendable (State) -> Bool) async {
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
