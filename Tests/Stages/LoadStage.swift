import LockstepBench
import LockstepClient
import LockstepModel
import LockstepRelay
import LockstepRuntime
import LockstepSimulation

/// A relay and one node that loads it, in virtual time.
package final class LoadStage<N: Node & ~Copyable>
where N.Order == LoadOrder, N.Report == LoadReport, N.Job == NoJob, N.News == Never {
  package let relay: VirtualRelay
  package private(set) var reports: [LoadReport] = []
  /// Number of receive events.
  package private(set) var reads = 0
  private let driver: NodeDriver<N>

  package init(_ relay: VirtualRelay, _ node: consuming N) {
    self.relay = relay
    let clock = relay.clock
    driver = NodeDriver(name: "load", environment: relay.environment, clock: { clock }, node: node)
    driver.onBytes = { [weak self] in self?.reads += 1 }
    driver.onReport = { [unowned self] in reports.append($0) }
    driver.begin()
  }

  package func order(_ order: LoadOrder) { driver.handle(.ordered(order)) }

  package func stop() { driver.deliverSignal(.stopping) }

  /// Advances the time until `pick` returns a value for a new report.
  package func next<Result>(_ pick: (LoadReport) -> Result?) throws -> Result {
    let end = relay.environment.timeline.now + Span.seconds(60)
    while true {
      while !reports.isEmpty {
        if let result = pick(reports.removeFirst()) { return result }
      }
      guard relay.environment.timeline.step(until: end) else { break }
    }
    throw Refusal(.requestTimeout, "no such report came within a minute")
  }

  package func run(seconds: Int64) {
    let end = relay.environment.timeline.now + Span.seconds(seconds)
    while relay.environment.timeline.step(until: end) {}
  }
}

extension LoadStage where N == LoadNode {
  package convenience init(_ relay: VirtualRelay, _ devices: [LoadDevice]) {
    self.init(
      relay,
      LoadNode(
        devices, to: RelayAddress(host: "relay", port: 1), random: SeededRandom(seed: 3),
        at: relay.clock.moment(at: relay.environment.timeline.now)))
  }
}

extension LoadReport {
  package var isReady: Void? { if case .ready = self { () } else { nil } }
  package var window: LatencyHistogram? { if case .window(let it) = self { it } else { nil } }
  package var result: LoadResult? { if case .done(let it) = self { it } else { nil } }
}
