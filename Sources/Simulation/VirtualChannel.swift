import LockstepModel
import LockstepWire

/// One connection: two ends, and one ordered pipe per direction.
final class VirtualChannel {
  let opener: End
  let acceptor: End

  init(opener: End, acceptor: End) {
    self.opener = opener
    self.acceptor = acceptor
    opener.channel = self
    acceptor.channel = self
  }

  func other(_ end: End) -> End { end === opener ? acceptor : opener }

  /// One node's end of a connection, with the pipe *to* it.
  final class End {
    let seat: any AnyNode
    let id: ConnectionID
    weak var channel: VirtualChannel?
    /// True if the node has received `opened`, and neither closed the end nor received `closed`.
    var isOpen = false
    /// True if the node has paused reading.
    var isPaused = false
    /// Time until which the machine does not read, even if the node wants to.
    var stalledUntil: Int64 = 0
    var inward = Pipe()

    init(seat: any AnyNode, id: ConnectionID) {
      self.seat = seat
      self.id = id
    }
  }

  /// Data in transit to one end.
  struct Pipe {
    /// Written by the sender, not yet accepted by its system, in order.
    var waiting: [[UInt8]] = []
    var waitingBytes = 0
    /// Accepted by the sender's system, not yet arrived.
    var flightBytes = 0
    /// Arrived, not yet read.
    var arrived: [[UInt8]] = []
    var arrivedBytes = 0
    var lastArrival: Int64 = 0
    /// True if the sender was notified, or will be, that bytes wait.
    var owesDrained = false
    /// True if sent bytes never arrive, without any notification.
    var isDead = false
    /// Reason for the end of the stream, after the waiting bytes.
    var ending: CloseCause?
    var isEndSent = false
    /// Set when the end has arrived, after all bytes that arrived before.
    var arrivedEnd: CloseCause?
  }
}
