import LockstepClient
import LockstepModel
import LockstepRuntime
import LockstepWire

/// Many devices that load a relay over raw WebSockets: steady savers whose answers are timed,
/// uploaders and readers. If a bench splits them over several nodes, each on its own thread, the
/// load does not delay the measuring.
package struct LoadNode: Node, ~Copyable {
  package typealias Order = LoadOrder
  package typealias Report = LoadReport
  package typealias News = Never

  private struct Member {
    var socket: RawSocket
    var worker: LoadWorker
  }

  private let relay: RelayAddress
  private var members: [Member] = []
  private let begun: Instant
  private var result = LoadResult()
  private var signedIn = 0
  private var running: Int
  private var isAwaitingWindow = false
  private var isFinished = false
  private var actions = ActionQueue<NodeAction<NoJob, LoadReport, Never>>()

  /// All `devices` connect immediately.
  package init(
    _ devices: [LoadDevice], to relay: RelayAddress, random: SeededRandom, at moment: Moment
  ) {
    self.relay = relay
    begun = moment.instant
    var random = random
    for (number, device) in devices.enumerated() {
      let id = ConnectionID.outgoing(UInt64(number))
      members.append(
        Member(
          socket: RawSocket(id, to: relay, token: device.token, random: random.branch()),
          worker: LoadWorker(device.task, random: random.branch())))
      actions.append(.open(id, relay.peer))
    }
    running = devices.count { $0.task.isFinite }
  }

  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    let index = Self.index(of: id)
    result.bytesReceived += bytes.byteCount
    members[index].socket.receive(bytes)
    while !isFinished, let event = members[index].socket.next() {
      switch event {
      case .opened: members[index].worker.sendHello()
      case .text(let text): members[index].worker.handleMessage(text, at: moment.instant)
      case .ended(let reason): fail(reason)
      }
    }
    for reply in members[index].socket.drainReplies() { actions.append(.send(id, reply)) }
    performSteps(index, at: moment.instant)
  }

  package mutating func handle(_ event: NodeEvent<NoJob, LoadOrder, Never>, at moment: Moment) {
    switch event {
    case .opened(let id, _):
      actions.append(.send(id, members[Self.index(of: id)].socket.opened()))
    case .closed(_, let cause):
      if !isFinished { fail("a connection of the bench was lost: \(cause)") }
    case .deadlineReached:
      for index in members.indices {
        members[index].worker.handleDeadline(at: moment.instant)
        performSteps(index, at: moment.instant)
      }
    case .ordered(.openWindow):
      for index in members.indices { members[index].worker.openWindow() }
    case .ordered(.closeWindow):
      for index in members.indices { members[index].worker.closeWindow() }
      isAwaitingWindow = true
      reportWindow()
    case .stopping: finish(.stopped)
    case .drained, .holding, .connectionRejected, .finished: break
    }
  }

  package mutating func nextAction() -> NodeAction<NoJob, LoadReport, Never>? {
    actions.popFirst()
  }

  package var nextDeadline: Instant? {
    isFinished ? nil : members.compactMap(\.worker.deadline).min()
  }

  /// Performs the steps of one device.
  private mutating func performSteps(_ index: Int, at now: Instant) {
    let id = members[index].socket.id
    for step in members[index].worker.drainSteps() where !isFinished {
      switch step {
      case .send(let message): actions.append(.send(id, members[index].socket.frame(of: message)))
      case .done: recordFinished(index, at: now)
      case .failed(let reason): fail(reason)
      }
    }
    if signedIn < members.count {
      signedIn = members.count { $0.worker.isSignedIn }
      if signedIn == members.count, !isFinished { actions.append(.report(.ready)) }
    }
    reportWindow()
  }

  private mutating func recordFinished(_ index: Int, at now: Instant) {
    let taken = now.nanoseconds - begun.nanoseconds
    result.devices.record(nanoseconds: taken)
    running -= 1
    guard running == 0 else { return }
    result.nanoseconds = taken
    for member in members {
      result.records += member.worker.records
      result.deferredRequests += member.worker.deferredRequests
    }
    actions.append(.report(.done(result)))
  }

  private mutating func reportWindow() {
    guard isAwaitingWindow, !isFinished, members.allSatisfy(\.worker.isWindowAnswered) else {
      return
    }
    var window = LatencyHistogram()
    for index in members.indices { window.merge(members[index].worker.drainWindow()) }
    isAwaitingWindow = false
    actions.append(.report(.window(window)))
  }

  private mutating func fail(_ reason: String) { finish(.failed(reason)) }

  private mutating func finish(_ report: LoadReport) {
    guard !isFinished else { return }
    isFinished = true
    for member in members { actions.append(.close(member.socket.id, .now)) }
    actions.append(.report(report))
  }

  private static func index(of id: ConnectionID) -> Int { Int(id.rawValue & ~(1 << 63)) }
}
