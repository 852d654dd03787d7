import LockstepApps
import LockstepClient
import LockstepModel
import LockstepRuntime
import LockstepWire

/// Simulated people on simulated devices with a real relay: they use their apps, lose the network,
/// continue offline, and reconnect. At the end all devices of an account must show the same, and
/// the content must follow from the rules.
package struct PeopleNode: FleetNode, ~Copyable {
  package typealias Order = Never
  package typealias Report = PeopleReport
  package typealias News = Never

  private enum Phase {
    case acting(until: Instant)
    /// Number of remaining checks. Checks are counted instead of time, because a stall of this
    /// process is not a fault of a device.
    case settling(checksLeft: Int)
    case done
  }

  /// State of one device and its simulated user.
  private struct DeviceState {
    var nextOrderAt: Instant
    var offlineUntil: Instant?
    var shown = ShownRecords()
    var status = AgentStatus()
  }

  /// Latest result of the check of one account.
  private struct AccountCheck {
    var isStale = true
    /// True if all its devices show the same.
    var isEqual = false
    /// True if the devices also show the state that the rules require.
    var isAsDemanded = false
  }

  private let plan: PeoplePlan
  private var random: SeededRandom
  private var fleet: Fleet
  private var deviceStates: [DeviceState]
  /// For each account, the models of the plan's apps.
  private var plays: [[any AppPlay]]
  private var accountChecks: [AccountCheck]
  /// Accounts that changed since their last check, the longest waiting first.
  private var stale: [Int]
  /// Pending orders, with the account and model of each.
  private var pendingOrders = PendingOrders<(account: Int, play: Int)>()
  private var phase: Phase
  private var nextTick: Instant
  private var orders: UInt64 = 0
  private var result = PeopleResult()
  private var actions = ActionQueue<NodeAction<Fleet.Job, PeopleReport, Never>>()

  /// Agents are numbered by account, as in `plan`. Their homes must have joined already.
  package init(plan: PeoplePlan, random: SeededRandom, at moment: Moment) {
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
    deviceStates = Array(repeating: DeviceState(nextOrderAt: moment.instant), count: count)
    plays = (0..<plan.accounts).map { _ in plan.apps.map { AppPlays.play(of: $0) } }
    accountChecks = Array(repeating: AccountCheck(), count: plan.accounts)
    stale = Array(0..<plan.accounts)
    phase = .acting(until: moment.instant.advanced(milliseconds: Int64(plan.seconds) * 1_000))
    nextTick = moment.instant
    result.accounts = plan.accounts
  }

  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    fleet.received(id, bytes, at: moment)
    flushActions(at: moment)
  }

  package mutating func handle(
    _ event: NodeEvent<AgentOutcome, Never, Never>, at moment: Moment
  ) {
    fleet.handle(event, at: moment)
    flushActions(at: moment)
  }

  package mutating func nextAction() -> NodeAction<Fleet.Job, PeopleReport, Never>? {
    actions.popFirst()
  }

  package var nextDeadline: Instant? {
    if case .done = phase { return fleet.nextDeadline }
    return fleet.firstDeadline(with: nextTick)
  }

  private mutating func flushActions(at moment: Moment) {
    if nextTick <= moment.instant { runTick(at: moment) }
    fleet.flushActions(into: &actions)
    for (agent, report) in fleet.drainReports() { handleReport(report, from: agent) }
  }

  /// Runs ten times a second: submits orders, goes offline or online, and checks for the end.
  private mutating func runTick(at moment: Moment) {
    nextTick = moment.instant.advanced(milliseconds: 100)
    switch phase {
    case .done: return
    case .acting(let until):
      for index in deviceStates.indices {
        resolveConflict(index, at: moment)
        simulateUser(index, at: moment)
      }
      guard until <= moment.instant else { return }
      for index in deviceStates.indices { fleet.submit(.goOnline, to: index, at: moment) }
      phase = .settling(checksLeft: PeoplePlan.checksMax)
    case .settling(let checksLeft):
      for index in deviceStates.indices { resolveConflict(index, at: moment) }
      checkAccounts(atMost: PeoplePlan.accountsPerCheck)
      guard checksLeft <= 0 || (stale.isEmpty && result.isGood) else {
        phase = .settling(checksLeft: checksLeft - 1)
        return
      }
      phase = .done
      checkAccounts(atMost: stale.count)
      if !result.isGood { recordFaults() }
      result.conflicts = deviceStates.reduce(0) { $0 + $1.status.traffic.conflicts }
      actions.append(.report(.finished(result)))
    }
  }

  private mutating func simulateUser(_ index: Int, at moment: Moment) {
    if let until = deviceStates[index].offlineUntil, until <= moment.instant {
      deviceStates[index].offlineUntil = nil
      fleet.submit(.goOnline, to: index, at: moment)
    }
    // An edit made before relay time is known gets a new timestamp later, and the screen does not
    // show the difference. So no device is used before its first contact.
    guard deviceStates[index].nextOrderAt <= moment.instant,
      deviceStates[index].status.clockOffset != nil
    else { return }
    deviceStates[index].nextOrderAt = moment.instant.advanced(
      milliseconds: .random(in: 50...PeoplePlan.pauseMilliseconds, using: &random))
    if deviceStates[index].offlineUntil == nil, Int.random(in: 0..<5, using: &random) == 0 {
      deviceStates[index].offlineUntil = moment.instant.advanced(
        milliseconds: .random(in: 200...PeoplePlan.offlineMilliseconds, using: &random))
      result.timesOffline += 1
      fleet.submit(.goOffline, to: index, at: moment)
    }
    submitOrder(on: index, at: moment)
  }

  private mutating func submitOrder(on index: Int, at moment: Moment) {
    let account = index / plan.devices
    let play = plays[account].count == 1 ? 0 : .random(in: 0..<plays[account].count, using: &random)
    orders += 1
    let order = OrderID(rawValue: orders)
    guard
      let wanted = plays[account][play].nextOrder(order, seeing: deviceStates[index].shown, &random)
    else { return }
    pendingOrders.add(order, (account, play))
    fleet.submit(wanted, to: index, at: moment)
  }

  /// Resolves conflicts without an automatic rule, after a random delay, as a person would.
  private mutating func resolveConflict(_ index: Int, at moment: Moment) {
    if let question = deviceStates[index].status.questions.first {
      orders += 1
      fleet.submit(
        .answerRestore(OrderID(rawValue: orders), app: question.app), to: index, at: moment)
    }
    guard let key = deviceStates[index].status.asking.first,
      Int.random(in: 0..<5, using: &random) == 0
    else { return }
    orders += 1
    let keepsLocal = Bool.random(using: &random)
    fleet.submit(
      .decide(OrderID(rawValue: orders), key, keepLocal: keepsLocal), to: index, at: moment)
  }

  private mutating func handleReport(_ report: AgentReport, from index: Int) {
    switch report {
    case .edited(let order, .success(let record)):
      markStale(index)
      let before = deviceStates[index].shown.show(record)
      recordApplied(order) { $0.recordEdit(from: before, to: record) }
    case .answered(let order, .success): recordApplied(order) { _ in }
    case .edited(let order, .failure(let failure)), .answered(let order, .failure(let failure)):
      recordRefused(order, failure, on: index)
    case .storeFailed(let error): result.faults.append("device \(index): \(error)")
    case .ready(let status), .status(let status), .statusRead(_, let status),
      .synced(_, let status):
      if (status.state == .inSync) != (deviceStates[index].status.state == .inSync) {
        markStale(index)
      }
      deviceStates[index].status = status
    case .changed(let records):
      for record in records { show(record, on: index) }
    case .transacted, .joined, .moved, .switched, .read, .stateRead, .stopped, .chunkAdded,
      .chunkRead,
      .chunkProgress, .milestone:
      break
    }
  }

  /// Records an applied order. A decision is not an order of a model: its result is shown, but no
  /// model tracks it.
  private mutating func recordApplied(_ order: OrderID, _ also: (inout any AppPlay) -> Void) {
    guard let (account, play) = pendingOrders.remove(order) else { return }
    markStale(account * plan.devices)
    result.edits += 1
    plays[account][play].recordApplied(order)
    also(&plays[account][play])
  }

  private mutating func recordRefused(_ order: OrderID, _ failure: EditFailure, on index: Int) {
    if let (account, play) = pendingOrders.remove(order) {
      plays[account][play].recordRefused(order)
    }
    switch failure {
    // Another device has resolved the conflict already.
    case .refused, .nothingToDecide: result.refused += 1
    // This device started without records; see `resolveConflict`.
    case .restoreFirst: result.refused += 1
    case .tooLarge, .outboxFull, .notJoined, .outOfScope, .storage, .stopping:
      result.faults.append("device \(index): \(failure)")
    }
  }

  private mutating func show(_ record: Record, on index: Int) {
    markStale(index)
    let before = deviceStates[index].shown.show(record)
    for play in plays[index / plan.devices].indices {
      plays[index / plan.devices][play].recordChange(from: before, to: record)
    }
  }

  /// Marks the device's account for a new check.
  private mutating func markStale(_ index: Int) {
    let account = index / plan.devices
    guard !accountChecks[account].isStale else { return }
    accountChecks[account].isStale = true
    stale.append(account)
  }

  /// Checks the final state of accounts that changed. The number per call is limited, because the
  /// devices share this loop and must not wait for it.
  private mutating func checkAccounts(atMost count: Int) {
    let accounts = stale.prefix(count)
    stale.removeFirst(accounts.count)
    for account in accounts { accountChecks[account] = checkAccount(account) }
    result.checks += accounts.count
    result.equal = accountChecks.count(where: \.isEqual)
    result.asDemanded = accountChecks.count(where: \.isAsDemanded)
  }

  private func checkAccount(_ account: Int) -> AccountCheck {
    var check = AccountCheck(isStale: false)
    let devices = deviceStates[account * plan.devices..<(account + 1) * plan.devices]
    guard devices.allSatisfy({ $0.status.state == .inSync }), let first = devices.first,
      devices.allSatisfy({ $0.shown.hasSameContents(as: first.shown) })
    else { return check }
    check.isEqual = true
    check.isAsDemanded = plays[account].allSatisfy { $0.faults(in: first.shown).isEmpty }
    return check
  }

  /// Reports for each failed account the records of each device and the expected records.
  private mutating func recordFaults() {
    for account in 0..<plan.accounts {
      let first = deviceStates[account * plan.devices].shown
      for index in account * plan.devices..<(account + 1) * plan.devices {
        let (shown, state) = (deviceStates[index].shown, deviceStates[index].status.state)
        var faults = plays[account].flatMap { $0.faults(in: shown) }
        if !shown.hasSameContents(as: first) { faults.append("differs from device 0") }
        guard !faults.isEmpty || state != .inSync else { continue }
        let said = faults.isEmpty ? "is not in sync" : faults.joined(separator: "; ")
        result.faults.append(
          "account \(account), device \(index % plan.devices) (\(state)) \(said)")
      }
    }
  }
}

