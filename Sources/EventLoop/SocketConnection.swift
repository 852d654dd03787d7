import LockstepWire

/// What a loop keeps of one connection: a record of a slab, without buffers of its own.
struct SocketConnection: ~Copyable {
  enum Stage: UInt8 {
    /// Next: lookingUp, connecting, securing, open.
    case free
    /// The name is being looked up elsewhere. Next: connecting, ended, free.
    case lookingUp
    /// Next: connecting (another address), securing, open, ended, free.
    case connecting
    /// The TLS handshake is under way; one that came in is nothing to the node yet. Next: open,
    /// ended, lingering, free.
    case securing
    /// Next: closing, ended, free.
    case open
    /// Gone, and the node is told next. Next: free.
    case ended
    /// What waits still leaves, then it is closed; the node is done with it. Next: lingering, free.
    case closing
    /// All has left and the peer was told the end; its late bytes are thrown away. Next: free.
    case lingering
  }

  /// nil while free, looking up, or ended.
  var descriptor: Descriptor?
  /// nil where bytes go as they are. Gone with the descriptor at the latest.
  var security: SecureConnection?
  var id = ConnectionID(rawValue: 0)
  /// Rises whenever the slot is freed, so that an old name never means a new connection.
  var generation: UInt32 = 0
  var stage = Stage.free
  var door = Opening.Door.outgoing
  /// The node has heard of it, or asked for it, and has been told no end.
  var isKnown = false
  var isPaused = false
  /// Stands in the list of connections to flush at the end of the turn.
  var isDirty = false
  /// The next slot of that list; negative at its end.
  var nextDirty: Int32 = -1
  /// The kernel refused bytes; waits to be told that it takes some again.
  var isBlocked = false
  /// Stands in the line of handshakes that could go on.
  var isInLine = false
  /// Bytes, or the stream's end, lie in OpenSSL, where the poll does not see them.
  var holdsBytes = false
  /// OpenSSL must write before it can read on.
  var readWantsRoom = false
  /// The peer ended its stream; what waits for it may still leave.
  var hasPeerEnded = false
  /// The node is to be told when nothing is held for it any more.
  var owesRelease = false
  /// Stands in the poll.
  var isWatched = false
  var interest: Poller.Interest = []
  /// The error that a write met. What came in before it is still read.
  var writeError: Int32 = 0
  /// Bytes that were thrown away while lingering.
  var discarded = 0
  var output = FrameList()
  /// Where it counts among the connections that came in by its door; nil for one that went out.
  var place: ConnectionPermit?

  var takesFrames: Bool {
    switch stage {
    case .lookingUp, .connecting, .securing, .open: writeError == 0
    case .closing: hasPeerEnded && isKnown && writeError == 0
    case .free, .ended, .lingering: false
    }
  }

  var isSecure: Bool { security != nil }

  /// What the poll should tell, as things stand.
  var wantedInterest: Poller.Interest {
    let writing: Poller.Interest = isBlocked || readWantsRoom ? .writing : []
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
