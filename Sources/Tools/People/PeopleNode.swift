import LockstepApps
public import LockstepClient
public import LockstepModel
public import LockstepWire

/// Simulated people on simulated devices with a real relay: they use their apps, lose the network,
/// continue offline, and reconnect. At the end all devices of an account must show the same, and
/// the content must follow from the rules.
public struct PeopleNode: Node, ~Copyable {
  public typealias Job = FleetJob
  public typealias Outcome = AgentOutcome
  public typealias Order = Never
  public typealias Report = PeopleReport
  public typealias News = Never

  private enum Phase {
    case acting(until: Instant)
    /// Number of remaining checks. Checks are counted instead of time, because a stall of this
    /// process is not a fault of a device.
    case settling(looksLeft: Int)
    case done
  }

  /// State of one device and its simulated user.
  private struct Hand {
    var nextPress: Instant
    var offlineUntil: Instant?
    var shown = ShownRecords()
    var status = SyncStatus()
  }

  /// Latest result of the check of one account.
  private struct Standing {
    var isStale = true
    /// True if all its devices show the same.
    var isEqual = false
    /// True if the devices also show the state that the rules require.
    var isAsDemanded = false
  }

  private let plan: PeoplePlan
  private var random: SeededRandom
  private var fleet: Fleet
  private var hands: [Hand]
  /// For each account, the models of the plan's apps.
  private var plays: [[any AppPlay]]
  private var standings: [Standing]
  /// Accounts that changed since their last check, the longest waiting first.
  private var stale: [Int]
  /// Pending orders, with the account and model of each.
  private var presses = PendingPresses<(account: Int, play: Int)>()
  private var phase: Phase
  private var nextLook: Instant
  private var orders: UInt64 = 0
  private var result = PeopleResult()
  private var actions = ActionQueue<NodeAction<FleetJob, PeopleReport, Never>>()

  /// Agents are numbered by account, as in `plan`. Their homes must have joined already.
  public init(plan: PeoplePlan, random: SeededRandom, at moment: Moment) {
    precondition(plan.validate().isEmpty, "the plan was not validated")
    self.plan = plan
    self.random = SeededRandom(seed: plan.seed)
    var agentRandom = random
    let count = plan.accounts * plan.devices
    var configuration = AgentConfiguration()
    if let transport = plan.transport { configuration.transports = [transport] }
    fleet = Fleet(
      configurations: Array(repeating: configuration, count: count), random: &agentRandom,
      at: moment)
    hands = Array(repeating: Hand(nextPress: moment.instant), count: count)
    plays = (0..<plan.accounts).map { _ in plan.apps.map { AppPlays.play(of: $0) } }
    standings = Array(repeating: Standing(), count: plan.accounts)
    stale = Array(0..<plan.accounts)
    phase = .acting(until: moment.instant.advanced(milliseconds: Int64(plan.seconds) * 1_000))
    nextLook = moment.instant
    result.accounts = plan.accounts
  }

