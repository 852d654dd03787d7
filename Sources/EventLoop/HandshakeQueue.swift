import LockstepModel
import LockstepWire

/// TLS handshakes of one loop: the queue of those that can continue, their number, and their
/// deadlines.
///
/// A step of a handshake costs as much as hundreds of deliveries. So handshakes that can continue
/// wait in a FIFO queue, and only a few of them run before all other events of a turn.
struct HandshakeQueue {
  private let atOnce: Int
  private var ready = FIFOQueue<Poller.Registration>()
  /// Deadlines of incoming handshakes.
  var deadlines: ExpiryQueue
  private(set) var underWay = 0

  init(_ limits: LoopLimits) {
    atOnce = limits.handshakesAtOnce
    deadlines = ExpiryQueue(milliseconds: limits.handshakeMilliseconds)
  }

  var isEmpty: Bool { ready.isEmpty }
  var isFull: Bool { underWay >= atOnce }

  /// Counts an incoming handshake that begins.
  mutating func enter() { underWay += 1 }

  /// Counts down a handshake that has ended, whatever its result.
  mutating func leave() {
    precondition(underWay > 0)
    underWay -= 1
  }

  mutating func append(_ registration: Poller.Registration) { ready.append(registration) }

  /// Removes and returns the handshakes that run in this turn.
  mutating func takeTurn() -> [Poller.Registration] {
    var turn: [Poller.Registration] = []
    while turn.count < Limits.handshakesPerTurn, let next = ready.popFirst() { turn.append(next) }
    return turn
  }
}
