import Changes
import Link

/// Lets only so many pages of changes be read for a node at once: each may be large, and lies in
/// memory until it has left. The others wait outside, where one is no more than its request;
/// accounts take turns, and who has had much read waits while others read: its pages come one by
/// one, so that they never take all places.
///
/// Knows neither the store nor the connections.
struct PageGate: Sendable {
  private struct Waiting: Sendable {
    var id: JobID
    var job: StoreJob
    var owner: UInt64
  }

  private struct Page: Sendable {
    var owner: UInt64
    var isPutOff: Bool
  }

  /// One page a turn, whatever its size.
  static let portions = WorkPortions(
    cost: 1, lightCost: 1,
    pace: WorkPace(
      burstMicroseconds: Limits.readBurstMicroseconds,
      microsecondsPerSecond: Limits.readMicrosecondsPerSecond,
      rest: Limits.putOffRest, shortMicroseconds: Limits.putOffShortMicroseconds,
      longRest: Limits.putOffReadLongRest,
      quietMilliseconds: Limits.putOffQuietMilliseconds,
      patienceMilliseconds: Limits.putOffPatienceMilliseconds, owners: Limits.countedAskers))

  private let limit: Int
  private var underWay: [JobID: Page] = [:]
  /// Of those under way, the one that was put off.
  private var late: JobID?
  private var waiting: Backlog<Waiting>

  init(limit: Int = Limits.pagesUnderWay, portions: WorkPortions = PageGate.portions) {
    self.limit = limit
    waiting = Backlog(portions)
  }

  /// When `next` may give back what is put off; nil where nothing waits for that.
  var nextAt: Instant? {
    guard late == nil, underWay.count < limit else { return nil }
    return waiting.nextAt
  }

  /// Whether the page may be read now; if not, `next` gives it back when its turn has come.
  mutating func admits(_ id: JobID, _ job: StoreJob, at now: Instant) -> Bool {
    let weight = WorkWeight(owner: StoreWork.weight(of: job).owner)
    if underWay.count < limit, waiting.isAtRest, !waiting.putsOff(weight, at: now) {
      underWay[id] = Page(owner: weight.owner, isPutOff: false)
      return true
    }
    waiting.add(Waiting(id: id, job: job, owner: weight.owner), weight)
    return false
  }

  /// The outcome of a request is back, or it will not be made after all. `nanoseconds`: how long it
  /// took to be read.
  mutating func ended(_ id: JobID, nanoseconds: Int64, at now: Instant) {
    guard let page = underWay.removeValue(forKey: id) else { return }
    if late == id { late = nil }
    waiting.performed(
      page.owner, wasPutOff: page.isPutOff, nanoseconds: nanoseconds, at: now)
  }

  /// The page whose turn it is, which is under way from here on; nil while there is no room or
  /// nothing may be read now.
  mutating func next(at now: Instant) -> (id: JobID, job: StoreJob)? {
    guard underWay.count < limit,
      let next = waiting.nextPortion(at: now, besidesPutOff: late == nil).first
    else { return nil }
    let isPutOff = waiting.wasLastPutOff
    if isPutOff { late = next.id }
    underWay[next.id] = Page(owner: next.owner, isPutOff: isPutOff)
    return (next.id, next.job)
  }

  /// From now on nobody is put off: nothing new comes.
  mutating func hurry() { waiting.hurry() }
}
