public import LockstepModel

/// How a piece of work stands among others that wait for the same worker.
public struct WorkWeight: Hashable, Sendable {
  /// The owner's number; 0: nobody's. Owners take turns, so that nobody waits for all that another
  /// has asked for. Two that share a number share a turn, which does no harm.
  public var owner: UInt64
  /// Work of one line is done in the order in which it came; the lines of an owner take turns.
  public var line: UInt64
  /// In the units of the lane's `WorkPortions`; at least 1.
  public var cost: Int

  @inlinable
  public init(owner: UInt64 = 0, line: UInt64 = 0, cost: Int = 1) {
    self.owner = owner
    self.line = line
    self.cost = cost
  }
}

/// How much of what waits is done at once.
public struct WorkPortions: Hashable, Sendable {
  /// What a portion costs at most; only a single piece of work may cost more.
  public var cost: Int
  /// Work of up to this cost is light: it never waits for more than one portion of heavy work.
  public var lightCost: Int
  /// The limits of those who take more than others; nil: there are none, owners only take turns.
  public var pace: WorkPace?

  @inlinable
  public init(cost: Int, lightCost: Int, pace: WorkPace? = nil) {
    precondition(0 < lightCost && lightCost <= cost, "a portion holds at least a light piece")
    self.cost = cost
    self.lightCost = lightCost
    self.pace = pace
  }
}

/// The share of a worker's time that an owner may take before what it asks for is put off: all that
/// is put off, whosoever it is, then has a part of the time, while others have work.
public struct WorkPace: Hashable, Sendable {
  /// Work of up to this cost is free: it is neither counted nor put off.
  public var freeCost = 0
  /// The least time that a unit of cost takes, since work takes time elsewhere too: it was read,
  /// and is answered.
  public var nanosecondsPerCost: Int64 = 0
  /// The time that an owner may take at once, in microseconds of the worker's time, and in each
  /// second.
  public var burstMicroseconds: Int
  public var microsecondsPerSecond: Int
  /// After a portion that was put off, the next waits for `rest` times as long as it took. Others
  /// hardly feel a short one, and must seldom meet a long one: it waits besides for `longRest`
  /// times what it took beyond `shortMicroseconds` and what work usually takes;
  public var rest: Int
  public var shortMicroseconds: Int
  public var longRest: Int
  /// unless no other work has been done for so many milliseconds,
  public var quietMilliseconds: Int64
  /// or whoever's turn it is has waited for so many: somebody waits for an answer.
  public var patienceMilliseconds: Int64
  /// Owners whose use is remembered.
  public var owners: Int

  @inlinable
  public init(
    freeCost: Int = 0, nanosecondsPerCost: Int64 = 0, burstMicroseconds: Int,
    microsecondsPerSecond: Int, rest: Int, shortMicroseconds: Int, longRest: Int,
    quietMilliseconds: Int64, patienceMilliseconds: Int64, owners: Int
  ) {
    precondition(burstMicroseconds > 0 && microsecondsPerSecond > 0 && owners > 1)
    precondition(rest >= 0 && longRest >= 0 && shortMicroseconds >= 0)
    self.freeCost = freeCost
    self.nanosecondsPerCost = nanosecondsPerCost
    self.burstMicroseconds = burstMicroseconds
    self.microsecondsPerSecond = microsecondsPerSecond
    self.rest = rest
    self.shortMicroseconds = shortMicroseconds
    self.longRest = longRest
    self.quietMilliseconds = quietMilliseconds
    self.patienceMilliseconds = patienceMilliseconds
    self.owners = owners
  }

  /// The least that work of this cost takes, in nanoseconds.
  @inlinable
  func least(_ cost: Int) -> Int64 {
    let (least, overflows) = Int64(cost).multipliedReportingOverflow(by: nanosecondsPerCost)
    return overflows ? Self.longestRest : least
  }

  /// For how many nanoseconds what is put off waits after a portion that took so many, where small
  /// ones take `usual`.
  @inlinable
  func rest(after nanoseconds: Int64, usual: Int64) -> Int64 {
    let took = Double(nanoseconds)
    let long = max(0, took - Double(shortMicroseconds) * 1_000 - Double(usual))
    return Int64(min(took * Double(rest) + long * Double(longRest), Double(Self.longestRest)))
  }

