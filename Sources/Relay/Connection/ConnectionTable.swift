import LockstepRuntime

/// The node's connections, each in a slot that does not change during its life, in one block of
/// memory.
struct ConnectionTable: ~Copyable {
  typealias Slot = Hub.Slot

  private var slots = UnsafeMutablePointer<Connection>.allocate(capacity: 0)
  private var capacity = 0
  /// One flag for each slot that has ever been used.
  private var isInUse: [Bool] = []
  private var free: [Slot] = []
  private var slotsByID: [ConnectionID: Slot] = [:]

  deinit {
    slots.deinitialize(count: isInUse.count)
    slots.deallocate()
  }

  var count: Int { slotsByID.count }

  /// All slots in use, in ascending order.
  var slotsInUse: [Slot] { isInUse.indices.filter { isInUse[$0] } }

  func slot(of id: ConnectionID) -> Slot? { slotsByID[id] }

  func isInUse(_ slot: Slot) -> Bool { isInUse[slot] }

  subscript(slot: Slot) -> Connection {
    @inline(__always) unsafeAddress {
      precondition(isInUse.indices.contains(slot), "no such slot")
      return UnsafePointer(slots + slot)
    }
    @inline(__always) unsafeMutableAddress {
      precondition(isInUse.indices.contains(slot), "no such slot")
      return slots + slot
    }
  }

  mutating func insert(_ connection: Connection) -> Slot {
    let slot = free.popLast() ?? isInUse.count
    slotsByID[connection.id] = slot
    if slot == isInUse.count {
      if slot == capacity { grow() }
      (slots + slot).initialize(to: connection)
      isInUse.append(true)
    } else {
      slots[slot] = connection
      isInUse[slot] = true
    }
    slots[slot].setSlot(slot)
    return slot
  }

  mutating func remove(_ slot: Slot) {
    let (id, opening) = (slots[slot].id, slots[slot].opening)
    slotsByID[id] = nil
    // Frees its memory at once, not with the next connection.
    slots[slot] = Connection(id: id, opening: opening)
    isInUse[slot] = false
    free.append(slot)
  }

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
    init(_ value: Value) { self.value = value }
  }

  private var storage: Storage

  init(_ value: Value) { storage = Storage(value) }

  var value: Value {
    @inline(__always) _read { yield storage.value }
    @inline(__always) _modify {
      if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
      yield &storage.value
    }
  }
}
