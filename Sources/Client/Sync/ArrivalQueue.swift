import LockstepModel

/// Messages of the relay that are not in the store yet. Bounded: pages that do not fit are dropped,
/// and fetched again.
struct ArrivalQueue {
  private(set) var list: [Arrival] = []
  private var bytes = 0
  /// Number of consecutive fetched pages at the beginning of the list.
  private var fetched = 0

  var isEmpty: Bool { list.isEmpty }
  var last: Arrival? { list.last }

  /// True if the list contains only fetched pages.
  var isFetched: Bool { fetched == list.count }

  /// True if the next page may be fetched before these are applied: small pages are written
  /// together, because writing each alone is expensive.
  var hasRoomAhead: Bool {
    isFetched && list.count < Limits.pagesAhead && bytes < Limits.pagesAheadBytes
  }

  /// Returns false if there was no room. Fetched pages precede those that were pushed meanwhile.
  mutating func add(_ page: ChangePage, isFetched: Bool) -> Bool {
    let size = page.changes.reduce(0) { $0 + ($1.fields?.count ?? 0) }
    guard list.count < Limits.waitingArrivals, bytes + size < Limits.waitingArrivalBytes else {
      return false
    }
    bytes += size
    if isFetched {
      list.insert(.page(page), at: fetched)
      fetched += 1
    } else {
      list.append(.page(page))
    }
    return true
  }

  /// Adds an answer. There is at most one at a time, and it cannot be requested again.
  mutating func add(_ id: BatchID, _ answer: SaveAnswer, isLink: Bool) {
    list.append(.answer(id, answer, isLink: isLink))
  }

  mutating func drain() -> [Arrival] {
    defer { self = ArrivalQueue() }
    return list
  }
}
