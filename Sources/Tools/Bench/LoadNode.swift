public import LockstepClient
public import LockstepModel
public import LockstepWire

/// Many devices that load a relay over raw WebSockets: steady savers whose answers are timed,
/// uploaders and readers. If a bench splits them over several nodes, each on its own thread, the
/// load does not delay the measuring.
public struct LoadNode: Node, ~Copyable {
  public typealias Job = Never
  public typealias Outcome = Never
  public typealias Order = LoadOrder
  public typealias Report = LoadReport
  public typealias News = Never

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
  private var isOver = false
  private var actions = ActionQueue<NodeAction<Never, LoadReport, Never>>()

  /// All `devices` connect immediately.
  public init(
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

  public mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    let index = Self.index(of: id)
    result.bytesReceived += bytes.byteCount
    members[index].socket.receive(bytes)
    while !isOver, let event = members[index].socket.next() {
      switch event {
      case .standing: members[index].worker.greet()
      case .text(let text): members[index].worker.heard(text, at: moment.instant)
      case .ended(let reason): fail(reason)
      }
    }
    for reply in members[index].socket.takeReplies() { actions.append(.send(id, reply)) }
    settle(index, at: moment.instant)
  }

  public mutating func handle(_ event: NodeEvent<Never, LoadOrder, Never>, at moment: Moment) {
    switch event {
    case .opened(let id, _):
      actions.append(.send(id, members[Self.index(of: id)].socket.opened()))
    case .closed(_, let cause):
      if !isOver { fail("a connection of the bench was lost: \(cause)") }
    case .deadlineReached:
      for index in members.indices {
        members[index].worker.expired(at: moment.instant)
        settle(index, at: moment.instant)
      }
    case .ordered(.openWindow):
      for index in members.indices { members[index].worker.openWindow() }
    case .ordered(.closeWindow):
      for index in members.indices { members[index].worker.closeWindow() }
      isAwaitingWindow = true
      reportWindow()
    case .stopping: end(.stopped)
    case .drained, .holding, .turnedAway: break
    }
  }

  public mutating func nextAction() -> NodeAction<Never, LoadReport, Never>? {
    actions.popFirst()
  }

  public var nextDeadline: Instant? {
    isOver ? nil : members.compactMap(\.worker.deadline).min()
  }

  /// Performs the steps of one device.
  private mutating func settle(_ index: Int, at now: Instant) {
    let id = members[index].socket.id
    for step in members[index].worker.takeSteps() where !isOver {
      switch step {
      case .say(let message): actions.append(.send(id, members[index].socket.frame(of: message)))
      case .done: finished(index, at: now)
      case .failed(let reason): fail(reason)
      }
    }
    if signedIn < members.count {
      signedIn = members.count { $0.worker.isSignedIn }
      if signedIn == members.count, !isOver { actions.append(.report(.ready)) }
    }
    reportWindow()
  }

  private mutating func finished(_ index: Int, at now: Instant) {
    let taken = now.nanoseconds - begun.nanoseconds
    result.devices.record(nanoseconds: taken)
    running -= 1
    guard running == 0 else { return }
    result.nanoseconds = taken
    for member in members {
      result.records += member.worker.records
      result.putOff += member.worker.putOff
    }
    actions.append(.report(.done(result)))
  }

  private mutating func reportWindow() {
    guard isAwaitingWindow, !isOver, members.allSatisfy(\.worker.isWindowAnswered) else { return }
    var window = LatencyHistogram()
    for index in members.indices { window.merge(members[index].worker.takeWindow()) }
    isAwaitingWindow = false
    actions.append(.report(.window(window)))
  }

  private mutating func fail(_ reason: String) { end(.failed(reason)) }

  private mutating func end(_ report: LoadReport) {
    guard !isOver else { return }
    isOver = true
    for member in members { actions.append(.close(member.socket.id, .now)) }
    actions.append(.report(report))
  }

  private static func index(of id: ConnectionID) -> Int { Int(id.rawValue & ~(1 << 63)) }
}
