import Apps
public import Changes
public import Devices
public import Link

/// Simulated people on simulated devices that talk to a real relay: they press the timer's buttons,
/// lose the network, press on, and come back. At the end all devices of an account must show the
/// same, and that must be what the rules demand of what was pressed.
public struct PeopleNode: Node, ~Copyable {
  public typealias Job = FleetJob
  public typealias Outcome = AgentOutcome
  public typealias Order = Never
  public typealias Report = PeopleReport
  public typealias News = Never

  private enum Phase {
    case acting(until: Instant)
    case settling(until: Instant)
    case done
  }

  /// A device in a person's hand.
  private struct Hand {
    var nextPress: Instant
    var offlineUntil: Instant?
    var shown: Record?
    var status = SyncStatus()
  }

  private let plan: PeoplePlan
  private var random: SeededRandom
  private var fleet: Fleet
  private var hands: [Hand]
  private var histories: [TimerHistory]
  private var phase: Phase
  private var nextLook: Instant
  private var orders: UInt64 = 0
  private var result = PeopleResult()
  private var actions = ActionQueue<NodeAction<FleetJob, PeopleReport, Never>>()

  /// The agents are those of `plan`, account by account; their homes have joined already.
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
    histories = Array(repeating: TimerHistory(), count: plan.accounts)
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
    return fleet.nextDeadline.map { min($0, nextLook) } ?? nextLook
  }

  private mutating func settle(at moment: Moment) {
    if nextLook <= moment.instant { look(at: moment) }
    fleet.settle(into: &actions)
    for (agent, report) in fleet.takeReports() { take(report, from: agent) }
  }

  /// Ten times a second: who presses something, who goes offline or comes back, and is it over?
  private mutating func look(at moment: Moment) {
    nextLook = moment.instant.advanced(milliseconds: 100)
    switch phase {
    case .done: return
    case .acting(let until):
      for index in hands.indices { play(index, at: moment) }
      guard until <= moment.instant else { return }
      for index in hands.indices { fleet.order(.goOnline, to: index, at: moment) }
      phase = .settling(
        until: moment.instant.advanced(milliseconds: PeoplePlan.settleMilliseconds))
    case .settling(let until):
      judge()
      guard result.isGood || until <= moment.instant else { return }
      phase = .done
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
    // What is pressed before relay time is known is stamped anew later, and no screen tells by how
    // much: nobody presses anything on a device before its first contact.
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
    press(event(), on: index, at: moment)
  }

  private mutating func event() -> TimerEvent {
    // Short phases run out while people are still pressing, long ones do not.
    let length: Int64 = Int.random(in: 0..<3, using: &random) == 0 ? 6_000 : 1_500_000
    return switch Int.random(in: 0..<10, using: &random) {
    case 0...3: .start(length: length)
    case 4: .pause
    case 5: .resume
    case 6...7: .stop
    case 8: .skip
    default: .snooze(length: 6_000)
    }
  }

  private mutating func press(_ event: TimerEvent, on index: Int, at moment: Moment) {
    orders += 1
    let order = OrderID(rawValue: orders)
    fleet.order(.edit(order, .timer(event, settings: nil)), to: index, at: moment)
  }

  private mutating func take(_ report: AgentReport, from index: Int) {
    switch report {
    case .edited(_, .success(let record)):
      result.edits += 1
      histories[index / plan.devices].made(from: hands[index].shown?.fields, to: record.fields)
      hands[index].shown = record
    case .edited(_, .failure(.refused)): result.refused += 1
    case .edited(_, .failure(let failure)): result.faults.append("device \(index): \(failure)")
    case .storeFailed(let error): result.faults.append("device \(index): \(error)")
    case .ready(let status), .status(let status), .statusRead(_, let status),
      .synced(_, let status):
      hands[index].status = status
    case .changed(let records):
      for record in records where record.key == TimerApp.stateKey { show(record, on: index) }
    case .told, .read, .stopped, .pieceAdded, .pieceRead, .pieceProgress: break
    }
  }

  /// What came from elsewhere brings nothing new to the history but corrected stamps; what a
  /// countdown that ended made of the screen does, like a press.
  private mutating func show(_ record: Record, on index: Int) {
    let before = hands[index].shown
    hands[index].shown = record
    histories[index / plan.devices].corrected(from: before?.fields, to: record.fields)
    guard let after = record.fields.flatMap(TimerFacts.init(fields:)) else { return }
    var state = TimerApp.state(of: before)
    while let next = state.afterZero() {
      state = next
      guard TimerFacts(fields: state.fields.serialized())?.edits == after.edits else { continue }
      histories[index / plan.devices].made(from: before?.fields, to: record.fields)
      return
    }
  }

  /// Is everything as it must be in the end?
  private mutating func judge() {
    result.equal = 0
    result.asDemanded = 0
    for account in 0..<plan.accounts {
      let devices = hands[account * plan.devices..<(account + 1) * plan.devices]
      guard devices.allSatisfy({ $0.status.state == .inSync }),
        let first = devices.first?.shown?.fields,
        devices.allSatisfy({ $0.shown?.fields == first })
      else { continue }
      result.equal += 1
      let demanded = TimerFacts(
        edits: histories[account].demanded,
        completedPomodoros: histories[account].completedPomodoros)
      if TimerFacts(fields: first) == demanded || histories[account].isOrderDependent {
        result.asDemanded += 1
      }
    }
  }
}

extension PeopleNode {
  /// What each account that did not end well shows, device by device, and what it should.
  private mutating func explain() {
    for account in 0..<plan.accounts {
      let demanded = TimerFacts(
        edits: histories[account].demanded,
        completedPomodoros: histories[account].completedPomodoros)
      for index in account * plan.devices..<(account + 1) * plan.devices {
        let shown = hands[index].shown?.fields.flatMap(TimerFacts.init(fields:))
        guard shown != demanded || hands[index].status.state != .inSync else { continue }
        result.faults.append(
          "account \(account), device \(index % plan.devices) (\(hands[index].status.state)) shows "
            + "\(shown?.description ?? "nothing") and should show \(demanded)")
      }
    }
  }
}

public enum PeopleReport: Sendable {
  case finished(PeopleResult)
}