  @usableFromInline static var longestRest: Int64 { 30_000_000_000 }
}

/// Work that waits for one worker, and what is done next: small things first, everyone in turn, and
/// nothing put off for ever.
///
///     owner 1   line a  ■ ■ ■ ■        portions   · ·     light: a turn for each line
///               line b  · ·                       ■       heavy: as much as fits, at least one
///     owner 2   line c  ·                         ·
///               line d  ■ ■                       ■
///
/// Light work goes before heavy, but only every other portion where both wait. So the wait of a
/// light chunk is bounded by one heavy portion, however long the backlog of others is; and heavy
/// work goes on at half speed at worst. Within a line nothing is overtaken.
///
/// Where the portions have a pace, an owner who has taken more than it may is put off (`WorkPace`):
/// its work, unless it is free, stands in a line behind all others', and what is done of it at once
/// is light, or a single chunk.
///
/// A pure value: it knows neither threads nor what the work is, and is told the time.
public struct Backlog<Work> {
  @usableFromInline
  struct LineName: Hashable, Sendable {
    @usableFromInline let owner: UInt64
    @usableFromInline let line: UInt64
    @inlinable
    init(_ weight: WorkWeight) {
      owner = weight.owner
      line = weight.line
    }
  }

  /// Lines with work of one kind at their front, and whose turn it is.
  @usableFromInline
  struct Turns: Sendable {
    @usableFromInline var owners = FIFOQueue<UInt64>()
    @usableFromInline var lines: [UInt64: FIFOQueue<LineName>] = [:]

    @inlinable init() {}

    @inlinable var next: LineName? { owners.first.flatMap { lines[$0]?.first } }

    @inlinable
    mutating func add(_ line: LineName) {
      if lines[line.owner] == nil { owners.append(line.owner) }
      lines[line.owner, default: FIFOQueue()].append(line)
    }

    /// The line whose turn it is; its owner's next turn comes after everybody else's.
    @inlinable
    mutating func takeNext() {
      guard let owner = owners.popFirst() else { return }
      _ = lines[owner]?.popFirst()
      if lines[owner]?.isEmpty ?? true {
        lines[owner] = nil
      } else {
        owners.append(owner)
      }
    }
  }

  /// The kind of work that stands at the front of a line.
  @usableFromInline
  enum Kind: Sendable {
    case light
    case heavy
    /// Its owner has taken more than it may.
    case putOff
  }

  @usableFromInline let portions: WorkPortions
  @usableFromInline var lines: [LineName: FIFOQueue<(cost: Int, work: Work)>] = [:]
  @usableFromInline var light = Turns()
  @usableFromInline var heavy = Turns()
  @usableFromInline var putOff = Turns()
  @usableFromInline var last = Kind.heavy
  @usableFromInline var wasPutOff = false
  @usableFromInline var total = 0
  @usableFromInline var now = Instant(nanoseconds: 0)
  // Of the pace.
  /// The time that each owner has left, a token a microsecond.
  @usableFromInline var use: TokenBuckets<UInt64>?
  /// The cost of the portion that is being done, owner by owner, free work left out; and in all.
  @usableFromInline var underWay: [(owner: UInt64, cost: Int)] = []
  @usableFromInline var underWayCost = 0
  /// The time that a portion of free work takes, in nanoseconds: a moving average.
  @usableFromInline var usual: Int64 = 0
  /// The moment at which what is put off may be done next, and that at which other work was done
  /// last.
  @usableFromInline var restsUntil = Instant(nanoseconds: 0)
  @usableFromInline var worked = Instant(nanoseconds: .min / 2)
  /// The moment since which each owner that is put off waits for its turn.
  @usableFromInline var waitsSince: [UInt64: Instant] = [:]

  @inlinable
  public init(_ portions: WorkPortions) {
    self.portions = portions
    use = portions.pace.map { pace in
      TokenBuckets(
        pace.microsecondsPerSecond, inMilliseconds: 1_000, burst: pace.burstMicroseconds,
        keys: pace.owners)
    }
  }

