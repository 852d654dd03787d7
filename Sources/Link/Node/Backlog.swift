/// How a piece of work stands among others that wait for the same worker.
public struct WorkWeight: Hashable, Sendable {
  /// Whose it is. Owners take turns, so that nobody waits for all that another has asked for. Two
  /// that share a number share a turn, which does no harm.
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

  @inlinable
  public init(cost: Int, lightCost: Int) {
    precondition(0 < lightCost && lightCost <= cost, "a portion holds at least a light piece")
    self.cost = cost
    self.lightCost = lightCost
  }
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
/// light piece is bounded by one heavy portion, however long the backlog of others is; and heavy
/// work goes on at half speed at worst. Within a line nothing is overtaken.
///
/// A pure value: it knows neither threads nor what the work is.
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
    @usableFromInline var owners = WaitingLine<UInt64>()
    @usableFromInline var lines: [UInt64: WaitingLine<LineName>] = [:]

    @inlinable init() {}

    @inlinable var next: LineName? { owners.first.flatMap { lines[$0]?.first } }

    @inlinable
    mutating func add(_ line: LineName) {
      if lines[line.owner] == nil { owners.append(line.owner) }
      lines[line.owner, default: WaitingLine()].append(line)
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

  @usableFromInline let portions: WorkPortions
  @usableFromInline var lines: [LineName: WaitingLine<(cost: Int, work: Work)>] = [:]
  @usableFromInline var light = Turns()
  @usableFromInline var heavy = Turns()
  @usableFromInline var wasLight = false
  @usableFromInline var total = 0

  @inlinable
  public init(_ portions: WorkPortions) { self.portions = portions }

  /// How much waits.
  @inlinable public var count: Int { total }
  @inlinable public var isEmpty: Bool { total == 0 }

  @inlinable
  public mutating func add(_ work: Work, _ weight: WorkWeight) {
    let name = LineName(weight)
    let isFirst = lines[name] == nil
    lines[name, default: WaitingLine()].append((weight.cost, work))
    if isFirst { addTurn(of: name, cost: weight.cost) }
    total += 1
  }

  /// What is to be done next; empty where nothing waits.
  @inlinable
  public mutating func nextPortion() -> [Work] {
    var portion: [Work] = []
    var cost = 0
    wasLight = light.next != nil && !(wasLight && heavy.next != nil)
    while let name = wasLight ? light.next : heavy.next, let front = lines[name]?.first,
      portion.isEmpty || cost + front.cost <= portions.cost
    {
      portion.append(front.work)
      cost += front.cost
      takeFirst(of: name)
    }
    return portion
  }

  /// The same, once `newcomers` are added. Where nothing else waits and all of them fit, they are
  /// the portion, in their order, and nothing is weighed against anything.
  @inlinable
  public mutating func nextPortion(
    adding newcomers: [Work], _ weigh: (Work) -> WorkWeight
  ) -> [Work] {
    if isEmpty {
      var cost = 0
      for work in newcomers { cost += weigh(work).cost }
      if cost <= portions.cost { return newcomers }
    }
    for work in newcomers { add(work, weigh(work)) }
    return nextPortion()
  }

  @inlinable
  mutating func takeFirst(of name: LineName) {
    _ = lines[name]?.popFirst()
    if wasLight { light.takeNext() } else { heavy.takeNext() }
    total -= 1
    if let next = lines[name]?.first {
      addTurn(of: name, cost: next.cost)
    } else {
      lines[name] = nil
    }
  }

  @inlinable
  mutating func addTurn(of name: LineName, cost: Int) {
    if cost <= portions.lightCost { light.add(name) } else { heavy.add(name) }
  }
}

extension Backlog: Sendable where Work: Sendable {}
