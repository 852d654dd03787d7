import LockstepModel
import LockstepWire

/// One connection: two ends, and a pipe each way. Order is kept within it.
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

  /// One node's side of a connection, with what is on its way *to* it.
  final class End {
    let seat: any AnyNode
    let id: ConnectionID
    weak var channel: VirtualChannel?
    /// The node knows of it: it was told `opened`, and neither closed it nor was told `closed`.
    var isOpen = false
    /// The node asked for no more bytes for now.
    var isPaused = false
    /// The machine is too busy to read, whatever the node wants, until this time.
    var stalledUntil: Int64 = 0
    var inward = Pipe()

    init(seat: any AnyNode, id: ConnectionID) {
      self.seat = seat
      self.id = id
    }
  }

  /// What is on its way to one end.
  struct Pipe {
    /// Written by the sender, not yet taken by its system, in order.
    var waiting: [[UInt8]] = []
    var waitingBytes = 0
    /// Taken, and somewhere between here and there.
    var flightBytes = 0
    /// Arrived, and not read yet.
    var arrived: [[UInt8]] = []
    var arrivedBytes = 0
    var lastArrival: Int64 = 0
    /// The sender was told, or will be, that bytes wait.
    var owesDrained = false
    /// Nothing that is sent arrives any more, and nobody is told.
    var isDead = false
    /// After what waits, the stream ends for this reason.
    var ending: CloseCause?
    var isEndSent = false
    /// The end has arrived, behind what has arrived before.
    var arrivedEnd: CloseCause?
  }
}
