import LockstepClient
import LockstepModel
import LockstepSimulation
import LockstepStorage

/// Result of a simulation.
package struct Verdict {
  package var seed: UInt64
  package var profile: String
  /// Violations that were found; empty if all promises held.
  package var faults: [String]
  package var digest: UInt64
  package var tally: Tally
  package var steps: Int
  package var actions: Int
  package var devices: Int
  /// Edits by users that devices kept.
  package var edits: Int
  /// Conflicts between two versions of a record, those of them for which the model has a required
  /// result, and those that ended with that result.
  package var conflicts: Int
  package var judged: Int
  package var asDemanded: Int
  /// Duration of the simulation.
  package var virtualMilliseconds: Int64
  /// Virtual milliseconds from the last fault to convergence.
  package var settledAfterMilliseconds: Int64
  /// Minimums of the profile that this seed did not reach.
  package var shortfalls: [String]
  /// Seed, plan and the end of the traffic log; empty if the log was not kept.
  package var story: String
}

extension [SleeperMachine] {
  fileprivate var firstDifference: String? {
    for sleeper in self {
      if let difference = sleeper.difference { return difference }
    }
    return nil
  }
}

extension World {
  /// Seconds after the last fault by which all devices are in step and all edits are with the
  /// relay: two missed keep-alives, the longest backoff, a poll, and a margin.
  private static let convergenceSeconds: Int64 = 200
  /// Seconds from convergence to idle: the last orders of users are answered, and a device whose
  /// long-poll was cut has tried a longer one each minute until it uses the longest again.
  private static let cooldownSeconds: Int64 = 20 + 5 * 60
  /// Notes that are edited at once on each device while edits are lacking.
  private static let editsAtOnce = 3

  package func run() -> Verdict {
    advance(to: end)
    addCuts()
    addEdits()
    let settledAfter = converge()
    if profile.rotatesKeys { writeWithNewKeys() }
    if environment.faults.isEmpty {
      advance(to: environment.timeline.now + Span.seconds(World.cooldownSeconds))
      bounds.beginIdling(devices)
      advance(to: environment.timeline.now + Span.seconds(profile.idleSeconds))
      bounds.endIdling(devices)
      converge()
      convergeStatus()
      convergeSleepers()
      audit()
      checkChunks()
      checkSealedFiles()
      checkKeys()
      checkBudgets()
      bounds.checkQueues(
        sendQueueBytes: profile.sendQueueBytes,
        storeRequestsWaiting: cells.map(\.waitingMax).max() ?? 0, nodes: 2)
    }
    hashFinalState()
    let judgement = judgement
    return Verdict(
      seed: seed, profile: profile.name, faults: environment.faults, digest: environment.hash.value,
      tally: environment.tally,
      steps: environment.timeline.steps, actions: environment.actionCounts.reduce(0, +),
      devices: devices.count, edits: histories.reduce(0) { $0 + $1.count },
      conflicts: judgement.conflicts, judged: judgement.judged, asDemanded: judgement.asDemanded,
      virtualMilliseconds: environment.timeline.now / 1_000_000,
      settledAfterMilliseconds: settledAfter, shortfalls: shortfalls,
      story: environment.logsTraffic ? story : "")
  }

  private var shortfalls: [String] {
    let edits = environment.tally[.edit]
    let strikes = environment.tally.faultCount
    return [
      edits < profile.leastEdits ? "\(edits) edits, and not \(profile.leastEdits)" : nil,
      strikes < profile.leastStrikes ? "\(strikes) faults, and not \(profile.leastStrikes)" : nil,
    ].compactMap { $0 }
  }

  /// Cuts connections until the profile's minimum of faults is reached. Does nothing for an excerpt
  /// of the plan.
  private func addCuts() {
    var number = 0
    while environment.tally.faultCount < profile.leastStrikes, number < 4 * profile.leastStrikes,
      isWhole, environment.faults.isEmpty
    {
      applyFault(.cut(device: number % devices.count), plan.faults.count + number)
      number += 1
      advance(to: environment.timeline.now + Span.seconds(2))
    }
  }

  /// Adds edits after the last fault until the profile's minimum is reached: many of the earlier
  /// ones may have been refused. Does nothing for an excerpt of the plan.
  private func addEdits() {
    var number = 0
    while environment.tally[.edit] < profile.leastEdits, number < 2 * profile.leastEdits,
      isWhole, environment.faults.isEmpty
    {
      for device in devices.indices {
        for _ in 0..<World.editsAtOnce {
          let press = People.Press.note(number % profile.notes, text: Int64(1_000_000 + number))
          self.press(People.Act(at: 0, device: device, press: press))
          number += 1
        }
      }
      advance(to: environment.timeline.now + Span.milliseconds(250))
    }
  }

  func advance(to time: Int64) {
    while environment.timeline.now < time, environment.faults.isEmpty {
      // Goes straight to the next event if nothing happens for days.
      let next = environment.timeline.nextTime ?? time
      let tick = min(time, max(environment.timeline.now + Span.seconds(1), next))
      while environment.faults.isEmpty, environment.timeline.step(until: tick) {}
      for device in devices { status.checkSilence(device, ledger) }
      bounds.checkBusyness()
    }
  }

