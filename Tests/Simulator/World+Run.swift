import Changes
import Simulation
import Storage

/// What came of a world.
package struct Verdict {
  package var seed: UInt64
  package var profile: String
  /// Empty where all promises held.
  package var faults: [String]
  package var digest: UInt64
  package var tally: Tally
  package var steps: Int
  package var actions: Int
  /// What persons did that devices kept.
  package var edits: Int
  /// How often two versions of a record met, of how many of them the model knows how they must end,
  /// and how many ended so.
  package var conflicts: Int
  package var judged: Int
  package var asDemanded: Int
  /// Virtual milliseconds from the last fault to convergence.
  package var settledAfterMilliseconds: Int64
  /// Seed, plan and the last of what was carried.
  package var story: String
}

extension World {
  /// Everybody is in step this long after the last fault: two missed keep-alives, the longest
  /// backoff, a poll, and some air.
  private static let settleSeconds: Int64 = 200
  private static let idleSeconds: Int64 = 60

  package func run() -> Verdict {
    runOn(to: Span.milliseconds(span))
    let settledAfter = settle()
    if outside.faults.isEmpty {
      bounds.beginIdling()
      runOn(to: outside.timeline.now + Span.seconds(World.idleSeconds))
      bounds.endIdling()
      _ = settle()
      settleStatus()
      ledger.audit(relay.store)
      checkPieces()
      bounds.checkQueues(
        sendQueueBytes: profile.sendQueueBytes, storeRequestsWaiting: relay.waitingMax, nodes: 2)
    }
    hashWhatIsLeft()
    let judgement = judgement
    return Verdict(
      seed: seed, profile: profile.name, faults: outside.faults, digest: outside.hash.value,
      tally: outside.tally,
      steps: outside.timeline.steps, actions: outside.actionCounts.reduce(0, +),
      edits: histories.reduce(0) { $0 + $1.count },
      conflicts: judgement.conflicts, judged: judgement.judged, asDemanded: judgement.asDemanded,
      settledAfterMilliseconds: settledAfter, story: story)
  }

  private func runOn(to time: Int64) {
    while outside.timeline.now < time, outside.faults.isEmpty {
      let tick = min(time, outside.timeline.now + Span.seconds(1))
      while outside.faults.isEmpty, outside.timeline.step(until: tick) {}
      for device in devices { status.checkSilence(device) }
      bounds.checkBusyness()
    }
  }

  /// Runs until all replicas are equal; a fault where that takes too long or ends wrong.
  private func settle() -> Int64 {
    let start = outside.timeline.now
    let checker = ConvergenceChecker(ledger: ledger)
    var difference: String?
    while outside.faults.isEmpty {
      difference =
        devices.lazy.compactMap { checker.difference(of: $0) }.first
        ?? listeners.lazy.compactMap(\.difference).first
      if difference == nil { break }
      if outside.timeline.now - start > Span.seconds(World.settleSeconds) {
        outside.fault("not in step after \(World.settleSeconds) quiet seconds: \(difference ?? "")")
      }
      runOn(to: outside.timeline.now + Span.milliseconds(250))
    }
    for (account, histories) in zip(accounts, histories) where outside.faults.isEmpty {
      if let difference = checker.difference(of: account, histories) { outside.fault(difference) }
    }
    return (outside.timeline.now - start) / 1_000_000
  }

  private var judgement: Demands.Judgement {
    let checker = ConvergenceChecker(ledger: ledger)
    return zip(accounts, histories).reduce(into: Demands.Judgement()) { sum, account in
      sum.add(checker.demands(of: account.0, account.1).judgement())
    }
  }

  /// All devices come to say that they are in sync.
  private func settleStatus() {
    let limit = outside.timeline.now + Span.seconds(World.settleSeconds)
    while outside.faults.isEmpty {
      guard let late = devices.first(where: { $0.status?.state != .inSync }) else { return }
      if outside.timeline.now > limit {
        outside.fault(
          "\(late.name) says \(late.status.map { "\($0.state)" } ?? "nothing") for ever")
      }
      runOn(to: outside.timeline.now + Span.milliseconds(500))
    }
  }

  private func checkPieces() {
    let checker = PieceChecker(ledger: ledger, relay: relay)
    for account in accounts where outside.faults.isEmpty {
      if let difference = checker.difference(of: account) { outside.fault(difference) }
      outside.tally.note(.pieceNamed, checker.count(of: account))
    }
  }

  private func hashWhatIsLeft() {
    outside.add { hash in
      for account in accounts {
        for record in ledger.newest(account) {
          hash.add(record.tag)
          hash.add(record.modifiedAt)
          hash.add(record.fields ?? [])
        }
      }
      hash.add(outside.timeline.steps)
      for fault in outside.faults { hash.add(fault) }
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
      \(outside.flow.table())
      """
  }
}
