import LockstepWire

/// All connections of one loop, in one block; a connection's name leads to its slot.
struct ConnectionSlab: ~Copyable {
  private var connections: UnsafeMutablePointer<SocketConnection>
  private var capacity = 0
  private var freeSlots: [Int32] = []
  private var outgoing: [ConnectionID: Int32] = [:]
  /// Connections that the node may still speak of.
  private(set) var knownCount = 0
  /// Connections in any stage but free.
  private(set) var usedCount = 0

  init() { connections = .allocate(capacity: 0) }

  deinit {
    connections.deinitialize(count: capacity)
    connections.deallocate()
  }

  /// Good until the next `add`.
  subscript(slot: Int) -> UnsafeMutablePointer<SocketConnection> { connections + slot }

  /// The slot of a connection that the node may speak of; nil when it is gone.
  @inline(__always)
  func slot(of id: ConnectionID) -> Int? {
    if id.isOutgoing { return outgoing[id].map { Int($0) } }
    let registration = Poller.Registration(rawValue: id.rawValue)
    guard let slot = slot(of: registration), connections[slot].isKnown else { return nil }
    return slot
  }

  /// nil when the connection that was registered so is gone.
  @inline(__always)
  func slot(of registration: Poller.Registration) -> Int? {
    let slot = registration.slot
    guard slot < capacity, connections[slot].generation == registration.generation,
      connections[slot].stage != .free
    else { return nil }
    return slot
  }

  func registration(of slot: Int) -> Poller.Registration {
    Poller.Registration(slot: slot, generation: connections[slot].generation)
  }

  /// A slot for a connection that came in (`id` nil, and named after its slot) or that the node
  /// asked for under a name that it has not used before.
  mutating func add(
    _ id: ConnectionID?, _ descriptor: consuming Descriptor?, _ stage: SocketConnection.Stage
  )
    -> Int
  {
    if freeSlots.isEmpty { grow() }
    let slot = Int(freeSlots.removeLast())
    let connection = connections + slot
    connection.pointee.descriptor = descriptor
    connection.pointee.stage = stage
    connection.pointee.isKnown = true
    connection.pointee.id = id ?? ConnectionID(rawValue: registration(of: slot).rawValue)
    if let id {
      let old = outgoing.updateValue(Int32(slot), forKey: id)
      precondition(old == nil, "a node named two connections alike")
    }
    knownCount += 1
    usedCount += 1
    return slot
  }

  /// The node may not speak of it any more.
  mutating func forget(_ slot: Int) {
    let connection = connections + slot
    guard connection.pointee.isKnown else { return }
    connection.pointee.isKnown = false
    knownCount -= 1
    if connection.pointee.id.isOutgoing { outgoing[connection.pointee.id] = nil }
  }

  /// The node may speak of it again, or for the first time.
  mutating func remember(_ slot: Int) {
    precondition(!connections[slot].isKnown && !connections[slot].id.isOutgoing)
    connections[slot].isKnown = true
    knownCount += 1
  }

  /// All there are, used or not.
  var slots: Range<Int> { 0..<capacity }

  /// Closes the descriptor. The connection must be forgotten and its frames dropped.
  mutating func free(_ slot: Int) {
    let connection = connections + slot
    precondition(!connection.pointee.isKnown && connection.pointee.output.unsent == 0)
    var next = SocketConnection()
    next.generation = connection.pointee.generation + 1
    // The list of those to flush runs through its members, gone or not.
    next.isDirty = connection.pointee.isDirty
    next.nextDirty = connection.pointee.nextDirty
    let generation = next.generation
    connection.pointee = next
    usedCount -= 1
    // A slot whose numbers are used up rests for ever: a name is never used twice.
    if generation < Poller.Registration.generationLimit { freeSlots.append(Int32(slot)) }
  }

  private mutating func grow() {
    let largerCapacity = max(16, capacity * 2)
    let larger = UnsafeMutablePointer<SocketConnection>.allocate(capacity: largerCapacity)
    larger.moveInitialize(from: connections, count: capacity)
    for slot in capacity..<largerCapacity { (larger + slot).initialize(to: SocketConnection()) }
    freeSlots.append(contentsOf: (Int32(capacity)..<Int32(largerCapacity)).reversed())
    connections.deallocate()
    connections = larger
    capacity = largerCapacity
  }
}
