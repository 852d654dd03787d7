import LockstepRuntime

/// All connections of one loop, in one block of memory. A connection's id leads to its slot.
struct ConnectionSlab: ~Copyable {
  private var connections: UnsafeMutablePointer<SocketConnection>
  private var capacity = 0
  /// Number of slots that were ever used: they are initialised.
  private var initialisedCount = 0
  private var freeSlots: [Int32] = []
  private var outgoing: [ConnectionID: Int32] = [:]
  /// Number of connections that the node may still name in actions.
  private(set) var knownCount = 0
  /// Number of connections in any stage except `free`.
  private(set) var usedCount = 0

  init() { connections = .allocate(capacity: 0) }

  deinit {
    connections.deinitialize(count: initialisedCount)
    connections.deallocate()
  }

  /// Pointer to a slot. Valid until the next `add`.
  subscript(slot: Int) -> UnsafeMutablePointer<SocketConnection> { connections + slot }

  /// Returns the slot of a connection that the node may still name, or nil if the connection is
  /// gone.
  @inline(__always)
  func slot(of id: ConnectionID) -> Int? {
    if id.isOutgoing { return outgoing[id].map { Int($0) } }
    let registration = Poller.Registration(rawValue: id.rawValue)
    guard let slot = slot(of: registration), connections[slot].isKnown else { return nil }
    return slot
  }

  /// Returns nil if the connection with this registration is gone.
  @inline(__always)
  func slot(of registration: Poller.Registration) -> Int? {
    let slot = registration.slot
    guard slot < initialisedCount, connections[slot].generation == registration.generation,
      connections[slot].stage != .free
    else { return nil }
    return slot
  }

  func registration(of slot: Int) -> Poller.Registration {
    Poller.Registration(slot: slot, generation: connections[slot].generation)
  }

  /// Adds a connection and returns its slot. `id` is nil for an incoming connection, whose id is
  /// made from its slot. The node chooses the id of an outgoing connection and never uses one
  /// twice.
  mutating func add(
    _ id: ConnectionID?, _ descriptor: consuming Descriptor?, _ stage: SocketConnection.Stage
  )
    -> Int
  {
    let slot = freeSlots.popLast().map { Int($0) } ?? addSlot()
    let connection = connections + slot
    connection.pointee.descriptor = descriptor
    connection.pointee.stage = stage
    connection.pointee.isKnown = true
    connection.pointee.id = id ?? ConnectionID(rawValue: registration(of: slot).rawValue)
    if let id {
      let old = outgoing.updateValue(Int32(slot), forKey: id)
      precondition(old == nil, "a node used a connection id twice")
    }
    knownCount += 1
    usedCount += 1
    return slot
  }

  /// Ends the node's right to name the connection.
  mutating func forget(_ slot: Int) {
    let connection = connections + slot
    guard connection.pointee.isKnown else { return }
    connection.pointee.isKnown = false
    knownCount -= 1
    if connection.pointee.id.isOutgoing { outgoing[connection.pointee.id] = nil }
  }

  /// Lets the node name the connection, again or for the first time.
  mutating func remember(_ slot: Int) {
    precondition(!connections[slot].isKnown && !connections[slot].id.isOutgoing)
    connections[slot].isKnown = true
    knownCount += 1
  }

  /// All slots, used or free.
  var slots: Range<Int> { 0..<initialisedCount }

  /// Frees a slot and closes its descriptor. The connection must be forgotten and its frames
  /// dropped.
  mutating func free(_ slot: Int) {
    let connection = connections + slot
    precondition(!connection.pointee.isKnown && connection.pointee.output.unsent == 0)
    var next = SocketConnection()
    next.generation = connection.pointee.generation + 1
    // The list of dirty connections is linked through the slots, including freed ones.
    next.isDirty = connection.pointee.isDirty
    next.nextDirty = connection.pointee.nextDirty
    let generation = next.generation
    connection.pointee = next
    usedCount -= 1
    // A slot with no generation left is never reused, because an id must not occur twice.
    if generation < Poller.Registration.generationLimit { freeSlots.append(Int32(slot)) }
  }

