import LockstepModel
import LockstepWire

/// The node's connections, each in a slot that does not change during its life, in one block of
/// memory.
struct ConnectionTable: ~Copyable {
  typealias Slot = Hub.Slot

  private var slots = UnsafeMutablePointer<Connection>.allocate(capacity: 0)
  private var capacity = 0
  /// One flag for each slot that has ever been used.
  private var isTaken: [Bool] = []
  private var free: [Slot] = []
  private var places: [ConnectionID: Slot] = [:]

  deinit {
    slots.deinitialize(count: isTaken.count)
    slots.deallocate()
  }

  var count: Int { places.count }

  /// All slots in use, in ascending order.
  var taken: [Slot] { isTaken.indices.filter { isTaken[$0] } }

  func slot(of id: ConnectionID) -> Slot? { places[id] }

  func isTaken(_ slot: Slot) -> Bool { isTaken[slot] }

  subscript(slot: Slot) -> Connection {
    @inline(__always) unsafeAddress {
      precondition(isTaken.indices.contains(slot), "no such slot")
      return UnsafePointer(slots + slot)
    }
    @inline(__always) unsafeMutableAddress {
      precondition(isTaken.indices.contains(slot), "no such slot")
      return slots + slot
    }
  }

  mutating func insert(_ connection: Connection) -> Slot {
    let slot = free.popLast() ?? isTaken.count
    places[connection.id] = slot
    if slot == isTaken.count {
      if slot == capacity { grow() }
      (slots + slot).initialize(to: connection)
      isTaken.append(true)
    } else {
      slots[slot] = connection
      isTaken[slot] = true
    }
    return slot
  }

  mutating func remove(_ slot: Slot) {
    let (id, opening) = (slots[slot].id, slots[slot].opening)
    places[id] = nil
    // Frees its memory at once, not with the next connection.
    slots[slot] = Connection(id: id, opening: opening)
    isTaken[slot] = false
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
