import LockstepModel
import LockstepWire

/// What an uplink tells the agent, whatever the transport.
enum UplinkEvent: Hashable, Sendable {
  /// The socket stands; it is to be greeted (`SocketUplink.greet`).
  case readyToGreet
  /// The relay has answered as one. `newest`: the account's newest token, where it was told.
  case online(newest: ChangeToken?)
  case clock(RelayClock.Sample)
  case saved(BatchID, SaveAnswer)
  case saveRefused(BatchID, Refusal)
  /// Something on the way to the relay refused the batch for its size.
  case saveTooLarge(BatchID, Refusal)
  case page(ChangePage, PageOrigin)
  case fetchRefused(Refusal, PageOrigin)
  /// The page that follows came after its long-poll was held: the way carries one.
  case longPollServed
  /// A long-poll was cut after so long; nil: its answer never came. Whether the relay is in reach
  /// is not known.
  case longPollCut(heldMilliseconds: Int64?)
  /// There is something newer.
  case hint(ChangeToken)
  /// Over how long the relay's devices come back where all of them lose it, in milliseconds.
  case reconnectWithin(Int64)
  /// The uplink is over; its connections are closed.
  case failed(UplinkFailure)
}

enum PageOrigin: Hashable, Sendable {
  case push
  case fetch
  case longPoll
  /// A stream of events.
  case stream

  /// Whether the relay said it by itself, and goes on so.
  var isUnasked: Bool { self == .push || self == .stream }
}

/// Why an uplink is over.
struct UplinkFailure: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    /// No connection could be made: no transport would fare better.
    case unreachable
    /// A connection stood, but this transport does not get through.
    case rung
    /// The relay said so.
    case refused(Refusal)
    /// The relay says that a person must act, by a code that this program does not know.
    case barred
    /// It worked, and is gone.
    case lost
  }

  var kind: Kind
  /// For a person.
  var reason: String
}

/// What an uplink asks of the network, and what it has to tell.
struct UplinkOutput {
  enum Action: Hashable, Sendable {
    case open(ConnectionID)
    case send(ConnectionID, [UInt8])
    case close(ConnectionID, CloseManner)
    case pauseReading(ConnectionID)
    case resumeReading(ConnectionID)
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

  mutating func tell(_ event: UplinkEvent) { events.append(event) }

  mutating func countRequest() { traffic.requests += 1 }
  mutating func countMessage() { traffic.messages += 1 }
  mutating func countReceived(_ bytes: Int) { traffic.bytesReceived += bytes }

  mutating func nextAction() -> Action? { actions.popFirst() }
  mutating func nextEvent() -> UplinkEvent? { events.popFirst() }
}
