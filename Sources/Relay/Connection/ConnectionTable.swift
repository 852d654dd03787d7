import LockstepRuntime

/// The node's connections, each in a slot that does not change during its life, in one block of
/// memory. A slot is initialised while it is in use.
struct ConnectionTable: ~Copyable {
  typealias Slot = Hub.Slot

  private var slots = UnsafeMutablePointer<Connection>.allocate(capacity: 0)
  private var capacity = 0
  /// One flag for each slot that has ever been used.
  private var isInUse: [Bool] = []
  private var free: [Slot] = []
  private var slotsByID = PositionIndex()

  deinit {
    for slot in slotsInUse { pointer(to: slot).deinitialize(count: 1) }
    slots.deallocate()
  }

  var count: Int { slotsByID.count }

  /// All slots in use, in ascending order.
  var slotsInUse: [Slot] { isInUse.indices.filter { isInUse[$0] }.map { Slot($0) } }

  func slot(of id: ConnectionID) -> Slot? {
    slotsByID.position(of: id) { slots[$0].id }.map { Slot($0) }
  }

  func isInUse(_ slot: Slot) -> Bool { isInUse[Int(slot)] }

  subscript(slot: Slot) -> Connection {
    @inline(__always) unsafeAddress {
      precondition(isInUse[Int(slot)], "no such connection")
      return UnsafePointer(pointer(to: slot))
    }
    @inline(__always) unsafeMutableAddress {
      precondition(isInUse[Int(slot)], "no such connection")
      return pointer(to: slot)
    }
  }

  @inline(__always)
  private func pointer(to slot: Slot) -> UnsafeMutablePointer<Connection> { slots + Int(slot) }

  mutating func insert(_ connection: Connection) -> Slot {
    let slot = free.popLast() ?? Slot(isInUse.count)
    if slot == isInUse.count {
      if slot == capacity { grow() }
      isInUse.append(true)
    } else {
      isInUse[Int(slot)] = true
    }
    pointer(to: slot).initialize(to: connection)
    let slots = slots
    slotsByID.insert(Int(slot)) { slots[$0].id }
    slots[Int(slot)].setSlot(slot)
    return slot
  }

  mutating func remove(_ slot: Slot) {
    let slots = slots
    slotsByID.remove(Int(slot)) { slots[$0].id }
    pointer(to: slot).deinitialize(count: 1)
    isInUse[Int(slot)] = false
    free.append(slot)
  }

  /// Called if no slot is free: all are in use.
  private mutating func grow() {
    let largerCapacity = max(16, capacity * 2)
    let larger = UnsafeMutablePointer<Connection>.allocate(capacity: largerCapacity)
    larger.moveInitialize(from: slots, count: capacity)
    slots.deallocate()
    slots = larger
    capacity = largerCapacity
  }
}

/// Boxed copy-on-write value, for a large value that is rarely present: an owner without it pays
/// only for a pointer. Copied like the value itself.
struct CopyOnWriteBox<Value: Sendable>: Sendable {
  /// Changed only by its sole owner.
  private final class Storage: @unchecked Sendable {
    // Access to the whole box is exclusive already.
    @exclusivity(unchecked) var value: Value
    init(_ value: consuming Value) { self.value = value }
  }

  private var storage: Storage

  init(_ value: consuming Value) { storage = Storage(value) }

  var value: Value {
    @inline(__always) _read { yield storage.value }
    @inline(__always) _modify {
      if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
      yield &storage.value
    }
  }
}