  /// How much waits.
  @inlinable public var count: Int { total }
  @inlinable public var isEmpty: Bool { total == 0 }
  /// Whether the last portion was put off before.
  @inlinable public var wasLastPutOff: Bool { last == .putOff }
  /// Whether all that waits is put off.
  @inlinable public var isAtRest: Bool { light.next == nil && heavy.next == nil }
  /// The moment at which what is put off may be done, whatever else there is; nil where nothing is.
  @inlinable public var nextAt: Instant? {
    guard let next = putOff.next, let pace = portions.pace else { return nil }
    let since = waitsSince[next.owner] ?? now
    return min(
      restsUntil, worked.advanced(milliseconds: pace.quietMilliseconds),
      since.advanced(milliseconds: pace.patienceMilliseconds))
  }

  /// Without a pace the time does not matter.
  @inlinable
  public mutating func add(
    _ work: Work, _ weight: WorkWeight, at now: Instant = Instant(nanoseconds: 0)
  ) {
    self.now = now
    let name = LineName(weight)
    let isFirst = lines[name] == nil
    lines[name, default: FIFOQueue()].append((weight.cost, work))
    if isFirst { addTurn(of: name, cost: weight.cost) }
    total += 1
  }

  /// What is to be done next; empty where nothing waits, or only what is put off until `nextAt`.
  /// Without a pace the time does not matter. Where not `besidesPutOff`, what is put off stays so.
  @inlinable
  public mutating func nextPortion(
    at now: Instant = Instant(nanoseconds: 0), besidesPutOff: Bool = true
  ) -> [Work] {
    self.now = now
    underWay.removeAll(keepingCapacity: true)
    underWayCost = 0
    var portion: [Work] = []
    var cost = 0
    guard let kind = nextKind(besidesPutOff) else { return [] }
    last = kind
    if kind != .light { wasPutOff = kind == .putOff }
    let most = kind == .putOff ? portions.lightCost : portions.cost
    while let name = front(of: kind), let front = lines[name]?.first,
      portion.isEmpty || cost + front.cost <= most
    {
      portion.append(front.work)
      cost += front.cost
      note(name.owner, front.cost)
      takeFirst(of: name)
    }
    return portion
  }

  /// The same, once `newcomers` are added. Where nothing else waits and all of them fit, they are
  /// the portion, in their order, and nothing is weighed against anything.
  @inlinable
  public mutating func nextPortion(
    adding newcomers: [Work], at now: Instant = Instant(nanoseconds: 0),
    _ weigh: (Work) -> WorkWeight
  ) -> [Work] {
    self.now = now
    if isEmpty, arePortion(newcomers, weigh) { return newcomers }
    for work in newcomers { add(work, weigh(work), at: now) }
    return nextPortion(at: now)
  }

  /// The last portion was begun and done then: its owners have used that time.
  @inlinable
  public mutating func performed(from start: Instant, to end: Instant) {
    guard let pace = portions.pace else { return }
    let took = max(0, end.nanoseconds - start.nanoseconds)
    let least = pace.least(underWayCost)
    if last == .putOff { return rest(after: max(took, least), pace, from: end) }
    worked = end
    if underWay.isEmpty { usual = usual == 0 ? took : usual + (took - usual) / 16 }
    for (owner, cost) in underWay {
      // What any work takes, such as the disk's time, is nobody's.
      let share =
        Double(max(took - usual, least)) / 1_000 * Double(cost) / Double(max(1, underWayCost))
      spend(owner, share, pace, at: end)
    }
  }

  /// The same for work that is not done in portions but by several at once: a chunk of that owner
  /// has ended, which took so many nanoseconds.
  @inlinable
  public mutating func performed(
    _ owner: UInt64, wasPutOff: Bool, nanoseconds: Int64, at end: Instant
  ) {
    guard let pace = portions.pace else { return }
    if wasPutOff { return rest(after: max(0, nanoseconds), pace, from: end) }
    worked = end
    if owner != 0 { spend(owner, Double(nanoseconds) / 1_000, pace, at: end) }
  }

