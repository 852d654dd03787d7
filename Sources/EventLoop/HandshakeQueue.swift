import LockstepModel
import LockstepWire

/// The TLS handshakes of one loop: whose turn it is, how many are under way, and until when.
///
/// A step of a handshake costs as much as hundreds of deliveries. So those that could go on wait in
/// a line, first in, first out, and only a few have their turn before everything else has its own.
struct HandshakeQueue {
  private let atOnce: Int
  private var ready = FIFOQueue<Poller.Registration>()
  /// Of those that came in.
  var deadlines: ExpiryQueue
  private(set) var underWay = 0

  init(_ limits: LoopLimits) {
    atOnce = limits.handshakesAtOnce
    deadlines = ExpiryQueue(milliseconds: limits.handshakeMilliseconds)
  }

  var isEmpty: Bool { ready.isEmpty }
  var isFull: Bool { underWay >= atOnce }

  /// Somebody came in whose handshake begins.
  mutating func enter() { underWay += 1 }

  /// It is over, however it ended.
  mutating func leave() {
    precondition(underWay > 0)
    underWay -= 1
  }

  mutating func append(_ registration: Poller.Registration) { ready.append(registration) }

  /// Those whose turn it is.
  mutating func takeTurn() -> [Poller.Registration] {
    var turn: [Poller.Registration] = []
    while turn.count < Limits.handshakesATurn, let next = ready.popFirst() { turn.append(next) }
    return turn
  }
}
