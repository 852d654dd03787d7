import Dispatch
import LockstepModel
import LockstepRuntime

/// Driver of a node on a serial dispatch queue. Each lane is a queue of its own; the node's
/// deadlines share one timer. It exists until its end, also if nobody refers to it.
package final class DispatchDriver<N: Node & ~Copyable>: DeviceDriver,
  @unchecked Sendable
where N.News == Never {
  package typealias Order = N.Order

  private enum Stage {
    case running, stopping
    /// The node gets no events any more; jobs may still run.
    case over
  }

  // All state belongs to the queue.
  private let queue = DispatchQueue(label: "lockstep.node")
  private var timer: DeadlineTimer?
  /// nil after the end.
  private var lanes: LaneQueues<N>?
  /// nil after the end.
  private var environment: DriverEnvironment<N>?
  private var node: N?
  private var streams = StreamTable()
  private var jobsInFlight = 0
  private var stage = Stage.running

  package init(_ node: consuming sending N, _ environment: sending DriverEnvironment<N>) {
    self.node = consume node
    lanes = LaneQueues(environment.lanes)
    self.environment = environment
  }

  package func start() {
    queue.async {
      self.timer = DeadlineTimer(on: self.queue) { self.expire() }
      self.performActions()
    }
  }

  package func post(_ order: N.Order) { queue.async { self.handle(.ordered(order)) } }

  package func stop() {
    queue.async {
      guard self.stage == .running else { return self.end() }
      self.stage = .stopping
      let limit = self.environment?.stopMilliseconds ?? 0
      self.queue.asyncAfter(deadline: .now() + .milliseconds(Int(limit))) { self.end() }
      self.handle(.stopping)
    }
  }

  private func handle(_ event: NodeEvent<N.Outcome, N.Order, Never>) {
    guard stage != .over, let now = environment?.now() else { return }
    node?.handle(event, at: now)
    performActions()
  }

  private func handle(_ event: ByteStreamEvent, of id: ConnectionID, _ peer: PeerAddress) {
    guard stage != .over, streams.contains(id), let now = environment?.now() else { return }
    switch event {
    case .opened(let isSecure):
      handle(.opened(id, Opening(listenerKind: .outgoing, peer: peer, isSecure: isSecure)))
    case .received(let bytes):
      bytes.withUnsafeBytes { node?.received(id, $0.bytes, at: now) }
      performActions()
    case .sent(let count):
      streams.markSent(count, of: id)
      reportUnsent(of: id)
    case .closed(let cause):
      streams.remove(id)
      handle(.closed(id, cause))
    }
  }

  private func reportUnsent(of id: ConnectionID) {
    guard let unsent = streams.unsent(of: id) else { return }
    handle(.holding(id, bytes: unsent))
    handle(.drained(id, unsent: unsent))
  }

  private func expire() {
    guard let deadline = node?.nextDeadline, let now = environment?.now(), deadline <= now.instant
    else { return setTimer() }
    handle(.deadlineReached)
  }

  private func setTimer() {
    guard let now = environment?.now() else { return }
    timer?.set(node?.nextDeadline, at: now.instant)
  }

  private func performActions() {
    while stage != .over, let action = node?.nextAction() { perform(action) }
    while stage != .over, let id = streams.firstDirtyID { reportUnsent(of: id) }
    if stage == .stopping, streams.isEmpty, jobsInFlight == 0 { end() }
    setTimer()
  }

  private func perform(_ action: NodeAction<N.Job, N.Report, Never>) {
    switch action {
    case .open(let id, let peer):
      guard let stream = stream(to: peer) else { return }
      streams.add(stream, id)
      stream.open { self.handle($0, of: id, peer) }
    case .send(let id, let bytes): streams.send(bytes, to: id)
    case .multicast(let bytes, let ids): for id in ids { streams.send(bytes, to: id) }
    case .close(let id, let manner): streams.close(id, manner)
    case .pauseReading(let id): streams.setReading(id, isPaused: true)
    case .resumeReading(let id): streams.setReading(id, isPaused: false)
    case .run(let id, let job): run(id, job)
    case .report(let report):
      environment?.report(report)
      if environment?.isLastReport(report) == true { end() }
    }
  }

  private func stream(to peer: PeerAddress) -> (any ByteStream)? {
    switch peer {
    // The system resolves the name and chooses the address, so it cannot be judged before.
    case .screened: RefusedStream(on: queue)
    // No device speaks it.
    case .http2: RefusedStream(on: queue)
    case .host, .secure, .local: environment?.connect(peer, queue)
    }
  }

  private func run(_ id: JobID, _ job: N.Job) {
    jobsInFlight += 1
    lanes?.perform(job) { outcome in
      self.queue.async {
        self.jobsInFlight -= 1
        self.handle(.finished(id, outcome))
        self.releaseIfDone()
      }
    }
  }

  private func end() {
    stage = .over
    streams.closeAll()
    releaseIfDone()
  }

  private func releaseIfDone() {
    guard stage == .over, jobsInFlight == 0, let ended = environment?.ended else { return }
    environment = nil
    // After the event that is under way, in which the node may be in use.
    queue.async {
      self.timer?.cancel()
      self.timer = nil
      self.node = nil
      self.lanes = nil
      ended()
    }
  }
}
