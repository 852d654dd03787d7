import LockstepModel
import LockstepRuntime

/// Limits the pages of changes that are read for a node at once: each may be large, and stays in
/// memory until it has been sent. Other pages wait here, where each costs only its request.
/// Accounts take turns. An account that has read much is deferred while others read or save: its
/// pages are read one by one, so that they never use all slots.
///
/// Uses neither the store nor the connections.
struct ReadLimiter: Sendable {
  private struct Waiting: Sendable {
    var id: JobID
    var job: StoreReadJob
  }

  private let limit: Int
  /// The pages being read, with their owners.
  private var underWay: [JobID: UInt64] = [:]
  /// The deferred page among those under way.
  private var deferred: JobID?
  private var waiting = Backlog<Waiting>(StoreWork.pagePortions)

  init(limit: Int = Limits.pagesUnderWay) { self.limit = limit }

  /// Time at which `next` may return a deferred page; nil if none waits for that.
  var nextAt: Instant? {
    guard deferred == nil, underWay.count < limit else { return nil }
    return waiting.nextAt
  }

  /// Returns true if the page may be read now; otherwise `next` returns it in its turn.
  mutating func admit(_ id: JobID, _ job: StoreReadJob, at now: Instant) -> Bool {
    let weight = WorkWeight(owner: Self.owner(of: job))
    if underWay.count < limit, waiting.isAtRest, !waiting.isDeferred(weight, at: now) {
      underWay[id] = weight.owner
      return true
    }
    waiting.add(Waiting(id: id, job: job), weight, at: now)
    return false
  }

  private static func owner(of job: StoreReadJob) -> UInt64 { StoreWork.weight(of: job).owner }

  /// Ends a page: its outcome is back, or it will not be read. `nanoseconds`: duration of the read.
  mutating func finishRead(_ id: JobID, nanoseconds: Int64, at now: Instant) {
    guard !underWay.isEmpty, let owner = underWay.removeValue(forKey: id) else { return }
    waiting.chargeWork(owner, wasDeferred: deferred == id, nanoseconds: nanoseconds, at: now)
    if deferred == id { deferred = nil }
  }

  /// Returns the next page to read, which is then under way; nil if there is no room, or if nothing
  /// may be read now.
  mutating func next(at now: Instant) -> (id: JobID, job: StoreReadJob)? {
    guard underWay.count < limit,
      let next = waiting.nextPortion(at: now, includingDeferred: deferred == nil).first
    else { return nil }
    if waiting.wasLastDeferred { deferred = next.id }
    underWay[next.id] = Self.owner(of: next.job)
    return (next.id, next.job)
  }

  /// Records a commit. A small one is a person's action, which deferred pages would slow down.
  mutating func recordCommit(_ job: StoreCommitJob, at now: Instant) {
    let weight = StoreWork.weight(of: job)
    guard weight.owner != 0, weight.cost <= Limits.freeCost else { return }
    waiting.recordOtherWork(of: weight.owner, at: now)
  }

  /// Ends all deferral, because nothing new comes.
  mutating func endDeferral() { waiting.stopDeferring() }
}