  public mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    fleet.received(id, bytes, at: moment)
    settle(at: moment)
  }

  public mutating func handle(
    _ event: NodeEvent<AgentOutcome, Never, Never>, at moment: Moment
  ) {
    fleet.handle(event, at: moment)
    settle(at: moment)
  }

  public mutating func nextAction() -> NodeAction<FleetJob, PeopleReport, Never>? {
    actions.popFirst()
  }

  public var nextDeadline: Instant? {
    if case .done = phase { return fleet.nextDeadline }
    return fleet.firstDeadline(with: nextLook)
  }

  private mutating func settle(at moment: Moment) {
    if nextLook <= moment.instant { look(at: moment) }
    fleet.settle(into: &actions)
    for (agent, report) in fleet.takeReports() { take(report, from: agent) }
  }

  /// Runs ten times a second: presses buttons, goes offline or online, and checks for the end.
  private mutating func look(at moment: Moment) {
    nextLook = moment.instant.advanced(milliseconds: 100)
    switch phase {
    case .done: return
    case .acting(let until):
      for index in hands.indices {
        decide(index, at: moment)
        play(index, at: moment)
      }
      guard until <= moment.instant else { return }
      for index in hands.indices { fleet.order(.goOnline, to: index, at: moment) }
      phase = .settling(looksLeft: PeoplePlan.settleLooks)
    case .settling(let looksLeft):
      for index in hands.indices { decide(index, at: moment) }
      judge(atMost: PeoplePlan.judgedALook)
      guard looksLeft <= 0 || (stale.isEmpty && result.isGood) else {
        phase = .settling(looksLeft: looksLeft - 1)
        return
      }
      phase = .done
      judge(atMost: stale.count)
      if !result.isGood { explain() }
      result.conflicts = hands.reduce(0) { $0 + $1.status.traffic.conflicts }
      actions.append(.report(.finished(result)))
    }
  }

  private mutating func play(_ index: Int, at moment: Moment) {
    if let until = hands[index].offlineUntil, until <= moment.instant {
      hands[index].offlineUntil = nil
      fleet.order(.goOnline, to: index, at: moment)
    }
    // An edit made before relay time is known gets a new timestamp later, and the screen does not
    // show the difference. So no device is used before its first contact.
    guard hands[index].nextPress <= moment.instant, hands[index].status.clockOffset != nil else {
      return
    }
    hands[index].nextPress = moment.instant.advanced(
      milliseconds: .random(in: 50...PeoplePlan.pauseMilliseconds, using: &random))
    if hands[index].offlineUntil == nil, Int.random(in: 0..<5, using: &random) == 0 {
      hands[index].offlineUntil = moment.instant.advanced(
        milliseconds: .random(in: 200...PeoplePlan.offlineMilliseconds, using: &random))
      result.timesOffline += 1
      fleet.order(.goOffline, to: index, at: moment)
    }
    press(on: index, at: moment)
  }

  private mutating func press(on index: Int, at moment: Moment) {
    let account = index / plan.devices
    let play = plays[account].count == 1 ? 0 : .random(in: 0..<plays[account].count, using: &random)
    orders += 1
    let order = OrderID(rawValue: orders)
    guard
      let wanted = plays[account][play].press(order, seeing: hands[index].shown, &random)
    else { return }
    presses.add(order, (account, play))
    fleet.order(wanted, to: index, at: moment)
  }

  /// Resolves conflicts without an automatic rule, after a random delay, as a person would.
  private mutating func decide(_ index: Int, at moment: Moment) {
    if let question = hands[index].status.questions.first {
      orders += 1
      fleet.order(
        .answerRestore(OrderID(rawValue: orders), app: question.app), to: index, at: moment)
    }
    guard let key = hands[index].status.asking.first,
      Int.random(in: 0..<5, using: &random) == 0
    else { return }
    orders += 1
    let keepsLocal = Bool.random(using: &random)
    fleet.order(
      .decide(OrderID(rawValue: orders), key, keepLocal: keepsLocal), to: index, at: moment)
  }

  private mutating func take(_ report: AgentReport, from index: Int) {
    switch report {
    case .edited(let order, .success(let record)):
      changed(index)
      let before = hands[index].shown.show(record)
      done(order) { $0.edited(from: before, to: record) }
    case .told(let order, .success): done(order) { _ in }
    case .edited(let order, .failure(let failure)), .told(let order, .failure(let failure)):
      dropped(order, failure, on: index)
    case .storeFailed(let error): result.faults.append("device \(index): \(error)")
    case .ready(let status), .status(let status), .statusRead(_, let status),
      .synced(_, let status):
      if (status.state == .inSync) != (hands[index].status.state == .inSync) { changed(index) }
      hands[index].status = status
    case .changed(let records):
      for record in records { show(record, on: index) }
    case .switched, .read, .stopped, .chunkAdded, .chunkRead, .chunkProgress, .milestone: break
    }
  }

  /// Records an applied order. A decision is not an order of a model: its result is shown, but no
  /// model tracks it.
  private mutating func done(_ order: OrderID, _ also: (inout any AppPlay) -> Void) {
    guard let (account, play) = presses.take(order) else { return }
    changed(account * plan.devices)
    result.edits += 1
    plays[account][play].done(order)
    also(&plays[account][play])
  }

  private mutating func dropped(_ order: OrderID, _ failure: EditFailure, on index: Int) {
    if let (account, play) = presses.take(order) { plays[account][play].dropped(order) }
    switch failure {
    // Another device has resolved the conflict already.
    case .refused, .nothingToDecide: result.refused += 1
    // This device started without records; see `decide`.
    case .restoreFirst: result.refused += 1
    case .tooLarge, .outboxFull, .notJoined, .storage, .stopping:
      result.faults.append("device \(index): \(failure)")
    }
  }

  private mutating func show(_ record: Record, on index: Int) {
    changed(index)
    let before = hands[index].shown.show(record)
    for play in plays[index / plan.devices].indices {
      plays[index / plan.devices][play].changed(from: before, to: record)
    }
  }

  /// Marks the device's account for a new check.
  private mutating func changed(_ index: Int) {
    let account = index / plan.devices
    guard !standings[account].isStale else { return }
    standings[account].isStale = true
    stale.append(account)
  }

  /// Checks the final state of accounts that changed. The number per call is limited, because the
  /// devices share this loop and must not wait for it.
  private mutating func judge(atMost count: Int) {
    let accounts = stale.prefix(count)
    stale.removeFirst(accounts.count)
    for account in accounts { standings[account] = standing(of: account) }
    result.judgements += accounts.count
    result.equal = standings.count(where: \.isEqual)
    result.asDemanded = standings.count(where: \.isAsDemanded)
  }

  private func standing(of account: Int) -> Standing {
    var standing = Standing(isStale: false)
    let devices = hands[account * plan.devices..<(account + 1) * plan.devices]
    guard devices.allSatisfy({ $0.status.state == .inSync }), let first = devices.first,
      devices.allSatisfy({ $0.shown.looksLike(first.shown) })
    else { return standing }
    standing.isEqual = true
    standing.isAsDemanded = plays[account].allSatisfy { $0.faults(in: first.shown).isEmpty }
    return standing
  }

  /// Reports for each failed account the records of each device and the expected records.
  private mutating func explain() {
    for account in 0..<plan.accounts {
      let first = hands[account * plan.devices].shown
      for index in account * plan.devices..<(account + 1) * plan.devices {
        let (shown, state) = (hands[index].shown, hands[index].status.state)
        var faults = plays[account].flatMap { $0.faults(in: shown) }
        if !shown.looksLike(first) { faults.append("differs from device 0") }
        guard !faults.isEmpty || state != .inSync else { continue }
        let said = faults.isEmpty ? "is not in step" : faults.joined(separator: "; ")
        result.faults.append(
          "account \(account), device \(index % plan.devices) (\(state)) \(said)")
      }
    }
  }
}

public enum PeopleReport: Sendable {
  case finished(PeopleResult)
}
