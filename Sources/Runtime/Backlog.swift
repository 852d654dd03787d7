import LockstepModel

/// Owner, line and cost of one work item in a `Backlog`.
@usableFromInline
package struct WorkWeight: Hashable, Sendable {
  /// The owner's number; 0: no owner. Owners take turns, so that none waits for all the work of
  /// another. Two that share a number share a turn, which is harmless.
  @usableFromInline package var owner: UInt64
  /// Items of one line are done in order of arrival; the lines of an owner take turns.
  @usableFromInline package var line: UInt64
  /// In the units of the lane's `WorkPortions`; at least 1.
  @usableFromInline package var cost: Int

  @inlinable
  package init(owner: UInt64 = 0, line: UInt64 = 0, cost: Int = 1) {
    self.owner = owner
    self.line = line
    self.cost = cost
  }
}

/// Limits of the work that is done at once.
@usableFromInline
package struct WorkPortions: Hashable, Sendable {
  /// Maximum cost of a portion; only a single item may cost more.
  @usableFromInline package var cost: Int
  /// Maximum cost of light work. Light work never waits for more than one portion of heavy work.
  @usableFromInline package var lightCost: Int
  /// Limits of owners who use more than others; nil: no limits, owners only take turns.
  @usableFromInline package var pace: WorkPace?

  @inlinable
  package init(cost: Int, lightCost: Int, pace: WorkPace? = nil) {
    precondition(0 < lightCost && lightCost <= cost, "a portion must hold at least one light item")
    self.cost = cost
    self.lightCost = lightCost
    self.pace = pace
  }
}

/// Share of a worker's time that an owner may use before its work is deferred. While other work is
/// done, all deferred work together, of all owners, gets a part of the time.
@usableFromInline
package struct WorkPace: Hashable, Sendable {
  /// Maximum cost of free work, which is neither counted nor deferred.
  @usableFromInline package var freeCost = 0
  /// Minimum time charged per unit of cost, in nanoseconds: the work also takes time in other
  /// threads, to be read and answered.
  @usableFromInline package var nanosecondsPerCost: Int64 = 0
  /// Time that an owner may use at once, and in each second, in microseconds of the worker's time.
  @usableFromInline package var burstMicroseconds: Int
  @usableFromInline package var microsecondsPerSecond: Int
  /// Pause after a deferred portion: `pauseFactor` times the time that it took. Short portions
  /// hardly affect other work, but long ones must be rare, so the pause is longer by
  /// `longPauseFactor` times the time beyond `shortMicroseconds` and the usual time of work.
  @usableFromInline package var pauseFactor: Int
  @usableFromInline package var shortMicroseconds: Int
  @usableFromInline package var longPauseFactor: Int
  /// Milliseconds without other work after which the pause ends early.
  @usableFromInline package var quietMilliseconds: Int64
  /// Milliseconds for which the owner in turn may have waited before the pause ends early: a client
  /// waits for an answer.
  @usableFromInline package var patienceMilliseconds: Int64
  /// Number of owners whose use is remembered.
  @usableFromInline package var owners: Int

  @inlinable
  package init(
    freeCost: Int = 0, nanosecondsPerCost: Int64 = 0, burstMicroseconds: Int,
    microsecondsPerSecond: Int, pauseFactor: Int, shortMicroseconds: Int, longPauseFactor: Int,
    quietMilliseconds: Int64, patienceMilliseconds: Int64, owners: Int
  ) {
    precondition(burstMicroseconds > 0 && microsecondsPerSecond > 0 && owners > 1)
    precondition(pauseFactor >= 0 && longPauseFactor >= 0 && shortMicroseconds >= 0)
    self.freeCost = freeCost
    self.nanosecondsPerCost = nanosecondsPerCost
    self.burstMicroseconds = burstMicroseconds
    self.microsecondsPerSecond = microsecondsPerSecond
    self.pauseFactor = pauseFactor
    self.shortMicroseconds = shortMicroseconds
    self.longPauseFactor = longPauseFactor
    self.quietMilliseconds = quietMilliseconds
    self.patienceMilliseconds = patienceMilliseconds
    self.owners = owners
  }

  /// Returns the minimum time of work of this cost, in nanoseconds.
  @inlinable
  func minimumCharge(_ cost: Int) -> Int64 {
    let (least, overflows) = Int64(cost).multipliedReportingOverflow(by: nanosecondsPerCost)
    return overflows ? Self.pauseNanosecondsMax : least
  }

  /// Returns the pause after a deferred portion that took `nanoseconds`, in nanoseconds; `typical`
  /// is the time of small portions.
  @inlinable
  func pause(after nanoseconds: Int64, typical: Int64) -> Int64 {
    let took = Double(nanoseconds)
    let long = max(0, took - Double(shortMicroseconds) * 1_000 - Double(typical))
    return Int64(
      min(
        took * Double(pauseFactor) + long * Double(longPauseFactor),
        Double(Self.pauseNanosecondsMax)))
  }

  @usableFromInline static var pauseNanosecondsMax: Int64 { 30_000_000_000 }
}