  /// No more than two full buckets at once, so that none is emptier than another is full: a disk
  /// that hung, or a machine that slept meanwhile, is not the owner's doing.
  @inlinable
  mutating func spend(_ owner: UInt64, _ microseconds: Double, _ pace: WorkPace, at end: Instant) {
    let most = 2 * Double(pace.burstMicroseconds)
    use?.spend(owner, Int64(max(0, min(microseconds, most))), at: end)
  }

  /// Work is done elsewhere for that owner, and what is put off here would be in its way: it counts
  /// as work that was done here, unless the owner is put off itself.
  @inlinable
  public mutating func sawWork(of owner: UInt64, at now: Instant) {
    if let use, use.hasToken(owner, at: now) { worked = now }
  }

  @inlinable
  mutating func rest(after nanoseconds: Int64, _ pace: WorkPace, from end: Instant) {
    let rest = pace.rest(after: nanoseconds, usual: usual)
    restsUntil = max(restsUntil, Instant(nanoseconds: end.nanoseconds + rest))
  }

  /// True if that work would be put off then.
  @inlinable
  public func putsOff(_ weight: WorkWeight, at now: Instant) -> Bool {
    isPutOff(weight.owner, weight.cost, at: now)
  }

  /// From now on nothing is put off: there will be no other work.
  @inlinable
  public mutating func hurry() {
    isHurried = true
  }

  @usableFromInline var isHurried = false

  /// Whether they are done together, with nobody put off.
  @inlinable
  mutating func arePortion(_ newcomers: [Work], _ weigh: (Work) -> WorkWeight) -> Bool {
    underWay.removeAll(keepingCapacity: true)
    underWayCost = 0
    var cost = 0
    for work in newcomers {
      let weight = weigh(work)
      cost += weight.cost
      guard cost <= portions.cost, !isPutOff(weight.owner, weight.cost, at: now) else {
        return false
      }
      note(weight.owner, weight.cost)
    }
    last = cost <= portions.lightCost ? .light : .heavy
    return true
  }

  @inlinable
  func nextKind(_ besidesPutOff: Bool) -> Kind? {
    let isDue =
      besidesPutOff && putOff.next != nil && (isHurried || (nextAt.map { $0 <= now } ?? false))
    let later: Kind? =
      if heavy.next != nil { isDue && !wasPutOff ? .putOff : .heavy } else { isDue ? .putOff : nil }
    if light.next != nil, last != .light || later == nil { return .light }
    return later
  }

  @inlinable
  func front(of kind: Kind) -> LineName? {
    switch kind {
    case .light: light.next
    case .heavy: heavy.next
    case .putOff: putOff.next
    }
  }

  @inlinable
  func isPutOff(_ owner: UInt64, _ cost: Int, at now: Instant) -> Bool {
    guard !isHurried, let pace = portions.pace, cost > pace.freeCost, owner != 0, let use else {
      return false
    }
    return !use.hasToken(owner, at: now)
  }

  @inlinable
  mutating func note(_ owner: UInt64, _ cost: Int) {
    guard let pace = portions.pace else { return }
    underWayCost += cost
    if cost > pace.freeCost, owner != 0 { underWay.append((owner, cost)) }
  }

  @inlinable
  mutating func takeFirst(of name: LineName) {
    _ = lines[name]?.popFirst()
    switch last {
    case .light: light.takeNext()
    case .heavy: heavy.takeNext()
    case .putOff:
      putOff.takeNext()
      waitsSince[name.owner] = putOff.lines[name.owner] == nil ? nil : now
    }
    total -= 1
    if let next = lines[name]?.first {
      addTurn(of: name, cost: next.cost)
    } else {
      lines[name] = nil
    }
  }

  @inlinable
  mutating func addTurn(of name: LineName, cost: Int) {
    if isPutOff(name.owner, cost, at: now) {
      putOff.add(name)
      if waitsSince[name.owner] == nil { waitsSince[name.owner] = now }
    } else if cost <= portions.lightCost {
      light.add(name)
    } else {
      heavy.add(name)
    }
  }
}

extension Backlog: Sendable where Work: Sendable {}