  /// Runs until all replicas are equal. Reports a violation if that takes too long or ends wrong.
  @discardableResult
  func converge() -> Int64 {
    let start = environment.timeline.now
    let checker = ConvergenceChecker(ledger: ledger)
    while environment.faults.isEmpty, let difference = difference(by: checker) {
      if environment.timeline.now - start > Span.seconds(World.convergenceSeconds) {
        environment.fault(
          "not in step after \(World.convergenceSeconds) quiet seconds: \(difference())")
      }
      syncBlockedDevices(since: start)
      pairUnreadingDevices(since: start)
      giveUpLostFiles(since: start)
      advance(to: environment.timeline.now + Span.milliseconds(250))
    }
    for (account, histories) in zip(accounts, histories) where environment.faults.isEmpty {
      if let difference = checker.difference(of: account, histories) {
        environment.fault(difference)
      }
    }
    return (environment.timeline.now - start) / 1_000_000
  }

  /// Returns a description of the first replica that is behind; the text is only built if needed.
  private func difference(by checker: ConvergenceChecker) -> (() -> String)? {
    for device in devices where !device.isSignedOut {
      if let difference = checker.difference(of: device) {
        return { difference() + Self.unreadable(device.status) }
      }
    }
    for listener in listeners {
      if let difference = listener.difference { return { difference } }
    }
    return nil
  }

  private static func unreadable(_ status: AgentStatus?) -> String {
    guard let status, !status.unreadable.isEmpty else { return "" }
    let faults = status.unreadable.map { "\($0.key.zone)/\($0.key.name): \($0.fault)" }
    return "; unreadable: " + faults.joined(separator: ", ")
  }

  private var judgement: Demands.Judgement {
    let checker = ConvergenceChecker(ledger: ledger)
    return zip(accounts, histories).reduce(into: Demands.Judgement()) { sum, account in
      sum.add(checker.demands(of: account.0, account.1).judgement())
    }
  }

  /// Syncs devices that learned late that the account's plan lacks a zone or takes no chunks. Such
  /// a device waits for its user, who checks every 5 s.
  private func syncBlockedDevices(since start: Int64) {
    guard (environment.timeline.now - start) % Span.seconds(5) == 0 else { return }
    for device in devices where !device.isSignedOut {
      let isBarred =
        device.status.map { !$0.blockedZones.isEmpty || $0.chunksRefused != nil } ?? false
      if device.hasFailed || isBarred { device.press(.syncNow) }
    }
  }

  /// Runs until all devices report that they are in sync.
  private func convergeStatus() {
    let start = environment.timeline.now
    let limit = start + Span.seconds(World.convergenceSeconds)
    while environment.faults.isEmpty {
      let late = devices.first {
        $0.isSignedOut ? !$0.hasFailed : $0.status?.state != .inSync
      }
      guard let late else { return }
      if environment.timeline.now > limit {
        environment.fault(
          "\(late.name) says \(late.status.map { "\($0.state)" } ?? "nothing") for ever")
      }
      syncBlockedDevices(since: start)
      pairUnreadingDevices(since: start)
      giveUpLostFiles(since: start)
      advance(to: environment.timeline.now + Span.milliseconds(500))
    }
  }

  /// Runs until all sleeping devices have what others saved: they are woken within the longest
  /// pause between two wakes.
  private func convergeSleepers() {
    let limit =
      environment.timeline.now
      + Span.milliseconds(Limits.wakeRepeats.upperBound + Limits.wakeSweepMilliseconds)
    while environment.faults.isEmpty, let difference = sleepers.firstDifference {
      if environment.timeline.now > limit { environment.fault("left asleep: \(difference)") }
      advance(to: environment.timeline.now + Span.seconds(1))
    }
  }

  private func checkBudgets() {
    let strikes = environment.tally.faultCount
    for device in devices {
      environment.tally.note(.asked, device.requests)
      let saves = ledger.saveCount(device.credentials.account)
      bounds.checkBudget(of: device, saves: saves, strikes: strikes)
    }
  }

  private func checkChunks() {
    for account in accounts where environment.faults.isEmpty {
      let checker = ChunkChecker(ledger: ledger, relay: cell(of: account))
      if let difference = checker.difference(of: account) { environment.fault(difference) }
      environment.tally.note(.chunkNamed, checker.count(of: account))
    }
  }

  private func checkSealedFiles() {
    for device in devices where environment.faults.isEmpty && !device.isSignedOut {
      let account = device.credentials.account
      if let difference = device.sealedFilesDifference({ ledger.current(account, $0) }) {
        environment.fault(difference)
      }
    }
  }

  private func hashFinalState() {
    environment.updateHash { hash in
      for account in accounts {
        for record in ledger.newest(account) {
          hash.add(record.tag)
          hash.add(record.modifiedAt)
          hash.add(record.fields ?? [])
        }
      }
      hash.add(environment.timeline.steps)
      for fault in environment.faults { hash.add(fault) }
    }
  }

  private var story: String {
    let acts = people.enumerated().map { "  account \($0): \($1.acts.count) acts" }
    return """
      seed \(seed) in a world of \(profile.name), \(span) ms, \(devices.count) devices
      plan:
      \(plan.description)
      people:
      \(acts.joined(separator: "\n"))
      \(environment.trafficLog.table())
      """
  }
}
