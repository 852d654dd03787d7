import LockstepModel
import LockstepWire

/// Lets only so many pages of changes be read for a node at once: each may be large, and lies in
/// memory until it has left. The others wait outside, where one is no more than its request;
/// accounts take turns, and who has had much read waits while others read or save: its pages come
/// one by one, so that they never take all places.
///
/// Knows neither the store nor the connections.
struct ReadLimiter: Sendable {
  private struct Waiting: Sendable {
    var id: JobID
    var job: StoreJob
  }

  private let limit: Int
  /// The pages that are read, and whose they are.
  private var underWay: [JobID: UInt64] = [:]
  /// Of those under way, the one that was put off.
  private var late: JobID?
  private var waiting = Backlog<Waiting>(StoreWork.pagePortions)

  init(limit: Int = Limits.pagesUnderWay) { self.limit = limit }

  /// The moment at which `next` may give back what is put off; nil where nothing waits for that.
  var nextAt: Instant? {
    guard late == nil, underWay.count < limit else { return nil }
    return waiting.nextAt
  }

  /// Whether the page may be read now; if not, `next` gives it back when its turn has come.
  mutating func admits(_ id: JobID, _ job: StoreJob, at now: Instant) -> Bool {
    let weight = WorkWeight(owner: Self.owner(of: job))
    if underWay.count < limit, waiting.isAtRest, !waiting.putsOff(weight, at: now) {
      underWay[id] = weight.owner
      return true
    }
    waiting.add(Waiting(id: id, job: job), weight, at: now)
    return false
  }

  private static func owner(of job: StoreJob) -> UInt64 { StoreWork.weight(of: job).owner }

  /// The outcome of a request is back, or it will not be made after all. `nanoseconds`: how long it
  /// took to be read.
  mutating func ended(_ id: JobID, nanoseconds: Int64, at now: Instant) {
    guard let owner = underWay.removeValue(forKey: id) else { return }
    waiting.performed(owner, wasPutOff: late == id, nanoseconds: nanoseconds, at: now)
    if late == id { late = nil }
  }

  /// The page whose turn it is, which is under way from here on; nil while there is no room or
  /// nothing may be read now.
  mutating func next(at now: Instant) -> (id: JobID, job: StoreJob)? {
    guard underWay.count < limit,
      let next = waiting.nextPortion(at: now, besidesPutOff: late == nil).first
    else { return nil }
    if waiting.wasLastPutOff { late = next.id }
    underWay[next.id] = Self.owner(of: next.job)
    return (next.id, next.job)
  }

  /// A commit was asked for. What a person does would be slowed down by pages that are put off.
  mutating func sawCommit(_ job: StoreJob, at now: Instant) {
    let weight = StoreWork.weight(of: job)
    guard weight.owner != 0, weight.cost <= Limits.freeCost else { return }
    waiting.sawWork(of: weight.owner, at: now)
  }

  /// From now on nobody is put off: nothing new comes.
  mutating func hurry() { waiting.hurry() }
}
