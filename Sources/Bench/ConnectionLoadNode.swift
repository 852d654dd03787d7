import LockstepClient
import LockstepModel
import LockstepRuntime
import LockstepSimulation
import LockstepWire

/// One connection of the load.
package enum ConnectionLoadMember: Sendable, Hashable {
  /// A connection that never sends a byte.
  case silent
  /// A signed-in socket that answers pings and sends nothing else.
  case idle(token: String)
  /// A signed-in socket with cursor `since` that reads a little once a second: as many bytes as the
  /// event loop reads at once, see `LoopLimits.receiveBytes`.
  case slow(token: String, since: ChangeToken)

  fileprivate var token: String? {
    switch self {
    case .silent: nil
    case .idle(let token), .slow(let token, _): token
    }
  }

  fileprivate var since: ChangeToken? {
    if case .slow(_, let since) = self { since } else { nil }
  }
}

/// Load of many connections that use memory but send no requests, or that read too slowly. A
/// connection that the relay closes is opened again.
package struct ConnectionLoadNode: Node, ~Copyable {
  package typealias Order = LoadOrder
  package typealias Report = LoadReport
  package typealias News = Never

  private struct Slot {
    let member: ConnectionLoadMember
    var socket: RawSocket?
    var isEstablished = false
  }

  /// Maximum number of concurrent connection attempts: more would only wait in the relay's backlog.
  private static let openingsAtOnce = 200
  private static let slowMilliseconds: Int64 = 1_000

  private let relay: RelayAddress
  private var random: SeededRandom
  private var slots: [Slot]
  private var slotIndices: [ConnectionID: Int] = [:]
  private var waiting: FIFOQueue<Int>
  private var opening = 0
  private var established = 0
  private var isReady = false
  private var isFinished = false
  private var connections: UInt64 = 0
  private var slow: [ConnectionID] = []
  private var nextSlowRead: Instant?
  private var actions = ActionQueue<NodeAction<NoJob, LoadReport, Never>>()

  package init(_ members: [ConnectionLoadMember], to relay: RelayAddress, random: SeededRandom) {
    self.relay = relay
    self.random = random
    slots = members.map { Slot(member: $0) }
    waiting = FIFOQueue()
    for index in slots.indices { waiting.append(index) }
    openConnections()
  }

  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    guard let index = slotIndices[id] else { return }
    slots[index].socket?.receive(bytes)
    while let event = slots[index].socket?.next() {
      switch event {
      case .opened: sendHello(index, id)
      case .text: if !slots[index].isEstablished { markEstablished(index, id, at: moment.instant) }
      case .ended:
        actions.append(.close(id, .now))
        handleClosed(id)
        return
      }
    }
    for reply in slots[index].socket?.drainReplies() ?? [] { actions.append(.send(id, reply)) }
    if case .slow = slots[index].member, slots[index].isEstablished {
      actions.append(.pauseReading(id))
    }
  }

  package mutating func handle(_ event: NodeEvent<NoJob, LoadOrder, Never>, at moment: Moment) {
    switch event {
    case .opened(let id, _):
      guard let index = slotIndices[id] else { return }
      if let request = slots[index].socket?.opened() {
        actions.append(.send(id, request))
      } else {
        markEstablished(index, id, at: moment.instant)
      }
    case .closed(let id, .connectFailed(let reason)):
      handleClosed(id)
      finish(.failed("a connection of the load could not be opened: \(reason)"))
    case .closed(let id, _): handleClosed(id)
    case .deadlineReached:
      for id in slow { actions.append(.resumeReading(id)) }
      nextSlowRead = moment.instant.advanced(milliseconds: Self.slowMilliseconds)
    case .stopping: finish(.stopped)
    case .drained, .holding, .ordered, .connectionRejected, .finished: break
    }
    openConnections()
  }

  package mutating func nextAction() -> NodeAction<NoJob, LoadReport, Never>? {
    actions.popFirst()
  }

  package var nextDeadline: Instant? { isFinished ? nil : nextSlowRead }

  private mutating func openConnections() {
    while !isFinished, opening < Self.openingsAtOnce, let index = waiting.popFirst() {
      connections += 1
      let id = ConnectionID.outgoing(connections)
      slotIndices[id] = index
      slots[index].socket = slots[index].member.token.map {
        RawSocket(id, to: relay, token: $0, random: random.branch())
      }
      opening += 1
      actions.append(.open(id, relay.peer))
    }
  }

  private mutating func sendHello(_ index: Int, _ id: ConnectionID) {
    let hello = DeviceMessage.hello(token: nil, since: slots[index].member.since)
    if let frame = slots[index].socket?.frame(of: hello) { actions.append(.send(id, frame)) }
  }

  private mutating func markEstablished(_ index: Int, _ id: ConnectionID, at now: Instant) {
    slots[index].isEstablished = true
    opening -= 1
    established += 1
    if case .slow = slots[index].member {
      slow.append(id)
      if nextSlowRead == nil {
        nextSlowRead = now.advanced(milliseconds: Self.slowMilliseconds)
      }
    }
    openConnections()
    if established == slots.count, !isReady {
      isReady = true
      actions.append(.report(.ready))
    }
  }

  private mutating func handleClosed(_ id: ConnectionID) {
    guard let index = slotIndices.removeValue(forKey: id) else { return }
    if slots[index].isEstablished { established -= 1 } else { opening -= 1 }
    slots[index].isEstablished = false
    slots[index].socket = nil
    slow.removeAll { $0 == id }
    waiting.append(index)
  }

  private mutating func finish(_ report: LoadReport) {
    guard !isFinished else { return }
    isFinished = true
    for id in slotIndices.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      actions.append(.close(id, .now))
    }
    slotIndices = [:]
    actions.append(.report(report))
  }
}
