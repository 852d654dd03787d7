import LockstepModel

/// What the relay has said and the store has not been told yet. Bounded: what does not fit is
/// dropped, and fetched again.
struct ArrivalQueue {
  private(set) var list: [Arrival] = []
  private var bytes = 0
  /// Pages at the list's beginning that were asked for, one after the other.
  private var fetched = 0

  var isEmpty: Bool { list.isEmpty }
  var last: Arrival? { list.last }

  /// Nothing stands here but pages that were asked for.
  var isFetched: Bool { fetched == list.count }

  /// The next page may be asked for before these are applied: small ones, which are dear to write
  /// one by one, go together.
  var hasRoomAhead: Bool {
    isFetched && list.count < Limits.pagesAhead && bytes < Limits.pagesAheadBytes
  }

  /// False where there was no room for it. What was fetched precedes what was pushed meanwhile.
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

  /// Answers are few, one at a time, and have nobody to ask again for.
  mutating func add(_ id: BatchID, _ answer: SaveAnswer, isLink: Bool) {
    list.append(.answer(id, answer, isLink: isLink))
  }

  mutating func takeAll() -> [Arrival] {
    defer { self = ArrivalQueue() }
    return list
  }
}
