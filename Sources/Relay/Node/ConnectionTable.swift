import Changes
import Link

/// The node's connections, each in a slot that stays the same as long as it lives.
struct ConnectionTable: Sendable {
  typealias Slot = Hub.Slot

  private var slots: [Connection] = []
  private var isTaken: [Bool] = []
  private var free: [Slot] = []
  private var places: [ConnectionID: Slot] = [:]

  var count: Int { places.count }

  /// All slots that are taken, in their order.
  var taken: [Slot] { slots.indices.filter { isTaken[$0] } }

  func slot(of id: ConnectionID) -> Slot? { places[id] }

  func isTaken(_ slot: Slot) -> Bool { isTaken[slot] }

  subscript(slot: Slot) -> Connection {
    @inline(__always) _read { yield slots[slot] }
    @inline(__always) _modify { yield &slots[slot] }
  }

  mutating func insert(_ connection: Connection) -> Slot {
    let slot = free.popLast() ?? slots.count
    if slot == slots.count {
      slots.append(connection)
      isTaken.append(true)
    } else {
      slots[slot] = connection
      isTaken[slot] = true
    }
    places[connection.id] = slot
    return slot
  }

  mutating func remove(_ slot: Slot) {
    places[slots[slot].id] = nil
    // What lay in it is given back at once, not with the next connection.
    slots[slot] = Connection(id: slots[slot].id, opening: slots[slot].opening)
    isTaken[slot] = false
    free.append(slot)
  }
}
