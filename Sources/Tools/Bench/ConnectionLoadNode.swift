public import LockstepClient
public import LockstepModel
public import LockstepWire

/// One connection of the load.
public enum ConnectionLoadMember: Sendable, Hashable {
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
public struct ConnectionLoadNode: Node, ~Copyable {
  public typealias Job = Never
  public typealias Outcome = Never
  public typealias Order = LoadOrder
  public typealias Report = LoadReport
  public typealias News = Never

  private struct Seat {
    let member: ConnectionLoadMember
    var socket: RawSocket?
    var isStanding = false
  }

  /// Maximum number of concurrent connection attempts: more would only wait in the relay's backlog.
  private static let openingsAtOnce = 200
  private static let slowMilliseconds: Int64 = 1_000

  private let relay: RelayAddress
  private var random: SeededRandom
  private var seats: [Seat]
  private var places: [ConnectionID: Int] = [:]
  private var waiting: FIFOQueue<Int>
  private var opening = 0
  private var standing = 0
  private var isReady = false
  private var isOver = false
  private var connections: UInt64 = 0
  private var slow: [ConnectionID] = []
  private var nextDraught: Instant?
  private var actions = ActionQueue<NodeAction<Never, LoadReport, Never>>()

  public init(_ members: [ConnectionLoadMember], to relay: RelayAddress, random: SeededRandom) {
    self.relay = relay
    self.random = random
    seats = members.map { Seat(member: $0) }
    waiting = FIFOQueue()
    for place in seats.indices { waiting.append(place) }
    openMore()
  }

  public mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    guard let place = places[id] else { return }
    seats[place].socket?.receive(bytes)
    while let event = seats[place].socket?.next() {
      switch event {
      case .standing: greet(place, id)
      case .text: if !seats[place].isStanding { stand(place, id, at: moment.instant) }
      case .ended:
        actions.append(.close(id, .now))
        lose(id)
        return
      }
    }
    for reply in seats[place].socket?.takeReplies() ?? [] { actions.append(.send(id, reply)) }
    if case .slow = seats[place].member, seats[place].isStanding {
      actions.append(.pauseReading(id))
    }
  }

  public mutating func handle(_ event: NodeEvent<Never, LoadOrder, Never>, at moment: Moment) {
    switch event {
    case .opened(let id, _):
      guard let place = places[id] else { return }
      if let request = seats[place].socket?.opened() {
        actions.append(.send(id, request))
      } else {
        stand(place, id, at: moment.instant)
      }
    case .closed(let id, .connectFailed(let reason)):
      lose(id)
      end(.failed("a connection of the crowd was not made: \(reason)"))
    case .closed(let id, _): lose(id)
    case .deadlineReached:
      for id in slow { actions.append(.resumeReading(id)) }
      nextDraught = moment.instant.advanced(milliseconds: Self.slowMilliseconds)
    case .stopping: end(.stopped)
    case .drained, .holding, .ordered, .turnedAway: break
    }
    openMore()
  }

  public mutating func nextAction() -> NodeAction<Never, LoadReport, Never>? {
    actions.popFirst()
  }

  public var nextDeadline: Instant? { isOver ? nil : nextDraught }

  private mutating func openMore() {
    while !isOver, opening < Self.openingsAtOnce, let place = waiting.popFirst() {
      connections += 1
      let id = ConnectionID.outgoing(connections)
      places[id] = place
      seats[place].socket = seats[place].member.token.map {
        RawSocket(id, to: relay, token: $0, random: random.branch())
      }
      opening += 1
      actions.append(.open(id, relay.peer))
    }
  }

  private mutating func greet(_ place: Int, _ id: ConnectionID) {
    let hello = DeviceMessage.hello(token: nil, since: seats[place].member.since)
    if let frame = seats[place].socket?.frame(of: hello) { actions.append(.send(id, frame)) }
  }

  private mutating func stand(_ place: Int, _ id: ConnectionID, at now: Instant) {
    seats[place].isStanding = true
    opening -= 1
    standing += 1
    if case .slow = seats[place].member {
      slow.append(id)
      if nextDraught == nil {
        nextDraught = now.advanced(milliseconds: Self.slowMilliseconds)
      }
    }
    openMore()
    if standing == seats.count, !isReady {
      isReady = true
      actions.append(.report(.ready))
    }
  }

  private mutating func lose(_ id: ConnectionID) {
    guard let place = places.removeValue(forKey: id) else { return }
    if seats[place].isStanding { standing -= 1 } else { opening -= 1 }
    seats[place].isStanding = false
    seats[place].socket = nil
    slow.removeAll { $0 == id }
    waiting.append(place)
  }

  private mutating func end(_ report: LoadReport) {
    guard !isOver else { return }
    isOver = true
    for id in places.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      actions.append(.close(id, .now))
    }
    places = [:]
    actions.append(.report(report))
  }
}
