import LockstepWire

/// State of one connection of a loop: a record in a slab, without buffers of its own.
struct SocketConnection: ~Copyable {
  enum Stage: UInt8 {
    /// Next: lookingUp, connecting, securing, open.
    case free
    /// The lookup thread resolves the name. Next: connecting, ended, free.
    case lookingUp
    /// Next: connecting (another address), securing, open, ended, free.
    case connecting
    /// The TLS handshake is in progress; the node does not know an incoming connection yet. Next:
    /// open, ended, lingering, free.
    case securing
    /// Next: closing, ended, free.
    case open
    /// Closed, and the node gets that event next. Next: free.
    case ended
    /// Queued frames are sent, then the connection is closed; the node no longer uses it. Next:
    /// lingering, free.
    case closing
    /// All frames are sent and writing is shut down; late bytes of the peer are discarded. Next:
    /// free.
    case lingering
  }

  /// nil while free, looking up, or ended.
  var descriptor: Descriptor?
  /// nil for a plain connection. Released with the descriptor at the latest.
  var security: SecureConnection?
  var id = ConnectionID(rawValue: 0)
  /// Incremented whenever the slot is freed, so that an old id never names a new connection.
  var generation: UInt32 = 0
  var stage = Stage.free
  var door = Opening.Door.outgoing
  /// True if the node was told of it or opened it, and was not told of its end.
  var isKnown = false
  var isPaused = false
  /// True if it is in the list of connections to flush at the end of the turn.
  var isDirty = false
  /// Next slot of that list; negative at its end.
  var nextDirty: Int32 = -1
  /// True if the kernel refused bytes; the poll then waits for writability.
  var isBlocked = false
  /// True if it is in the queue of handshakes that can continue.
  var isInLine = false
  /// True if OpenSSL holds bytes or the stream's end, which the poll does not report.
  var holdsBytes = false
  /// True if OpenSSL must write before it can read on.
  var readWantsRoom = false
  /// True if the peer ended its stream; queued frames may still be sent.
  var hasPeerEnded = false
  /// True if the node is to be told when no memory is held for it any more.
  var owesRelease = false
  /// True if it is in the poll.
  var isWatched = false
  var interest: Poller.Interest = []
  /// Error of a failed write. Bytes received before it are still read.
  var writeError: Int32 = 0
  /// Bytes discarded while lingering.
  var discarded = 0
  var output = FrameList()
  /// Permit of the listener's limiter; nil for an outgoing connection.
  var place: ConnectionPermit?

  var takesFrames: Bool {
    switch stage {
    case .lookingUp, .connecting, .securing, .open: writeError == 0
    case .closing: hasPeerEnded && isKnown && writeError == 0
    case .free, .ended, .lingering: false
    }
  }

  var isSecure: Bool { security != nil }

  /// Poll events needed in the current state.
  var wantedInterest: Poller.Interest {
    // Nothing is read from a paused connection, so it waits for no room either.
    let readsOn = readWantsRoom && !isPaused
    let writing: Poller.Interest = isBlocked || readsOn ? .writing : []
    return switch stage {
    case .free, .lookingUp, .ended: []
    case .connecting: .writing
    case .securing: isBlocked ? .writing : .reading
    case .open: isPaused ? writing : writing.union(.reading)
    case .closing: writing
    case .lingering: .reading
    }
  }
}
