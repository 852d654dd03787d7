import Changes
import Link

/// Lets only so many pages of changes be read for a node at once: each may be large, and lies in
/// memory until it has left. The others wait outside, where one is no more than its request;
/// accounts take turns.
///
/// Knows neither the store nor the connections.
struct PageGate: Sendable {
  private struct Waiting: Sendable {
    var id: JobID
    var job: StoreJob
  }

  private let limit: Int
  private var underWay: Set<JobID> = []
  // One page a turn, whatever its size.
  private var waiting = Backlog<Waiting>(WorkPortions(cost: 1, lightCost: 1))

  init(limit: Int = Limits.pagesUnderWay) { self.limit = limit }

  /// Whether the page may be read now; if not, `next` gives it back when its turn has come.
  mutating func admits(_ id: JobID, _ job: StoreJob) -> Bool {
    if underWay.count < limit, waiting.isEmpty {
      underWay.insert(id)
      return true
    }
    let owner = StoreWork.weight(of: job).owner
    waiting.add(Waiting(id: id, job: job), WorkWeight(owner: owner))
    return false
  }

  /// The outcome of a request is back, or it will not be made after all.
  mutating func ended(_ id: JobID) { underWay.remove(id) }

  /// The page whose turn it is, which is under way from here on; nil while there is no room or
  /// nothing waits.
  mutating func next() -> (id: JobID, job: StoreJob)? {
    guard underWay.count < limit, let next = waiting.nextPortion().first else { return nil }
    underWay.insert(next.id)
    return (next.id, next.job)
  }
}
