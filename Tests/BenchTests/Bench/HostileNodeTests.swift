import LockstepClient
import LockstepModel
import LockstepRuntime
import LockstepSimulation
import LockstepStorage
import LockstepWire
import Stages
import Testing

@testable import LockstepBench

struct HostileNodeTests {
  private let relay: VirtualRelay

  init() throws { relay = try VirtualRelay(accounts: 1, devices: 2) }

  private func stage(_ task: HostileTask, count: Int = 1) -> LoadStage<HostileNode> {
    let client = HostileClient(token: relay.credentials[0].token, task: task)
    return LoadStage(
      relay,
      HostileNode(
        Array(repeating: client, count: count), to: RelayAddress(host: "relay", port: 1),
        random: SeededRandom(seed: 5)))
  }

  private func records() throws -> Int64 {
    guard
      case .account(let summary) = try relay.store.read(.account(relay.credentials[0].account))
    else { throw Refusal(.notFound, "no such account") }
    return summary.records
  }

  @Test func aVictimAsksAtItsPaceAndIsMeasured() throws {
    let stage = stage(.saves)
    try stage.next(\.isReady)
    stage.order(.openWindow)
    stage.run(seconds: 10)
    stage.order(.closeWindow)
    let latency = try stage.next(\.window)
    #expect((400...500).contains(latency.count))
    #expect(try records() == 100)
  }

  @Test func whatIsNotAnsweredCountsWithWhatItHasWaited() throws {
    var node = HostileNode(
      [HostileClient(token: "a", task: .saves)], to: RelayAddress(host: "relay", port: 1),
      random: SeededRandom(seed: 5))
    let begin = Instant(nanoseconds: 0)
    let end = begin.advanced(milliseconds: 5_000)
    let opening = Opening(listenerKind: .public, peer: .host("relay", port: 1))
    node.handle(.opened(.outgoing(1), opening), at: Moment(instant: begin, wall: 0))
    node.handle(.ordered(.openWindow), at: Moment(instant: begin, wall: 0))
    node.handle(.ordered(.closeWindow), at: Moment(instant: end, wall: 5_000))
    var window: LatencyHistogram?
    while let action = node.nextAction() {
      if case .report(.window(let latency)) = action { window = latency }
    }
    #expect(window?.count == 1 && (window?.quantile(0.99) ?? 0) > 4_000_000_000)
  }

  @Test func whoFillsIsDone() throws {
    let stage = stage(.fills(batches: 3))
    try stage.next { report in if case .done = report { () } else { nil } }
    #expect(try records() == 1_200)
  }

  @Test func attacksGoOnWhateverIsAnswered() throws {
    for task in [
      HostileTask.deletesZone(batches: 2), .namesChunks, .readsEmptyZone, .floods, .neverReads,
      .sendsHalf, .drips, .guesses(from: "198.51.100.1"), .reconnects,
    ] {
      let stage = stage(task, count: 2)
      try stage.next(\.isReady)
      stage.run(seconds: 2)
      #expect(stage.reports.isEmpty, "\(task)")
      stage.stop()
    }
  }
}
