import Dispatch
import LockstepModel
import LockstepRuntime

/// Driver of a node on a serial dispatch queue. Each lane is a queue of its own; the node's
/// deadlines share one timer.
package final class DispatchDriver<N: Node & ~Copyable>: DeviceDriver, @unchecked Sendable
where N.News == Never, N: SendableMetatype {
  package typealias Order = N.Order

  /// Parts that the driver's owner supplies.
  package struct Surroundings {
    /// Makes a stream to a peer, whose events come on the queue.
    package var connect: (PeerAddress, DispatchQueue) -> any ByteStream
    /// Does the jobs of each lane, on the lane's queue alone; by lane.
    package var lanes: [(N.Job) -> N.Outcome]
    package var now: () -> Moment
    package var report: (N.Report) -> Void
    package var isLastReport: (N.Report) -> Bool
    /// Called once, when all jobs are done and `lanes` and the node are released.
    package var ended: @Sendable () -> Void

    package init(
      connect: @escaping (PeerAddress, DispatchQueue) -> any ByteStream,
      lanes: [(N.Job) -> N.Outcome], now: @escaping () -> Moment,
      report: @escaping (N.Report) -> Void, isLastReport: @escaping (N.Report) -> Bool,
      ended: @escaping @Sendable () -> Void
    ) {
      self.connect = connect
      self.lanes = lanes
      self.now = now
      self.report = report
      self.isLastReport = isLastReport
      self.ended = ended
    }
  }

  private struct Connection {
    let stream: any ByteStream
    var unsent = 0
    /// True if bytes were sent since the node was last told how many wait.
    var isDirty = false
  }

  private enum Stage {
    case running
    case stopping
    /// The node gets no events any more; jobs may still run.
    case over
  }

  /// Longest wait of the timer, in seconds: Dispatch's clock stands still while the machine sleeps,
  /// and the node's does not.
  private static var timerSeconds: Int64 { 60 }

  // All state belongs to the queue.
  private let queue = DispatchQueue(label: "lockstep.node")
  private let timer: any DispatchSourceTimer
  private var lanes: [LaneQueue<N>]
  private var surroundings: Surroundings?
  private var node: N?
  private var connections: [ConnectionID: Connection] = [:]
  private var jobsInFlight = 0
  private var stage = Stage.running

  package init(_ node: consuming sending N, _ surroundings: sending Surroundings) {
    precondition(surroundings.lanes.count == Lane.allCases.count, "each lane needs a worker")
    self.node = consume node
    lanes = surroundings.lanes.map { LaneQueue($0) }
    self.surroundings = surroundings
    timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { [weak self] in self?.expire() }
    timer.resume()
  }

  package func start() { queue.async { self.performActions() } }

  deinit { timer.cancel() }

  package func post(_ order: N.Order) { queue.async { self.handle(.ordered(order)) } }

  package func stop() {
    queue.async {
      switch self.stage {
      case .over: return
      case .stopping: return self.end()
      case .running:
        self.stage = .stopping
        self.queue.asyncAfter(deadline: .now() + .milliseconds(Int(Limits.drainMilliseconds))) {
          self.end()
        }
        self.handle(.stopping)
      }
    }
  }

  // MARK: events

  private func handle(_ event: NodeEvent<N.Outcome, N.Order, Never>) {
    guard stage != .over, let now = surroundings?.now() else { return }
    node?.handle(event, at: now)
    performActions()
  }

  private func handle(_ event: ByteStreamEvent, of id: ConnectionID, _ peer: PeerAddress) {
    guard stage != .over, connections[id] != nil, let now = surroundings?.now() else { return }
    switch event {
    case .opened(let isSecure):
      handle(.opened(id, Opening(listenerKind: .outgoing, peer: peer, isSecure: isSecure)))
    case .received(let bytes):
      bytes.withUnsafeBytes { node?.received(id, $0.bytes, at: now) }
      performActions()
    case .sent(let count):
      connections[id]?.unsent -= count
      reportUnsent(of: id)
    case .closed(let cause):
      connections[id] = nil
      handle(.closed(id, cause))
    }
  }

  private func reportUnsent(of id: ConnectionID) {
    guard let unsent = connections[id]?.unsent else { return }
    connections[id]?.isDirty = false
    handle(.holding(id, bytes: unsent))
    handle(.drained(id, unsent: unsent))
  }

  private func expire() {
    if let deadline = node?.nextDeadline, let now = surroundings?.now(), deadline <= now.instant {
      handle(.deadlineReached)
    } else {
      setTimer()
    }
  }

  private func setTimer() {
    guard stage != .over, let deadline = node?.nextDeadline, let now = surroundings?.now() else {
      return timer.schedule(deadline: .distantFuture)
    }
    let wait = min(
      max(0, deadline.nanoseconds - now.instant.nanoseconds), Self.timerSeconds * 1_000_000_000)
    timer.schedule(deadline: .now() + .nanoseconds(Int(wait)))
  }

  // MARK: actions

  private func performActions() {
    while stage != .over, let action = node?.nextAction() { perform(action) }
    for id in connections.filter(\.value.isDirty).keys.sorted() { reportUnsent(of: id) }
    if stage == .stopping, connections.isEmpty, jobsInFlight == 0 { end() }
    setTimer()
  }

  private func perform(_ action: NodeAction<N.Job, N.Report, Never>) {
    switch action {
    case .open(let id, let peer): open(id, peer)
    case .send(let id, let bytes): send(bytes, to: id)
    case .multicast(let bytes, let ids): for id in ids { send(bytes, to: id) }
    case .close(let id, let manner): connections.removeValue(forKey: id)?.stream.close(manner)
    case .pauseReading(let id): connections[id]?.stream.setReading(isPaused: true)
    case .resumeReading(let id): connections[id]?.stream.setReading(isPaused: false)
    case .run(let id, let lane, let job): run(id, lane, job)
    case .report(let report):
      surroundings?.report(report)
      if surroundings?.isLastReport(report) == true { end() }
    }
  }

  private func open(_ id: ConnectionID, _ peer: PeerAddress) {
    guard let stream = surroundings?.connect(peer, queue) else { return }
    connections[id] = Connection(stream: stream)
    stream.open { [weak self] event in self?.handle(event, of: id, peer) }
  }

  private func send(_ bytes: [UInt8], to id: ConnectionID) {
    guard let stream = connections[id]?.stream else { return }
    connections[id]?.unsent += bytes.count
    connections[id]?.isDirty = true
    stream.send(bytes)
  }

  private func run(_ id: JobID, _ lane: Lane, _ job: N.Job) {
    jobsInFlight += 1
    lanes[Int(lane.rawValue)].perform(job) { outcome in
      self.queue.async {
        self.jobsInFlight -= 1
        self.handle(.finished(id, outcome))
        self.releaseIfDone()
      }
    }
  }

  // MARK: end

  private func end() {
    guard stage != .over else { return }
    stage = .over
    setTimer()
    for id in connections.keys.sorted() { connections[id]?.stream.close(.now) }
    connections = [:]
    releaseIfDone()
  }

  private func releaseIfDone() {
    guard stage == .over, jobsInFlight == 0, let ended = surroundings?.ended else { return }
    // After the events that are under way, in one of which the node may be in use.
    surroundings = nil
    queue.async {
      self.node = nil
      self.lanes = []
      ended()
    }
  }
}
