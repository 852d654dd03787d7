import LockstepModel
import LockstepRuntime

/// Data of the home that an uplink needs.
struct HomeCredentials: Hashable, Sendable {
  var relay: RelayAddress
  var account: AccountID
  var device: DeviceID
  var token: String
}

/// The uplink to the relay that is in use: a WebSocket, or HTTP requests. At most one is open.
struct Uplink {
  private(set) var socket: SocketUplink?
  private(set) var http: HTTPUplink?

  init(_ socket: SocketUplink) { self.socket = socket }
  init(_ http: HTTPUplink) { self.http = http }

  var deadline: Instant? { socket?.deadline ?? http?.deadline }

  func owns(_ id: ConnectionID) -> Bool { socket?.id == id || http?.owns(id) == true }

  // MARK: driver events

  mutating func opened(_ id: ConnectionID, at now: Instant, _ output: inout UplinkOutput) {
    socket?.opened(at: now, &output)
    http?.opened(id, at: now, &output)
  }

  mutating func received(
    _ id: ConnectionID, _ bytes: RawSpan, at now: Instant, _ output: inout UplinkOutput
  ) {
    output.countReceived(bytes.byteCount)
    socket?.received(bytes, at: now, &output)
    http?.received(id, bytes, at: now, &output)
  }

  mutating func closed(
    _ id: ConnectionID, _ cause: CloseCause, at now: Instant, _ output: inout UplinkOutput
  ) {
    socket?.closed(cause, &output)
    http?.closed(id, cause, at: now, &output)
  }

  mutating func expired(at now: Instant, _ output: inout UplinkOutput) {
    socket?.expired(at: now, &output)
    http?.expired(at: now, &output)
  }

  // MARK: requests of the agent

  mutating func sendHello(since: ChangeToken?, at now: Instant, _ output: inout UplinkOutput) {
    socket?.sendHello(since: since, at: now, &output)
  }

  mutating func save(_ request: SaveRequest, at now: Instant, _ output: inout UplinkOutput) {
    socket?.save(request, at: now, &output)
    http?.save(request, at: now, &output)
  }

  mutating func fetch(since: ChangeToken?, at now: Instant, _ output: inout UplinkOutput) {
    socket?.fetch(since: since, at: now, &output)
    http?.fetch(since: since, at: now, &output)
  }

  /// HTTP only: sends a request that is held until there is something after `since`.
  mutating func wait(
    since: ChangeToken, milliseconds: Int64, at now: Instant, _ output: inout UplinkOutput
  ) {
    http?.wait(since: since, milliseconds: milliseconds, at: now, &output)
  }

  /// HTTP only: opens a stream of events that begins at `since`.
  mutating func listen(since: ChangeToken, at now: Instant, _ output: inout UplinkOutput) {
    http?.listen(since: since, at: now, &output)
  }

  mutating func measureTime(at now: Instant, _ output: inout UplinkOutput) {
    socket?.measureTime(at: now, &output)
    http?.measureTime(at: now, &output)
  }

  /// `position`: up to which the device has everything, if that is known.
  mutating func close(at position: ChangeToken? = nil, _ output: inout UplinkOutput) {
    socket?.close(at: position, &output)
    http?.close(&output)
  }
}

/// Event of an uplink for the agent, for any transport.
enum UplinkEvent: Hashable, Sendable {
  /// The socket is open; the agent must send hello (`SocketUplink.sendHello`).
  case readyForHello
  /// The relay has given a valid answer. `newest`: the account's newest token, if it was sent.
  case online(newest: ChangeToken?)
  case clock(RelayClock.Sample)
  case saved(BatchID, SaveAnswer)
  case saveRefused(BatchID, Refusal)
  /// An intermediary on the path to the relay refused the batch for its size.
  case saveTooLarge(BatchID, Refusal)
  case page(ChangePage, PageOrigin)
  case fetchRefused(Refusal, PageOrigin)
  /// The page that follows came after its long-poll was held: the path supports long-polls.
  case longPollServed
  /// A long-poll was cut after this time; nil: its answer never came. It is not known if the relay
  /// is reachable.
  case longPollCut(heldMilliseconds: Int64?)
  /// There is a newer token.
  case hint(ChangeToken)
  /// Period over which the relay's devices reconnect if all of them lose it, in milliseconds.
  case reconnectWithin(Int64)
  /// The uplink has ended; its connections are closed.
  case failed(UplinkFailure)
}

enum PageOrigin: Hashable, Sendable {
  case push
  case fetch
  case longPoll
  /// A stream of events.
  case stream

  /// True if the relay sends pages without a request, and continues to do so.
  var isUnasked: Bool { self == .push || self == .stream }
}

/// Reason that an uplink has ended.
struct UplinkFailure: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    /// No connection could be made: no transport would do better.
    case unreachable
    /// A connection was established, but this transport does not work.
    case transportFailed
    /// The relay refused.
    case refused(Refusal)
    /// The relay reports that a user must act, by a code that this program does not know.
    case barred
    /// It worked, and was lost.
    case lost
  }

  var kind: Kind
  /// Explanation for users.
  var reason: String
}

/// Network actions of an uplink, and its events.
struct UplinkOutput {
  enum Action: Hashable, Sendable {
    case open(ConnectionID)
    case send(ConnectionID, [UInt8])
    case close(ConnectionID, CloseManner)
    case pauseReading(ConnectionID)
    case resumeReading(ConnectionID)

    /// Returns the action of the node that owns the uplink. `peer`: the relay; without it, no
    /// connection is opened.
    func map<Job, Report, News>(to peer: PeerAddress?) -> NodeAction<Job, Report, News>? {
      switch self {
      case .open(let id): peer.map { .open(id, $0) }
      case .send(let id, let bytes): .send(id, bytes)
      case .close(let id, let manner): .close(id, manner)
      case .pauseReading(let id): .pauseReading(id)
      case .resumeReading(let id): .resumeReading(id)
      }
    }
  }

  private(set) var actions = ActionQueue<Action>()
  private(set) var events = ActionQueue<UplinkEvent>()
  private(set) var traffic = Traffic()
  private var nextConnection: UInt64

  init(firstNumber: UInt64) { nextConnection = firstNumber }

  mutating func open() -> ConnectionID {
    let id = ConnectionID.outgoing(nextConnection)
    nextConnection += 1
    traffic.connections += 1
    actions.append(.open(id))
    return id
  }

  mutating func send(_ id: ConnectionID, _ bytes: [UInt8]) {
    traffic.bytesSent += bytes.count
    actions.append(.send(id, bytes))
  }

  mutating func close(_ id: ConnectionID, _ manner: CloseManner) {
    actions.append(.close(id, manner))
  }

  mutating func pauseReading(_ id: ConnectionID) { actions.append(.pauseReading(id)) }
  mutating func resumeReading(_ id: ConnectionID) { actions.append(.resumeReading(id)) }

  mutating func emit(_ event: UplinkEvent) { events.append(event) }

  mutating func countRequest() { traffic.requests += 1 }
  mutating func countMessage() { traffic.messages += 1 }
  mutating func countReceived(_ bytes: Int) { traffic.bytesReceived += bytes }

  mutating func nextAction() -> Action? { actions.popFirst() }
  mutating func nextEvent() -> UplinkEvent? { events.popFirst() }
}