/// Queue of work for one worker that chooses the next portion: light work first, owners in turn, no
/// starvation.
///
///     owner 1   line a  ■ ■ ■ ■        portions   · ·     light: a turn for each line
///               line b  · ·                       ■       heavy: as much as fits, at least one
///     owner 2   line c  ·                         ·
///               line d  ■ ■                       ■
///
/// Light work goes before heavy work, but only in every other portion if both wait. So a light item
/// waits for one heavy portion at most, however long the backlog of others is; and heavy work runs
/// at half speed at worst. Items of one line are never reordered.
///
/// If the portions have a pace, the work of an owner who has used more than its share is deferred
/// (`WorkPace`): unless it is free, it is queued behind all other work, and a portion of it is
/// light or a single item.
///
/// A pure value: it is independent of threads and of the kind of work, and the caller passes the
/// time.
@usableFromInline
package struct Backlog<Work> {
  @usableFromInline
  struct LineID: Hashable, Sendable {
    @usableFromInline let owner: UInt64
    @usableFromInline let line: UInt64
    @inlinable
    init(_ weight: WorkWeight) {
      owner = weight.owner
      line = weight.line
    }
  }

  /// Lines whose first item is of one kind, in the order of their turns.
  @usableFromInline
  struct Turns: Sendable {
    @usableFromInline var owners = FIFOQueue<UInt64>()
    @usableFromInline var lines: [UInt64: FIFOQueue<LineID>] = [:]

    @inlinable init() {}

    @inlinable var next: LineID? { owners.first.flatMap { lines[$0]?.first } }

    @inlinable
    mutating func add(_ line: LineID) {
      if lines[line.owner] == nil { owners.append(line.owner) }
      lines[line.owner, default: FIFOQueue()].append(line)
    }

    /// Removes the line whose turn it is; its owner's next turn comes after those of all other
    /// owners.
    @inlinable
    mutating func removeNext() {
      guard let owner = owners.popFirst() else { return }
      _ = lines[owner]?.popFirst()
      if lines[owner]?.isEmpty ?? true {
        lines[owner] = nil
      } else {
        owners.append(owner)
      }
    }
  }

  /// Kind of the first item of a line.
  @usableFromInline
  enum Kind: Sendable {
    case light
    case heavy
    /// Deferred: its owner has used more than its share.
    case deferred
  }

  @usableFromInline let portions: WorkPortions
  @usableFromInline var lines: [LineID: FIFOQueue<(cost: Int, work: Work)>] = [:]
  @usableFromInline var light = Turns()
  @usableFromInline var heavy = Turns()
  @usableFromInline var deferred = Turns()
  @usableFromInline var last = Kind.heavy
  @usableFromInline var wasDeferred = false
  @usableFromInline var total = 0
  @usableFromInline var now = Instant(nanoseconds: 0)
  // State of the pace.
  /// Remaining time of each owner, one token per microsecond.
  @usableFromInline var usage: TokenBuckets<UInt64>?
  /// Cost of the portion in progress for each owner, without free work; and its total.
  @usableFromInline var portionOwners: [(owner: UInt64, cost: Int)] = []
  @usableFromInline var portionCost = 0
  /// Time of a portion of free work, in nanoseconds: a moving average.
  @usableFromInline var typicalNanoseconds: Int64 = 0
  /// Time at which deferred work may be done next, and the time at which other work was last done.
  @usableFromInline var pausedUntil = Instant(nanoseconds: 0)
  @usableFromInline var lastWorkAt = Instant(nanoseconds: .min / 2)
  /// Time since which each deferred owner waits for its turn.
  @usableFromInline var waitingSince: [UInt64: Instant] = [:]

  @inlinable
  package init(_ portions: WorkPortions) {
    self.portions = portions
    usage = portions.pace.map { pace in
      TokenBuckets(
        pace.microsecondsPerSecond, inMilliseconds: 1_000, burst: pace.burstMicroseconds,
        keys: pace.owners)
    }
  }

  /// Number of items that wait.
  @inlinable package var count: Int { total }
  @inlinable package var isEmpty: Bool { total == 0 }
  /// True if the last portion was deferred work.
  @inlinable package var wasLastDeferred: Bool { last == .deferred }
  /// True if all waiting work is deferred.
  @inlinable package var isAtRest: Bool { light.next == nil && heavy.next == nil }
  /// Time from which deferred work may be done whatever other work there is; nil if there is none.
  @inlinable package var nextAt: Instant? {
    guard let next = deferred.next, let pace = portions.pace else { return nil }
    let since = waitingSince[next.owner] ?? now
    return min(
      pausedUntil, lastWorkAt.advanced(milliseconds: pace.quietMilliseconds),
      since.advanced(milliseconds: pace.patienceMilliseconds))
  }

  /// Adds an item. Without a pace the time is not used.
  @inlinable
  package mutating func add(
    _ work: Work, _ weight: WorkWeight, at now: Instant = Instant(nanoseconds: 0)
  ) {
    self.now = now
    let name = LineID(weight)
    let isFirst = lines[name] == nil
    lines[name, default: FIFOQueue()].append((weight.cost, work))
    if isFirst { addTurn(of: name, cost: weight.cost) }
    total += 1
  }

  /// Returns the next portion; empty if nothing waits, or only work that is deferred until
  /// `nextAt`. Without a pace the time is not used. If not `includingDeferred`, no deferred work is
  /// returned.
  @inlinable
  package mutating func nextPortion(
    at now: Instant = Instant(nanoseconds: 0), includingDeferred: Bool = true
  ) -> [Work] {
    self.now = now
    portionOwners.removeAll(keepingCapacity: true)
    portionCost = 0
    var portion: [Work] = []
    var cost = 0
    guard let kind = nextKind(includingDeferred) else { return [] }
    last = kind
    if kind != .light { wasDeferred = kind == .deferred }
    let most = kind == .deferred ? portions.lightCost : portions.cost
    while let name = firstLine(of: kind), let front = lines[name]?.first,
      portion.isEmpty || cost + front.cost <= most
    {
      portion.append(front.work)
      cost += front.cost
      recordOwner(name.owner, front.cost)
      removeFirst(of: name)
    }
    return portion
  }

  /// Adds `newItems` and returns the next portion. If nothing else waits and all of them fit, they
  /// are the portion, in their order, and are not queued.
  @inlinable
  package mutating func nextPortion(
    adding newItems: [Work], at now: Instant = Instant(nanoseconds: 0),
    _ weigh: (Work) -> WorkWeight
  ) -> [Work] {
    self.now = now
    if isEmpty, fitsOnePortion(newItems, weigh) { return newItems }
    for work in newItems { add(work, weigh(work), at: now) }
    return nextPortion(at: now)
  }

  /// Charges the owners of the last portion for the time from `start` to `end`.
  @inlinable
  package mutating func chargePortion(from start: Instant, to end: Instant) {
    guard let pace = portions.pace else { return }
    let took = max(0, end.nanoseconds - start.nanoseconds)
    let least = pace.minimumCharge(portionCost)
    if last == .deferred { return pauseDeferred(after: max(took, least), pace, from: end) }
    lastWorkAt = end
    if portionOwners.isEmpty {
      typicalNanoseconds =
        typicalNanoseconds == 0 ? took : typicalNanoseconds + (took - typicalNanoseconds) / 16
    }
    for (owner, cost) in portionOwners {
      // The time that any work takes, such as the disk's, is charged to no owner.
      let share =
        Double(max(took - typicalNanoseconds, least)) / 1_000 * Double(cost)
        / Double(max(1, portionCost))
      spend(owner, share, pace, at: end)
    }
  }

  /// Charges an owner for work that runs concurrently instead of in portions: one of its items has
  /// ended after `nanoseconds`.
  @inlinable
  package mutating func chargeWork(
    _ owner: UInt64, wasDeferred: Bool, nanoseconds: Int64, at end: Instant
  ) {
    guard let pace = portions.pace else { return }
    if wasDeferred { return pauseDeferred(after: max(0, nanoseconds), pace, from: end) }
    lastWorkAt = end
    if owner != 0 { spend(owner, Double(nanoseconds) / 1_000, pace, at: end) }
  }

  /// Charges no more than two full buckets at once, so that the debt is bounded: a disk that hung,
  /// or a machine that slept meanwhile, is not the owner's fault.
  @inlinable
  mutating func spend(_ owner: UInt64, _ microseconds: Double, _ pace: WorkPace, at end: Instant) {
    let most = 2 * Double(pace.burstMicroseconds)
    usage?.spendTokens(owner, Int64(max(0, min(microseconds, most))), at: end)
  }

  /// Records work that is done elsewhere for that owner and that deferred work here would delay. It
  /// counts as work that was done here, unless the owner itself is deferred.
  @inlinable
  package mutating func recordOtherWork(of owner: UInt64, at now: Instant) {
    if let usage, usage.hasToken(owner, at: now) { lastWorkAt = now }
  }

  @inlinable
  mutating func pauseDeferred(after nanoseconds: Int64, _ pace: WorkPace, from end: Instant) {
    let pause = pace.pause(after: nanoseconds, typical: typicalNanoseconds)
    pausedUntil = max(pausedUntil, Instant(nanoseconds: end.nanoseconds + pause))
  }

  /// True if that work would be deferred at that time.
  @inlinable
  package func isDeferred(_ weight: WorkWeight, at now: Instant) -> Bool {
    isDeferred(weight.owner, weight.cost, at: now)
  }

  /// Stops deferring: there will be no other work.
  @inlinable
  package mutating func stopDeferring() {
    hasStoppedDeferring = true
  }

  @usableFromInline var hasStoppedDeferring = false

  /// True if they fit into one portion and none of them is deferred.
  @inlinable
  mutating func fitsOnePortion(_ newItems: [Work], _ weigh: (Work) -> WorkWeight) -> Bool {
    portionOwners.removeAll(keepingCapacity: true)
    portionCost = 0
    var cost = 0
    for work in newItems {
      let weight = weigh(work)
      cost += weight.cost
      guard cost <= portions.cost, !isDeferred(weight.owner, weight.cost, at: now) else {
        return false
      }
      recordOwner(weight.owner, weight.cost)
    }
    last = cost <= portions.lightCost ? .light : .heavy
    return true
  }

  @inlinable
  func nextKind(_ includingDeferred: Bool) -> Kind? {
    let isDue =
      includingDeferred && deferred.next != nil
      && (hasStoppedDeferring || (nextAt.map { $0 <= now } ?? false))
    let later: Kind? =
      if heavy.next != nil { isDue && !wasDeferred ? .deferred : .heavy } else {
        isDue ? .deferred : nil
      }
    if light.next != nil, last != .light || later == nil { return .light }
    return later
  }

  @inlinable
  func firstLine(of kind: Kind) -> LineID? {
    switch kind {
    case .light: light.next
    case .heavy: heavy.next
    case .deferred: deferred.next
    }
  }

  @inlinable
  func isDeferred(_ owner: UInt64, _ cost: Int, at now: Instant) -> Bool {
    guard !hasStoppedDeferring, let pace = portions.pace, cost > pace.freeCost, owner != 0,
      let usage
    else {
      return false
    }
    return !usage.hasToken(owner, at: now)
  }

  @inlinable
  mutating func recordOwner(_ owner: UInt64, _ cost: Int) {
    guard let pace = portions.pace else { return }
    portionCost += cost
    if cost > pace.freeCost, owner != 0 { portionOwners.append((owner, cost)) }
  }

  @inlinable
  mutating func removeFirst(of name: LineID) {
    _ = lines[name]?.popFirst()
    switch last {
    case .light: light.removeNext()
    case .heavy: heavy.removeNext()
    case .deferred:
      deferred.removeNext()
      waitingSince[name.owner] = deferred.lines[name.owner] == nil ? nil : now
    }
    total -= 1
    if let next = lines[name]?.first {
      addTurn(of: name, cost: next.cost)
    } else {
      lines[name] = nil
    }
  }

  @inlinable
  mutating func addTurn(of name: LineID, cost: Int) {
    if isDeferred(name.owner, cost, at: now) {
      deferred.add(name)
      if waitingSince[name.owner] == nil { waitingSince[name.owner] = now }
    } else if cost <= portions.lightCost {
      light.add(name)
    } else {
      heavy.add(name)
    }
  }
}

extension Backlog: Sendable where Work: Sendable {}

/// FIFO queue, amortised O(1) at both ends. Its memory is at most twice that of the largest number
/// of elements that waited at once.
@usableFromInline
package struct FIFOQueue<Element> {
  /// Removed elements are nil.
  @usableFromInline var places: [Element?] = []
  @usableFromInline var head = 0

  /// Number of removed slots from which they are released.
  @inlinable static var slack: Int { 32 }

  @inlinable package init() {}

  @inlinable package var isEmpty: Bool { head == places.count }
  @inlinable package var count: Int { places.count - head }
  @inlinable package var first: Element? { isEmpty ? nil : places[head] }

  @inlinable package mutating func append(_ element: Element) { places.append(element) }

  @inlinable package mutating func popFirst() -> Element? {
    guard head < places.count else { return nil }
    let element = places[head].take()
    head += 1
    if head == places.count {
      places.removeAll(keepingCapacity: true)
      head = 0
    } else if head > Self.slack, head * 2 > places.count {
      places.removeSubrange(..<head)
      head = 0
    }
    return element
  }
}

extension FIFOQueue: Sendable where Element: Sendable {}