package enum PeopleReport: Sendable {
  case finished(PeopleResult)
}

/// Parameters of a simulation of people on real connections.
package struct PeoplePlan: Sendable, Hashable {
  package var accounts = 5
  /// Apps that people use.
  package var apps = [KnownApp.timer]
  /// Number of devices per account, 2 to 16.
  package var devices = 3
  /// Length of the active phase in seconds. After it all devices go online and synchronise.
  package var seconds = 10
  /// Seed for people's actions and their times; the network's behaviour does not depend on it.
  package var seed: UInt64 = 1
  /// Transport of changes; nil: the best one that works.
  package var transport: Transport?

  package init() {}

  /// Maximum number of checks, with all devices online, until the state is final: one every tenth
  /// of a second, for half a minute.
  static let checksMax = 300
  /// Number of accounts per check; each takes some milliseconds.
  static let accountsPerCheck = 20
  /// Maximum time between two orders on a device.
  package static let pauseMilliseconds: Int64 = 1_500
  /// Maximum time for which a device stays offline.
  static let offlineMilliseconds: Int64 = 4_000

  /// Returns all faults; empty if the plan is valid.
  package func validate() -> [String] {
    var faults: [String] = []
    if accounts < 1 || accounts > 1_000 { faults.append("--accounts takes 1 to 1000") }
    if devices < 2 || devices > 16 { faults.append("--devices takes 2 to 16") }
    if seconds < 1 || seconds > 3_600 { faults.append("--seconds takes 1 to 3600") }
    if apps.isEmpty { faults.append("name an app") }
    return faults
  }
}