  /// Initialises one more slot. The memory of the others is not touched, so the system provides it
  /// only when they are used.
  private mutating func addSlot() -> Int {
    if initialisedCount == capacity { grow() }
    (connections + initialisedCount).initialize(to: SocketConnection())
    initialisedCount += 1
    return initialisedCount - 1
  }

  private mutating func grow() {
    let largerCapacity = max(16, capacity * 2)
    let larger = UnsafeMutablePointer<SocketConnection>.allocate(capacity: largerCapacity)
    larger.moveInitialize(from: connections, count: capacity)
    connections.deallocate()
    connections = larger
    capacity = largerCapacity
  }
}

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

  // In an order without gaps: a loop has a record for each connection.
  /// nil while free, looking up, or ended.
  var descriptor: Descriptor?
  var stage = Stage.free
  var listenerKind = Opening.ListenerKind.outgoing
  /// True from the `opened` event, or from the node's own `open`, until the `closed` event.
  var isKnown = false
  /// nil for a plain connection. Released with the descriptor at the latest.
  var security: SecureConnection?
  var id = ConnectionID(rawValue: 0)
  var output = FrameList()
  /// Permit of the listener's limiter; nil for an outgoing connection.
  var permit: ConnectionPermit?
  /// Incremented whenever the slot is freed, so that an old id never names a new connection.
  var generation: UInt32 = 0
  /// Next slot of the list of connections to flush; negative at its end.
  var nextDirty: Int32 = -1
  /// Error of a failed write. Bytes received before it are still read.
  var writeError: Int32 = 0
  /// Bytes discarded while lingering.
  var discarded: UInt32 = 0
  /// False for a descriptor that may be a file.
  var isSocket = true
  /// True if it is in a list of connections to flush at the end of the turn.
  var isDirty = false
  var isPaused = false
  /// True if the kernel refused bytes; the poll then waits for writability.
  var isBlocked = false
  /// True if it is in the queue of handshakes that can continue.
  var isQueued = false
  /// True if OpenSSL holds bytes or the stream's end, which the poll does not report.
  var hasPendingBytes = false
  /// True if OpenSSL must write before it can read on.
  var readWantsWrite = false
  /// True if the peer ended its stream; queued frames may still be sent.
  var hasPeerEnded = false
  /// True if the node expects an event when no memory is held for the connection any more.
  var mustReportRelease = false
  /// True if it is in the poll.
  var isWatched = false
  var interest: Poller.Interest = []

  var acceptsFrames: Bool {
    switch stage {
    case .lookingUp, .connecting, .securing, .open: writeError == 0
    case .closing: hasPeerEnded && isKnown && writeError == 0
    case .free, .ended, .lingering: false
    }
  }

  var isSecure: Bool { security != nil }

  /// Poll events needed in the current state.
  var wantedInterest: Poller.Interest {
    // Nothing is read from a paused connection, so it does not wait for buffer space either.
    let readsOn = readWantsWrite && !isPaused
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

/// List of connections to flush at the end of the turn, linked through their slots. A connection is
/// in one list at most.
struct DirtyList {
  private static let none: Int32 = -1
  private var first = none
  private var last = none

  var isEmpty: Bool { first < 0 }

  /// Appends a connection that is not dirty, and marks it as dirty.
  @inline(__always)
  mutating func append(_ slot: Int, in slab: borrowing ConnectionSlab) {
    slab[slot].pointee.isDirty = true
    slab[slot].pointee.nextDirty = DirtyList.none
    if last < 0 {
      first = Int32(slot)
    } else {
      slab[Int(last)].pointee.nextDirty = Int32(slot)
    }
    last = Int32(slot)
  }

  /// Removes the first connection, which is no longer dirty.
  @inline(__always)
  mutating func popFirst(in slab: borrowing ConnectionSlab) -> Int? {
    guard first >= 0 else { return nil }
    let slot = Int(first)
    first = slab[slot].pointee.nextDirty
    if first < 0 { last = DirtyList.none }
    slab[slot].pointee.isDirty = false
    return slot
  }
}
