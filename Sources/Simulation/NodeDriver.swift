import LockstepModel
import LockstepRuntime
import LockstepWire

/// Interface of a node for the network and the timeline, independent of the node's type.
package protocol AnyNode: AnyObject {
  var name: String { get }
  /// Unique in a simulation; a node that restarts after a crash gets a new number.
  var number: Int { get }
  var isAlive: Bool { get }
  func deliver(_ id: ConnectionID, _ bytes: [UInt8])
  func deliverSignal(_ signal: Signal)
}

/// Events of a node that do not depend on its type.
package enum Signal {
  case opened(ConnectionID, Opening)
  case drained(ConnectionID, unsent: Int)
  case holding(ConnectionID, bytes: Int)
  case closed(ConnectionID, CloseCause)
  case deadlineReached
  case stopping
}

/// Driver of one node: delivers events, performs actions and schedules its deadline. The closures
/// handle jobs, reports and news, which depend on the node's type.
package final class NodeDriver<Driven: Node & ~Copyable>: AnyNode {
  package typealias Action = NodeAction<Driven.Job, Driven.Report, Driven.News>
  package typealias Event = NodeEvent<Driven.Outcome, Driven.Order, Driven.News>

  package let name: String
  package let number: Int
  package private(set) var isAlive = true
  /// Handlers for actions that do not concern the network.
  package var onJob: (JobID, Driven.Job) -> Void = { _, _ in }
  package var onReport: (Driven.Report) -> Void = { _ in }
  package var onNews: (Driven.News) -> Void = { _ in }
  /// Called after an event was delivered and all resulting actions were performed.
  package var onRest: () -> Void = {}
  /// Called when bytes were received.
  package var onBytes: () -> Void = {}
  /// Called before bytes are sent.
  package var onSend: ([UInt8]) -> Void = { _ in }

  private let environment: SimulationEnvironment
  private var node: Driven
  private var clock: () -> VirtualClock
  private var wakeAt: Int64?
  private var wakeNumber = 0
  /// Number of actions until the node is killed between two actions; nil: not planned.
  private var actionsLeft: (count: Int, then: () -> Void)?
  private var busyLoopDetector = BusyLoopDetector()
  /// Events queued while the process is suspended, in order; nil while it runs.
  private var waiting: [() -> Void]?

  /// `clock` is called each time, so that a jump takes effect immediately.
  package init(
    name: String, environment: SimulationEnvironment, clock: @escaping () -> VirtualClock,
    node: consuming Driven
  ) {
    self.name = name
    self.environment = environment
    self.clock = clock
    self.node = node
    number = environment.nextNodeNumber()
  }

  /// Performs the actions that the node queued in its initialiser.
  package func begin() { performActions() }

  package var moment: Moment { clock().moment(at: environment.timeline.now) }

  /// True until the queued events are delivered.
  package private(set) var isSuspended = false

  /// Stops the process, or puts its machine to sleep: events are queued.
  package func suspend() {
    isSuspended = true
    waiting = waiting ?? []
  }

  /// Continues the process. A passed deadline is delivered before the queued events: the harder of
  /// the two orders.
  package func resume() {
    guard let events = waiting else { return }
    waiting = nil
    if isAlive, let deadline = node.nextDeadline, deadline <= moment.instant {
      deliverSignal(.deadlineReached)
    }
    for event in events { event() }
    isSuspended = false
    if isAlive { onRest() }
  }

  package func deliver(_ id: ConnectionID, _ bytes: [UInt8]) {
    guard isAlive else { return }
    guard waiting == nil else {
      waiting?.append { [unowned self] in deliver(id, bytes) }
      return
    }
    onBytes()
    let moment = moment
    node.received(id, bytes.span.bytes, at: moment)
    performActions()
  }

  package func deliverSignal(_ signal: Signal) {
    switch signal {
    case .opened(let id, let opening): handle(.opened(id, opening))
    case .drained(let id, let unsent): handle(.drained(id, unsent: unsent))
    case .holding(let id, let bytes): handle(.holding(id, bytes: bytes))
    case .closed(let id, let cause): handle(.closed(id, cause))
    case .deadlineReached: handle(.deadlineReached)
    case .stopping: handle(.stopping)
    }
  }

  package func handle(_ event: Event) {
    guard isAlive else { return }
    guard waiting == nil else {
      waiting?.append { [unowned self] in handle(event) }
      return
    }
    node.handle(event, at: moment)
    performActions()
  }

  /// Kills the process: the node's memory is lost, and it performs no further actions.
  package func kill() { isAlive = false }

  /// Kills the process right before its `count`-th action from now, then calls `then`.
  package func kill(afterActions count: Int, then: @escaping () -> Void) {
    actionsLeft = (count, then)
  }

  private func performActions() {
    while isAlive, let action = node.nextAction() {
      if let planned = actionsLeft {
        if planned.count <= 0 {
          actionsLeft = nil
          isAlive = false
          planned.then()
          return
        }
        actionsLeft = (planned.count - 1, planned.then)
      }
      perform(action)
    }
    guard isAlive else { return }
    scheduleDeadline()
    onRest()
  }

  private func perform(_ action: Action) {
    environment.countAction(of: self)
    switch action {
    case .open(let id, let address):
      environment.hashAction(self, 1, id.rawValue)
      environment.network.open(self, id, address)
    case .send(let id, let bytes):
      environment.hashAction(self, 2, id.rawValue, bytes)
      onSend(bytes)
      environment.network.send(self, id, bytes)
    case .multicast(let bytes, let ids):
      environment.hashAction(self, 3, UInt64(ids.count), bytes)
      for id in ids { environment.network.send(self, id, bytes) }
    case .close(let id, let manner):
      environment.hashAction(self, 4, id.rawValue)
      environment.network.close(self, id, manner)
    case .pauseReading(let id):
      environment.hashAction(self, 5, id.rawValue)
      environment.network.setPaused(self, id, true)
    case .resumeReading(let id):
      environment.hashAction(self, 6, id.rawValue)
      environment.network.setPaused(self, id, false)
    case .run(let id, let job):
      environment.hashAction(self, 7, id.rawValue)
      onJob(id, job)
    case .report(let report):
      environment.hashAction(self, 8, 0)
      onReport(report)
    case .broadcast(let news):
      environment.hashAction(self, 9, 0)
      onNews(news)
    }
  }

  private func scheduleDeadline() {
    guard let deadline = node.nextDeadline else {
      wakeAt = nil
      wakeNumber += 1
      return
    }
    let time = max(clock().simulationTime(of: deadline), environment.timeline.now)
    guard time != wakeAt else { return }
    wakeAt = time
    wakeNumber += 1
    let wake = wakeNumber
    environment.timeline.at(time) { [weak self] in
      guard let self, isAlive, wake == wakeNumber else { return }
      wakeAt = nil
      // `resume` delivers the deadline.
      if waiting != nil { return }
      if busyLoopDetector.isBusyLoop(at: environment.timeline.now) {
        environment.fault("\(name) requests the same deadline again and again: a busy loop")
        return
      }
      environment.countWake(of: self)
      deliverSignal(.deadlineReached)
    }
  }
}

/// Detects a deadline that is requested again and again at one instant.
private struct BusyLoopDetector {
  private static let wakesMax = 1_000
  private var instant: Int64 = -1
  private var wakes = 0

  mutating func isBusyLoop(at now: Int64) -> Bool {
    wakes = now == instant ? wakes + 1 : 0
    instant = now
    return wakes > BusyLoopDetector.wakesMax
  }
}