/// Result of a simulation of people.
package struct PeopleResult: Sendable, Hashable {
  package var edits = 0
  /// Orders refused in the current state, such as pause while nothing ran.
  package var refused = 0
  package var conflicts = 0
  package var timesOffline = 0
  package var accounts = 0
  /// Number of accounts in which all devices show the same.
  package var equal = 0
  /// Number of accounts that show the state that the rules require after the edits.
  package var asDemanded = 0
  /// Faults, one sentence each.
  package var faults: [String] = []
  /// Number of checks of an account against its rules.
  var checks = 0

  package var isGood: Bool { faults.isEmpty && equal == accounts && asDemanded == accounts }
}

/// Live records that a device shows, by key.
struct ShownRecords {
  private(set) var all: [Record] = []

  subscript(key: RecordKey) -> Record? {
    let place = all.lowerBound { $0.key < key }
    return place < all.count && all[place].key == key ? all[place] : nil
  }

  /// Returns the records of a type, sorted by name.
  func records(of type: Name) -> [Record] { all.filter { $0.type == type } }

  /// Shows a record and returns the version shown before.
  @discardableResult
  mutating func show(_ record: Record) -> Record? {
    let place = all.lowerBound { $0.key < record.key }
    let before = place < all.count && all[place].key == record.key ? all[place] : nil
    if before != nil { all.remove(at: place) }
    if !record.isDeleted { all.insert(record, at: place) }
    return before
  }

  /// True if the contents are equal. The author and time of a save are not visible to a person.
  func hasSameContents(as other: ShownRecords) -> Bool {
    all.count == other.all.count
      && zip(all, other.all).allSatisfy { $0.key == $1.key && $0.fields == $1.fields }
  }
}

/// Set of written texts, all different. A text may disappear only if a person who saw it replaced
/// or removed it; every other text must exist at the end.
struct WrittenTexts {
  private var pending = PendingOrders<(old: String?, new: String?)>()
  private var expected: Set<String> = []

  /// Records that a person saw `old` (nil: nothing) and replaces it with `new` (nil: nothing).
  mutating func recordOrder(_ order: OrderID, old: String?, new: String?) {
    pending.add(order, (old, new))
  }

  mutating func recordApplied(_ order: OrderID) {
    guard let (old, new) = pending.remove(order) else { return }
    if let old { expected.remove(old) }
    if let new { expected.insert(new) }
  }

  mutating func recordRefused(_ order: OrderID) { _ = pending.remove(order) }

  /// Returns the texts that are not in `found`.
  func missing(in found: [String]) -> [String] { expected.subtracting(found).sorted() }
}
